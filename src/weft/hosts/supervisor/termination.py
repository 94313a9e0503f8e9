"""Ending processes: SIGTERM, a grace period, then SIGKILL, repeated until none is left.

A process that is found later, because it has only just been started, gets its signals in turn.
"""

import signal
from collections.abc import Callable, Sequence
from time import monotonic

from .processes import Process, send

LEFTOVER_GRACE = 2.0
"""The most seconds for the remaining processes of a job that ended by itself."""
_FIRST_PAUSE = 0.002
_LONGEST_PAUSE = 0.2
_MOST_ROUNDS = 100


class Termination:
    """The termination of a family of processes."""

    def __init__(self, grace: float, *, spared: int = 0) -> None:
        """`spared` gets no SIGTERM, because others would die of its end before theirs; it is killed later."""
        self._kill_at = monotonic() + grace
        self._spared = spared
        self._pause = _FIRST_PAUSE
        self._signalled: set[tuple[int, int]] = set()
        self.check_at = 0.0
        """When to call `press` next."""

    def shorten(self, grace: float) -> None:
        self._kill_at = min(self._kill_at, monotonic() + grace)
        self.check_now()

    def check_now(self) -> None:
        """Requests an immediate check because something has changed."""
        self._pause = _FIRST_PAUSE
        self.check_at = 0.0

    def signal_all(self, find_processes: Callable[[], Sequence[Process]]) -> int:
        """Signals all processes; returns how many there may be."""
        now = monotonic()
        try:
            family = find_processes()
        except OSError:  # no free descriptor to read /proc
            self.check_at = now + _LONGEST_PAUSE
            return 1
        if now < self._kill_at:
            self._ask(family)
            self.check_at = min(now + self._pause, self._kill_at)
        else:
            # A process can fork faster than it is killed. `send_all` searches again until it finds no new one.
            send_all(find_processes, signal.SIGKILL, family)
            self.check_at = now + self._pause
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)
        return len(family)

    def _ask(self, family: Sequence[Process]) -> None:
        """Sends SIGTERM once: some programs end at once on a second one."""
        for process in family:
            if process.key not in self._signalled:
                self._signalled.add(process.key)
                if process.pid != self._spared:
                    send(process, signal.SIGTERM)
                send(process, signal.SIGCONT)  # a stopped process does not handle SIGTERM


def send_all(
    find_processes: Callable[[], Sequence[Process]], number: int, first: Sequence[Process] | None = None
) -> None:
    """Signals the processes and those they start meanwhile."""
    reached: set[tuple[int, int]] = set()
    family = find_processes() if first is None else first
    for _ in range(_MOST_ROUNDS):
        fresh = [process for process in family if process.key not in reached]
        if not fresh:
            return
        for process in fresh:
            reached.add(process.key)
            send(process, number)
        family = find_processes()
