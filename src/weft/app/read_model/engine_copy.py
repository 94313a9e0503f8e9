"""A second engine beside that of the coordinator, derived from the facts in the journal.

The journal has what was granted; what waits, and for which pools, is known to the engine alone.
"""

from collections.abc import Iterable

from weft.engine.engine import Engine
from weft.engine.messages.events import Recorded
from weft.engine.positions import (
    HeldRoom,
    NetPosition,
    PoolNames,
    WaitingWork,
    held_room,
    net_position,
    waiting_work,
)
from weft.errors import WeftError
from weft.garbage import without_gc
from weft.plan.compile.plan_net import CompiledPlan


class ReadableEngine(Engine):
    """An engine that also says what waits, what holds room, and where subplans are; for views of a run."""

    def waiting_work(self) -> list[WaitingWork]:
        """Returns all work that waits to start: first slices, then the steps of slices that have started."""
        return list(waiting_work(self._state, PoolNames(self._state)))

    def held_room(self) -> list[HeldRoom]:
        """Returns what slices and steps hold of pools."""
        return list(held_room(self._state, PoolNames(self._state)))

    def position(self, row: int) -> NetPosition | None:
        """Returns where a subplan is in its net; None for a group that does nothing of its own."""
        return net_position(self._state, row)


class EngineCopy:
    def __init__(self, compiled: CompiledPlan) -> None:
        self._engine: ReadableEngine | None = ReadableEngine(compiled, quiet=True)
        self.seq = 0
        """The last event whose fact was applied."""

    def at(self, events: Iterable[Recorded]) -> ReadableEngine | None:
        """Returns the engine after these events, which follow `seq`.

        None if a fact is impossible for it: another version of Weft, which decides differently, has written it.
        """
        with without_gc():
            for recorded in events:
                self.seq = recorded.seq
                if self._engine is not None and recorded.event.fact is not None:
                    self._apply(recorded)
        return self._engine

    def _apply(self, recorded: Recorded) -> None:
        assert self._engine is not None
        assert recorded.event.fact is not None
        try:
            self._engine.apply(recorded.event.fact)
        except (WeftError, LookupError):
            self._engine = None
