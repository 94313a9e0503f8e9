"""Forecasts during a run, in a process of their own.

The task only starts that process now and then, and waits for it. It starts after the first minute, because a
shorter run is over before a forecast is read, and again when steps have ended since. A process that takes long
runs rarely.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from subprocess import DEVNULL

import anyio
from anyio.abc import Process

from weft.interpreter import isolated_python

FIRST = 60.0
"""Seconds before the first forecast."""
PAUSE = 30.0
"""The fewest seconds between two forecasts."""
SHARE = 0.05
"""The most time that forecasts take, as a share of one processor."""
_ENVIRONMENT = ("HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "TMPDIR", "TZ")
_MODULE = "weft.app.forecast.forecast_process"


class ForecastTask:
    """Keeps the forecasts in the directory of a run up to date."""

    def __init__(
        self,
        project: Path,
        run: str,
        environ: Mapping[str, str],
        *,
        first: float = FIRST,
        pause: float = PAUSE,
    ) -> None:
        self._command = (*isolated_python(_MODULE), str(project), run)
        # A step runs as the same user, and could read keys in the environment of this process.
        self._environ = {name: environ[name] for name in _ENVIRONMENT if name in environ}
        self._first = first
        self._pause = pause
        self._has_news = True

    def note_events(self) -> None:
        """Notes that something has happened, so that the last forecast is out of date."""
        self._has_news = True

    async def run(self) -> None:
        """Runs until it is cancelled."""
        await anyio.sleep(self._first)
        while True:
            seconds = await self._forecast() if self._has_news else 0.0
            await anyio.sleep(max(self._pause, seconds / SHARE))

    async def _forecast(self) -> float:
        """Runs the process to its end; returns the seconds that it took."""
        self._has_news = False
        began = time.monotonic()
        try:
            process = await anyio.open_process(
                self._command, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, env=self._environ
            )
        except OSError:  # too many processes: the run itself matters more
            return 0.0
        try:
            await process.wait()
        finally:
            await _end(process)
        return time.monotonic() - began


async def _end(process: Process) -> None:
    """Ends the process if it still runs, because the run is over."""
    if process.returncode is None:
        process.kill()
    with anyio.CancelScope(shield=True):
        await process.aclose()
