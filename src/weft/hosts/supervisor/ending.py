"""Ending processes: they are asked, given time, and killed, as often as it takes until none is there.

Whoever is found later than the others, as it was only just started, is asked or killed in its turn.
"""

import signal
from collections.abc import Callable, Sequence
from time import monotonic

from .processes import Process, send

LEFTOVER_GRACE = 2.0
"""Seconds, at most, for what a job that ended by itself has left behind."""
_FIRST_PAUSE = 0.002
_LONGEST_PAUSE = 0.2
_CHASES = 100


class Termination:
    def __init__(self, grace: float, *, spared: int = 0) -> None:
        """`spared`: a process that is not asked, as others would die of its end before they are; it is killed."""
        self._kill_at = monotonic() + grace
        self._spared = spared
        self._pause = _FIRST_PAUSE
        self._asked: set[tuple[int, int]] = set()
        self.look_at = 0.0
        """When to press next."""

    def hurry(self, grace: float) -> None:
        self._kill_at = min(self._kill_at, monotonic() + grace)
        self.look_now()

    def look_now(self) -> None:
        """Something has changed."""
        self._pause = _FIRST_PAUSE
        self.look_at = 0.0

    def press(self, who: Callable[[], Sequence[Process]]) -> int:
        """Signal all that are there; how many there may be."""
        now = monotonic()
        try:
            family = who()
        except OSError:  # no descriptor is left to look with
            self.look_at = now + _LONGEST_PAUSE
            return 1
        if now < self._kill_at:
            self._ask(family)
            self.look_at = min(now + self._pause, self._kill_at)
        else:
            send_all(who, signal.SIGKILL, family)
            self.look_at = now + self._pause
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)
        return len(family)

    def _ask(self, family: Sequence[Process]) -> None:
        """Once: to some programs a second time means `at once`."""
        for process in family:
            if process.key not in self._asked:
                self._asked.add(process.key)
                if process.pid != self._spared:
                    send(process, signal.SIGTERM)
                send(process, signal.SIGCONT)  # one that is halted hears nothing


def send_all(
    who: Callable[[], Sequence[Process]], number: int, first: Sequence[Process] | None = None
) -> None:
    """To them, and to those they start meanwhile: who runs from us is followed, not waited for."""
    reached: set[tuple[int, int]] = set()
    family = who() if first is None else first
    for _ in range(_CHASES):
        fresh = [process for process in family if process.key not in reached]
        if not fresh:
            return
        for process in fresh:
            reached.add(process.key)
            send(process, number)
        family = who()
