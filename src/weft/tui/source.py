"""The run that `weft top` shows: opened when there is one, followed, and replaced by a newer one."""

import time
from contextlib import ExitStack
from pathlib import Path

from weft.app.inspect.follower import RunFollower
from weft.app.inspect.log_tail import LogTail
from weft.app.record.journal import open_book
from weft.errors import InputError
from weft.garbage import without_gc
from weft.terms import AT_REST

_LOOK_EVERY = 1.0
"""Seconds between two looks for a run, or for a newer one."""


class RunSource:
    def __init__(self, directory: Path, run: str | None) -> None:
        """Without `run`, follows the last run of the project, also if it starts later."""
        self.directory = directory
        self._run = run
        self.follower: RunFollower | None = None
        self.problem = ""
        """Why there is no run to show."""
        self._open = ExitStack()
        self._next_look = 0.0

    def close(self) -> None:
        self._open.close()

    def require(self) -> None:
        """Opens the run. Raises `InputError` if it was named and does not exist."""
        if not self._find() and self._run is not None:
            raise InputError(self.problem)

    def update(self, seconds: float) -> bool:
        """Reads for at most so many seconds, and returns whether another run is shown now."""
        is_new = False
        if time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + _LOOK_EVERY
            is_new = self._find()
        if self.follower is not None:
            with without_gc():
                self.follower.update(seconds)
        return is_new

    def log(self, path: str) -> LogTail | None:
        follower = self.follower
        if follower is None:
            return None
        return LogTail(follower.recorded_run.journal, follower.agents, follower.run, path)

    def _find(self) -> bool:
        """Opens the run if there is none yet, or a newer one if this one is over; returns whether it did."""
        if self.follower is not None and (self._run is not None or self.follower.state not in AT_REST):
            return False
        opened = ExitStack()
        try:
            recorded_run = opened.enter_context(open_book(self.directory, self._run))
        except InputError as error:
            self.problem = str(error)
            return False
        if self.follower is not None and self.follower.run == recorded_run.run.run:
            opened.close()
            return False
        self._open.close()
        self._open = opened
        self.follower = RunFollower(recorded_run)
        return True
