"""Precedence among calls in threads: those that an agent waits for come first.

When ten agents end at once, ten commits, ten merges and the worktrees of the next slices compete for a few
processors, and all of them end late. Here they take turns, the most urgent first. No call waits for longer than
`PATIENCE`: neither for the checkout of a large repository, nor because new slices keep starting.
"""

from collections.abc import Callable
from enum import IntEnum
from heapq import heapify, heappop, heappush
from itertools import count
from typing import TypeVar, TypeVarTuple, Unpack

from anyio import Event, move_on_after

from weft.threads import run_sync

PATIENCE = 0.1
"""The most seconds that a call waits for its turn."""

_Arguments = TypeVarTuple("_Arguments")
_Result = TypeVar("_Result")


class Urgency(IntEnum):
    """What waits for a call; the lowest comes first."""

    STEP = 0
    """A step that is about to start."""
    SLICE = 1
    """The first step of a slice, which has no workspace yet."""
    END = 2
    """The end of a step, which makes room for another one."""
    LATER = 3
    """No step: merges, forecasts, the removal of worktrees."""


class Precedence:
    def __init__(self, places: int, *, patience: float = PATIENCE) -> None:
        """`places`: how many calls run at once, not counting those that waited for `patience` seconds."""
        self._free = places
        self._patience = patience
        self._waiting: list[tuple[Urgency, int, Event]] = []
        """A heap; empty while a place is free."""
        self._numbers = count()

    async def run_sync(
        self, urgency: Urgency, function: Callable[[Unpack[_Arguments]], _Result], *arguments: *_Arguments
    ) -> _Result:
        """Calls the function in a worker thread, in its turn."""
        if self._free > 0:
            self._free -= 1
        else:
            await self._wait(urgency)
        try:
            return await run_sync(function, *arguments)
        finally:
            self._release()

    async def _wait(self, urgency: Urgency) -> None:
        """Returns with a place, or with one too many when the patience is over."""
        turn = (urgency, next(self._numbers), Event())
        heappush(self._waiting, turn)
        try:
            with move_on_after(self._patience):
                await turn[-1].wait()
        except BaseException:
            if not self._withdraw(turn):
                self._release()
            raise
        if self._withdraw(turn):
            self._free -= 1

    def _withdraw(self, turn: tuple[Urgency, int, Event]) -> bool:
        """Returns False if the turn has come already."""
        if turn[-1].is_set():
            return False
        self._waiting.remove(turn)
        heapify(self._waiting)
        return True

    def _release(self) -> None:
        self._free += 1
        if self._free > 0 and self._waiting:
            self._free -= 1
            heappop(self._waiting)[-1].set()
