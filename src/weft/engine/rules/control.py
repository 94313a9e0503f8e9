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
        self, board: EngineState, moves: Moves, scopes: Scopes, starting: Starter, telling: EventWriter
    ) -> None:
        self._board = board
        self._moves = moves
        self._scopes = scopes
        self._starting = starting
        self._telling = telling
        self._wishes = ControlRequests()

    def says(self, fact: Controlled) -> None:
        self._telling.controlled(fact)
        self._wishes.says(fact.subplan, fact.wanted)
        self._act(now=fact.now)

    def carries(self, paused: Sequence[str]) -> None:
        """What people paused in the run before stays paused in the run that replaces it."""
        for path in paused:
            self._telling.paused(path)
            self._wishes.says(path, ControlState.PAUSE)
        if paused:
            self._act()

    def thaws(self) -> None:
        """The run comes to rest: what stands still continues to the end of its step, and is paused then."""
        for path, wanted in self._wishes.restraints().items():
            if wanted is ControlState.FREEZE:
                self._telling.paused(path)
                self._wishes.says(path, ControlState.PAUSE)
        self._act()

    def resumes(self) -> None:
        """A new coordinator has taken over."""
        self._wishes.forget_stops()
        self._act()
        for firing in self._under_way():
            if firing.frozen is not None:  # whoever was there before may not have got to it
                self._freeze(firing)

    def _act(self, *, now: bool = False) -> None:
        board = self._board
        board.restrained = self._restrained() if self._wishes else {}
        self._let_go()
        self._hold_back()
        for firing in self._under_way():
            self._press(firing, board.restrained.get(firing.play.row), now=now)

    def _restrained(self) -> dict[int, ControlState]:
        wanted = ((row, self._wishes.of(path)) for row, path in enumerate(self._board.plan.outline.paths))
        return {row: one for row, one in wanted if one is not ControlState.GO}

    # What has not begun

    def _hold_back(self) -> None:
        board = self._board
        for number in [one for one, row in board.candidates.items() if row in board.restrained]:
            if number not in board.paused:
                self._scopes.pauses(number)
        for number, ticket in list(board.tickets.items()):
            waits_already = number in board.paused or number in board.throttled or number in board.short
            if ticket.play.row in board.restrained and not waits_already:
                self._moves.pauses(number)

    def _let_go(self) -> None:
        board = self._board
        for number in sorted(board.paused):
            row = board.candidates.get(number)
            if (board.tickets[number].play.row if row is None else row) in board.restrained:
                continue
            board.paused.remove(number)
            if row is None:
                self._moves.goes_on(number)
            else:
                self._scopes.goes_on(number)
        for firing in list(board.firings.values()):
            if firing.parked == "stopped" and not board.stopping and firing.play.row not in board.restrained:
                self._starting.resumes(firing)

    # What is under way

    def _under_way(self) -> Iterator[StepFiring]:
        return (firing for firing in list(self._board.firings.values()) if firing.is_under_way)

    def _press(self, firing: StepFiring, wanted: ControlState | None, *, now: bool) -> None:
        if wanted is ControlState.STOP:
            self._stop(firing, now=now)
            return
        if firing.halted == "stopped" and not self._board.stopping and wanted is None:
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
            self._board.order(halt)

    def _freeze(self, firing: StepFiring) -> None:
        self._board.order(Freeze(firing=firing.serial, execution=firing.execution, thaw=not firing.frozen))
