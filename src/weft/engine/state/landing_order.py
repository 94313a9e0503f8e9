"""The order in which results join the landing queue: plan order, or order of completion.

In plan order, a result waits until each result before it has joined the queue, is held, or never will join.
To avoid waiting forever, the first waiting result joins when the run would otherwise only wait for people.
"""

from collections.abc import Collection, Iterator, Sequence
from heapq import heapify, heappop, heappush


class LandingOrder:
    """The landings that wait for their turn, by their number in plan order."""

    def __init__(self, in_order: Sequence[bool]) -> None:
        """`in_order` says for each landing, in plan order, whether it waits for those before it."""
        self._in_order = in_order
        self._passed = bytearray(len(in_order))
        self._first = 0
        """The first landing that others wait for."""
        self._waiting: list[int] = []

    def ready(self, landing: int) -> bool:
        """Returns whether a result that is ready may join now; otherwise it waits."""
        if not self._in_order[landing] or landing <= self._first:
            return True
        heappush(self._waiting, landing)
        return False

    def passed(self, landing: int) -> Iterator[int]:
        """Notes that a result has joined, or never will; yields those that may join now."""
        self._passed[landing] = 1
        while self._first < len(self._passed) and self._passed[self._first]:
            self._first += 1
        while self._waiting and self._waiting[0] <= self._first:
            yield heappop(self._waiting)

    def take(self, landings: Collection[int] | None = None) -> list[int]:
        """Removes and returns the given landings that wait; without an argument, the first that waits."""
        chosen = self._waiting[:1] if landings is None else landings
        released = sorted(landing for landing in self._waiting if landing in chosen)
        self._waiting = [landing for landing in self._waiting if landing not in released]
        heapify(self._waiting)
        return released
