"""In which order results land: that of the plan, or as they come.

Where the order of the plan is wanted, a result waits until those before it have landed, are held, or never will.
That must not hold up everything for ever: when nothing is under way but people are waited for, the first one goes.
"""

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush


class Landings:
    def __init__(self, in_order: Sequence[bool]) -> None:
        """For each landing, in plan order, whether it waits for those before it."""
        self._in_order = in_order
        self._settled = bytearray(len(in_order))
        self._first = 0
        """The first one that is not settled."""
        self._waiting: list[int] = []

    def ready(self, landing: int) -> bool:
        """Whether what has become ready may begin now; otherwise it waits."""
        if not self._in_order[landing] or landing <= self._first:
            return True
        heappush(self._waiting, landing)
        return False

    def settled(self, landing: int) -> Iterator[int]:
        """It has landed, is held, or never will; those that may begin now."""
        self._settled[landing] = 1
        while self._first < len(self._settled) and self._settled[self._first]:
            self._first += 1
        while self._waiting and self._waiting[0] <= self._first:
            yield heappop(self._waiting)

    def release(self) -> int | None:
        """The first of those that wait, as all that is before it waits for people."""
        return heappop(self._waiting) if self._waiting else None
