"""People want the run, or parts of it, to go on, to pause, to stand still or to stop.

Who is not to go on begins nothing new; what it would begin waits, and lends its place to others. A pause outlives
the coordinator. A stop does not: whoever starts the run again wants it to go on.
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
    def __init__(
        self, state: EngineState, moves: Moves, scopes: Scopes, starter: Starter, events: EventWriter
    ) -> None:
        self._state = state
        self._moves = moves
        self._scopes = scopes
        self._starter = starter
        self._events = events
        self._requests = ControlRequests()

    def says(self, fact: Controlled) -> None:
        self._events.controlled(fact)
        self._requests.says(fact.subplan, fact.wanted)
        self._act(now=fact.now)

    def carries(self, paused: Sequence[str]) -> None:
        """What people paused in the run before stays paused in the run that replaces it."""
        for path in paused:
            self._events.paused(path)
            self._requests.says(path, ControlState.PAUSE)
        if paused:
            self._act()

    def thaws(self) -> None:
        """The run comes to rest: what stands still continues to the end of its step, and is paused then."""
        for path, wanted in self._requests.restraints().items():
            if wanted is ControlState.FREEZE:
                self._events.paused(path)
                self._requests.says(path, ControlState.PAUSE)
        self._act()

    def resumes(self) -> None:
        """A new coordinator has taken over."""
        self._requests.forget_stops()
        self._act()
        for firing in self._under_way():
            if firing.frozen is not None:  # whoever was there before may not have got to it
                self._freeze(firing)

    def _act(self, *, now: bool = False) -> None:
        state = self._state
        state.restrained = self._restrained() if self._requests else {}
        self._let_go()
        self._hold_back()
        for firing in self._under_way():
            self._press(firing, state.restrained.get(firing.subplan.row), now=now)

    def _restrained(self) -> dict[int, ControlState]:
        wanted = ((row, self._requests.of(path)) for row, path in enumerate(self._state.plan.outline.paths))
        return {row: one for row, one in wanted if one is not ControlState.GO}

    # What has not begun

    def _hold_back(self) -> None:
        state = self._state
        for number in [one for one, row in state.candidates.items() if row in state.restrained]:
            if number not in state.paused:
                self._scopes.pauses(number)
        for number, request in list(state.requests.items()):
            waits_already = number in state.paused or number in state.throttled or number in state.short
            if request.subplan.row in state.restrained and not waits_already:
                self._moves.pauses(number)

    def _let_go(self) -> None:
        state = self._state
        for number in sorted(state.paused):
            row = state.candidates.get(number)
            if (state.requests[number].subplan.row if row is None else row) in state.restrained:
                continue
            state.paused.remove(number)
            if row is None:
                self._moves.goes_on(number)
            else:
                self._scopes.goes_on(number)
        for firing in list(state.firings.values()):
            if (
                firing.parked == "stopped"
                and not state.stopping
                and firing.subplan.row not in state.restrained
            ):
                self._starter.resumes(firing)

    # What is under way

    def _under_way(self) -> Iterator[StepFiring]:
        return (firing for firing in list(self._state.firings.values()) if firing.is_under_way)

    def _press(self, firing: StepFiring, wanted: ControlState | None, *, now: bool) -> None:
        if wanted is ControlState.STOP:
            self._stop(firing, now=now)
            return
        if firing.halted == "stopped" and not self._state.stopping and wanted is None:
            firing.halted = "revoked"  # it may have heard that it was to stop, or not
        if isinstance(firing.order, Land):
            return  # a verify in the landing queue is for the results of others, too
        if bool(firing.frozen) is not (wanted is ControlState.FREEZE):
            firing.frozen = not firing.frozen
            self._freeze(firing)

    def _stop(self, firing: StepFiring, *, now: bool) -> None:
        """Whoever stands still is woken by it."""
        if now or firing.halted in {"", "revoked"}:
            firing.halted = "cancelled" if firing.halted == "cancelled" else "stopped"
            firing.frozen = None
            halt = Halt(firing=firing.serial, execution=firing.execution, how=firing.halted, now=now)
            self._state.order(halt)

    def _freeze(self, firing: StepFiring) -> None:
        self._state.order(Freeze(firing=firing.serial, execution=firing.execution, thaw=not firing.frozen))
