"""Requests of people to pause, freeze, stop or resume the run or parts of it.

A restrained subplan starts nothing new: its requests wait and lend their slots to others. A pause outlives the
coordinator. A stop does not: a person who starts the run again wants it to continue.
"""

from collections.abc import Iterator, Sequence

from weft.engine.messages.facts import Controlled, ControlState
from weft.engine.messages.orders import Freeze, Halt, Land
from weft.engine.rules.event_writer import EventWriter
from weft.engine.rules.moves import Moves
from weft.engine.rules.scopes import Scopes
from weft.engine.rules.start import Starter
from weft.engine.state.control_requests import ControlRequests
from weft.engine.state.engine_state import EngineState
from weft.engine.state.slice_state import StepFiring


class Control:
    """Applies the requests of people to waiting and running work."""

    def __init__(
        self, state: EngineState, moves: Moves, scopes: Scopes, starter: Starter, events: EventWriter
    ) -> None:
        self._state = state
        self._moves = moves
        self._scopes = scopes
        self._starter = starter
        self._events = events
        self._requests = ControlRequests()

    def request(self, fact: Controlled) -> None:
        """Applies a request of a person."""
        self._events.controlled(fact)
        self._requests.says(fact.subplan, fact.wanted)
        self._act(now=fact.now)

    def carries(self, paused: Sequence[str]) -> None:
        """Takes over the pauses of the run that this run replaces."""
        for path in paused:
            self._events.paused(path)
            self._requests.says(path, ControlState.PAUSE)
        if paused:
            self._act()

    def thaws(self) -> None:
        """Turns freezes into pauses, since the run is replaced: frozen steps continue to their end."""
        for path, requested in self._requests.restraints().items():
            if requested is ControlState.FREEZE:
                self._events.paused(path)
                self._requests.says(path, ControlState.PAUSE)
        self._act()

    def resumes(self) -> None:
        """Drops stops and repeats freezes after a new coordinator has taken over."""
        self._requests.forget_stops()
        self._act()
        for firing in self._under_way():
            if firing.frozen is not None:
                # The previous coordinator may have died before it carried the order out.
                self._freeze(firing)

    def _act(self, *, now: bool = False) -> None:
        state = self._state
        state.restrained = self._restrained() if self._requests else {}
        self._release()
        self._hold_back()
        for firing in self._under_way():
            self._enforce(firing, state.restrained.get(firing.subplan.row), now=now)

    def _restrained(self) -> dict[int, ControlState]:
        requested = (
            (row, self._requests.of(path)) for row, path in enumerate(self._state.plan.outline.paths)
        )
        return {row: state for row, state in requested if state is not ControlState.GO}

    # Waiting work

    def _hold_back(self) -> None:
        state = self._state
        restrained = [number for number, row in state.candidates.items() if row in state.restrained]
        for number in restrained:
            if number not in state.paused:
                self._scopes.pauses(number)
        for number, request in list(state.requests.items()):
            if request.subplan.row in state.restrained and not self._moves.waits_elsewhere(number):
                self._moves.pauses(number)

    def _release(self) -> None:
        state = self._state
        for number in sorted(state.paused):
            row = state.candidates.get(number)
            if (state.requests[number].subplan.row if row is None else row) in state.restrained:
                continue
            state.unpause(number)
            if row is None:
                self._moves.unpause(number)
            else:
                self._scopes.unpause(number)
        for firing in list(state.firings.values()):
            if (
                firing.parked == "stopped"
                and not state.stopping
                and firing.subplan.row not in state.restrained
            ):
                self._starter.resumes(firing)

    # Running work

    def _under_way(self) -> Iterator[StepFiring]:
        return (firing for firing in list(self._state.firings.values()) if firing.is_under_way)

    def _enforce(self, firing: StepFiring, requested: ControlState | None, *, now: bool) -> None:
        if requested is ControlState.STOP:
            self._stop(firing, now=now)
            return
        if firing.halted == "stopped" and not self._state.stopping and requested is None:
            firing.halted = "revoked"  # the order to stop may or may not have reached it
        if isinstance(firing.order, Land):
            return  # a verify in the landing queue also covers results of other subplans
        if bool(firing.frozen) is not (requested is ControlState.FREEZE):
            firing.frozen = not firing.frozen
            self._freeze(firing)

    def _stop(self, firing: StepFiring, *, now: bool) -> None:
        """Orders the firing to end. The order also thaws frozen processes."""
        if now or firing.halted in {"", "revoked"}:
            firing.halted = "cancelled" if firing.halted == "cancelled" else "stopped"
            firing.frozen = None
            halt = Halt(firing=firing.serial, execution=firing.execution, how=firing.halted, now=now)
            self._state.order(halt)

    def _freeze(self, firing: StepFiring) -> None:
        self._state.order(Freeze(firing=firing.serial, execution=firing.execution, thaw=not firing.frozen))
