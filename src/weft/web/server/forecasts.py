"""Forecasts of runs and of the plan, and its graph.

The forecast of a run under way is a file that a process of the run writes; the page only reads it. The answers to
questions are made by processes with a low priority, one at a time.
"""

import asyncio
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from weft.app.forecast.forecast_files import read_outlook
from weft.app.read_model.chart_shapes import CheckSection, Graph, PlanAnswer
from weft.app.read_model.live_run import LiveRun
from weft.app.read_model.run_shapes import Forecast
from weft.errors import WeftError
from weft.interpreter import isolated_python
from weft.web.api.envelope import RefusedError
from weft.web.server.live_runs import LiveRuns

_MODULE = "weft.app.read_model.page_process"
_PAUSE = 5.0
"""Seconds between two looks for a new forecast of a run."""
_KEPT = 60.0
"""Seconds for which the answer to a question about a forecast stays valid."""
_NICE = 10
Shape = TypeVar("Shape")


class Forecasts:
    def __init__(self, directory: Path, runs: LiveRuns) -> None:
        self._directory = directory
        self._runs = runs
        self._one_at_a_time = asyncio.Lock()
        self._asked_at: dict[str, float] = {}
        self._answers: dict[str, tuple[float, Forecast]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def want(self, run: str) -> None:
        """Looks for a new forecast of a run that is looked at, now and then."""
        now = time.monotonic()
        if now - self._asked_at.get(run, -_PAUSE) < _PAUSE:
            return
        self._asked_at[run] = now
        task = asyncio.create_task(self._refresh(run))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _refresh(self, run: str) -> None:
        # A run that cannot be read has no forecast; the page that asks for the run says why.
        with suppress(RefusedError, WeftError):
            await self._runs.ask(run, _read_forecast)

    async def of_run(self, run: str) -> Forecast:
        """Returns a forecast of the rest of a run."""
        at, answer = self._answers.get(run, (0.0, None))
        if answer is None or time.monotonic() - at > _KEPT:
            answer = await self._made(Forecast, "run", str(self._directory), run)
            self._answers[run] = time.monotonic(), answer
        return answer

    async def of_plan(self, *, simulates: bool) -> PlanAnswer:
        """Returns what `weft check` says about the plan and, if wanted, a forecast."""
        code, output, errors = await self._output(
            *isolated_python("weft"), "-C", str(self._directory), "check"
        )
        lines = errors.decode("utf-8", "replace").splitlines()
        problems = [] if code == 0 else [line.removeprefix("error: ") for line in lines]
        forecast = None
        if simulates and not problems:
            forecast = await self._made(Forecast, "plan", str(self._directory))
        return PlanAnswer(
            plan=self._directory.name,
            file="weft.yaml",
            problems=problems,
            sections=check_sections(output.decode("utf-8", "replace")),
            graph=None,
            forecast=forecast,
            states={},
            start_command="weft start",
        )

    async def graph_of_plan(self, *part: str) -> Graph:
        """Returns the graph of the plan, of a group in it, or of the siblings from one row to another."""
        return await self._made(Graph, "graph", str(self._directory), *part)

    async def _made(self, shape: type[Shape], *arguments: str) -> Shape:
        code, output, errors = await self._output(*isolated_python(_MODULE), *arguments)
        if code != 0:
            message = errors.decode("utf-8", "replace").strip().splitlines()[-1:] or [
                "no forecast can be made"
            ]
            raise RefusedError(409, message[0].rpartition("Error: ")[2])
        return msgspec.json.decode(output, type=shape)

    async def _output(self, *command: str) -> tuple[int, bytes, bytes]:
        async with self._one_at_a_time:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            with suppress(ProcessLookupError, PermissionError):
                os.setpriority(os.PRIO_PROCESS, process.pid, _NICE)
            try:
                output, errors = await process.communicate()
            except asyncio.CancelledError:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
                raise
        return process.returncode or 0, output, errors

    async def close(self) -> None:
        """Ends what is under way."""
        for task in [*self._tasks]:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def _read_forecast(live: LiveRun) -> None:
    """Notes the newest forecast of a run that is under way."""
    if live.state == "running":
        live.forecast = read_outlook(live.recorded.places, live.id)


def check_sections(text: str) -> list[CheckSection]:
    """Parses the output of `weft check`: a heading at the start of a line, and lines beside and below it."""
    sections: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        heading, _, rest = line.partition("  ")
        if heading and not line.startswith(" "):
            sections.append((heading, [rest.strip()]))
        elif sections and line.strip():
            sections[-1][1].append(line.strip())
    return [CheckSection(title=title, lines=lines) for title, lines in sections]
