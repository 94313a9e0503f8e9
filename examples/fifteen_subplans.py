"""Fifteen subplans of real work, ten at a time: a survey of Python's standard library.

Thirteen of them read one package each, in a process of its own; `totals` adds up what they found, and
`report` writes it to a file. Run it with `make demo`, or `python examples/fifteen_subplans.py`.
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from subprocess import DEVNULL, STDOUT
from time import monotonic
from typing import Any

import anyio
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from weft import (
    ParallelExecutionConfig,
    ParallelSubplanDispatcher,
    Subplan,
    SubplanEvent,
    SubplanExecutionError,
    SubplanExecutionState,
    SubplanTracker,
)

MAX_PARALLEL = 10
PACKAGES = [
    "asyncio", "concurrent", "ctypes", "email", "html", "http", "importlib", "json",
    "logging", "multiprocessing", "unittest", "urllib", "xml",
]  # fmt: skip

SURVEY = """
import ast, importlib, json, pathlib, sys
folder = pathlib.Path(importlib.import_module(sys.argv[1]).__path__[0])
found = {"files": 0, "lines": 0, "functions": 0, "longest": 0}
for file in sorted(folder.rglob("*.py")):
    text = file.read_text(encoding="utf-8", errors="replace")
    found["files"] += 1
    found["lines"] += text.count("\\n")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found["functions"] += 1
            found["longest"] = max(found["longest"], node.end_lineno - node.lineno + 1)
print(json.dumps(found))
"""


async def output_of(*command: str) -> str:
    """What a process prints. When we are cancelled it is killed and waited for, also while it starts."""
    with anyio.CancelScope(shield=True):
        process = await anyio.open_process(command, stdin=DEVNULL, stderr=STDOUT)
    async with process:
        assert process.stdout is not None
        printed = b"".join([chunk async for chunk in process.stdout]).decode()
        if await process.wait():
            raise RuntimeError(f"{command[-1]}: exit code {process.returncode}: {printed[-200:]}")
    return printed


def survey_of_the_standard_library(folder: Path) -> list[Subplan]:
    found: dict[str, dict[str, int]] = {}
    totals: dict[str, int] = {}

    def survey(package: str) -> Subplan:
        async def work() -> None:
            found[package] = json.loads(await output_of(sys.executable, "-c", SURVEY, package))

        return Subplan(package, work)

    async def add_up() -> None:
        totals.update({key: sum(f[key] for f in found.values()) for key in ("files", "lines", "functions")})

    async def write_report() -> Path:
        rows = [f"{p:16}{f['files']:7}{f['lines']:9,}{f['functions']:11,}" for p, f in sorted(found.items())]
        sums = f"{'total':16}{totals['files']:7}{totals['lines']:9,}{totals['functions']:11,}"
        head = f"{'package':16}{'files':>7}{'lines':>9}{'functions':>11}"
        path = folder / "survey.txt"
        await anyio.Path(path).write_text("\n".join([head, *rows, sums, ""]), encoding="utf-8")
        return path

    return [
        *map(survey, PACKAGES),
        Subplan("totals", add_up, tuple(PACKAGES)),
        Subplan("report", write_report, ("totals",)),
    ]


class LiveView:
    """A line for each subplan on a terminal; elsewhere a line for each event."""

    def __init__(self, console: Console, names: list[str]) -> None:
        self._console = console
        self._states = dict.fromkeys(names, SubplanExecutionState.PENDING)
        self._began: dict[str, float] = {}
        self._took: dict[str, float] = {}
        self._spinner = Spinner("dots", style="cyan")
        self._progress = Progress(
            TextColumn("[bold]survey"),
            BarColumn(40),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
        )
        self._task = self._progress.add_task("survey", total=len(names))
        self.peak = 0
        self._running = 0

    def hear(self, event: SubplanEvent) -> None:
        self._states[event.path] = event.after
        if event.after == "running":
            self._began[event.path] = monotonic()
        elif event.path in self._began:
            self._took[event.path] = monotonic() - self._began[event.path]
        self._running += (event.after == "running") - (event.before == "running")
        self.peak = max(self.peak, self._running)
        if event.after.terminal:
            self._progress.advance(self._task)
        if not self._console.is_terminal:
            why = f" ({event.reason} by {event.cause or event.error})" if event.reason else ""
            self._console.print(f"{event.at:7.2f} s  {event.path:16} {event.after}{why}", highlight=False)

    def __rich__(self) -> Group:
        table = Table.grid(padding=(0, 2))
        for name, state in self._states.items():
            took = self._took.get(name, monotonic() - self._began.get(name, inf))
            time = f"{took:.1f} s" if name in self._began else ""
            table.add_row(self._icon(state), name, Text(state, style=_STYLES[state]), time)
        return Group(
            table, Text(f"{self._running} running, {self.peak} at most so far", style="dim"), self._progress
        )

    def _icon(self, state: SubplanExecutionState) -> Spinner | Text:
        return self._spinner if state == "running" else Text(_ICONS[state], style=_STYLES[state])

    @contextmanager
    def shown(self) -> Iterator[None]:
        if not self._console.is_terminal:
            yield
            return
        with Live(self, console=self._console, refresh_per_second=12):
            yield


_ICONS: dict[str, str] = {"pending": "·", "completed": "✓", "failed": "✗"}
_STYLES: dict[str, str] = {"pending": "dim", "running": "cyan", "completed": "green", "failed": "bold red"}


async def main() -> int:
    console = Console()
    folder = Path(tempfile.mkdtemp(prefix="weft-demo-"))
    subplans = survey_of_the_standard_library(folder)
    view = LiveView(console, [subplan.id for subplan in subplans])
    dispatcher = ParallelSubplanDispatcher(
        ParallelExecutionConfig(max_parallel=MAX_PARALLEL), on_event=view.hear
    )
    with view.shown():
        try:
            results: Any = await dispatcher.run(subplans)
        except SubplanExecutionError as error:
            console.print(f"[bold red]{error}")
            results = error.results
    return summary(console, view, dispatcher.tracker, results)


def summary(console: Console, view: LiveView, tracker: SubplanTracker, results: Any) -> int:  # noqa: ANN401
    counts = ", ".join(f"{count} {state}" for state, count in tracker.counts().items() if count)
    seconds = max(result.ended_at for result in results.values())
    worked = sum(r.ended_at - r.started_at for r in results.values() if r.started_at is not None)
    console.print(
        f"\n{counts} in {seconds:.1f} s, at most {view.peak} at once; their times add up to {worked:.1f} s",
        highlight=False,
    )
    if (report := results["report"].value) is not None:
        console.print(f"report: {report}\n", highlight=False)
        console.print(report.read_text(encoding="utf-8"), highlight=False)
    return 1 if tracker.failures() else 0


if __name__ == "__main__":
    try:
        sys.exit(anyio.run(main))
    except KeyboardInterrupt:
        sys.exit("interrupted: every process was ended")
