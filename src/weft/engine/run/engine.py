"""The engine of a run: facts in, orders and events out.

`apply` takes a fact and works out all that follows from it: tokens move on, what has room begins, until nothing
more can happen before the next fact. There is no batch: whatever ends, everything that became possible by it
begins at once. Orders and events collect in lists that the driver takes; it makes the events durable before it
obeys.
"""

from collections.abc import Sequence

from weft.engine.run.board import board
from weft.engine.run.dooming import Dooming
from weft.engine.run.ending import Ending
from weft.engine.run.events import Event
from weft.engine.run.facts import Answered, AnyFact, Ended, How, Resumed, RunStarted, StopAsked, Woke
from weft.engine.run.moves import Moves
from weft.engine.run.orders import AnyOrder, Ordered
from weft.engine.run.pausing import Pausing
from weft.engine.run.plays import Firing
from weft.engine.run.scopes import Scopes
from weft.engine.run.spending import Spending
from weft.engine.run.starting import Starting
from weft.engine.run.telling import Telling
from weft.engine.run.tokens import Tokens
from weft.engine.states import SubplanTracker
from weft.errors import StateError
from weft.plan.compile.compiled import CompiledPlan
from weft.plan.order.outline import ROOT

_UNFINISHED = frozenset({How.STOPPED, How.LIMITED, How.LOST, How.INFRA})


class Engine:
    def __init__(self, compiled: CompiledPlan, *, quiet: bool = False, trace: bool = False) -> None:
        """`quiet`: nothing is told or ordered until `speak`. `trace`: `moves` holds every move of the net."""
        one = self._board = board(compiled)
        one.quiet = quiet
        one.moves = [] if trace else None
        self._telling = Telling(one)
        moves = Moves(one)
        self._scopes = Scopes(one, self._telling)
        self._dooming = Dooming(one, moves, self._scopes, self._telling)
        self._spending = Spending(one, moves, self._dooming, self._telling)
        self._ending = Ending(one, moves, self._dooming, self._telling)
        self._starting = Starting(one, moves, self._scopes, self._ending, self._spending, self._telling)
        self._tokens = Tokens(one, moves, self._starting, self._ending, self._dooming, self._telling)
        self._pausing = Pausing(one, moves, self._starting, self._spending, self._telling)
        self._over = ""

    # What the driver may ask

    @property
    def tracker(self) -> SubplanTracker:
        return self._board.tracker

    @property
    def state(self) -> str:
        """running, waiting, stopped, completed or failed."""
        if self._over:
            return self._over
        return "waiting" if self.waits_for_people else "running"

    @property
    def waits_for_people(self) -> bool:
        """Whether nothing is under way but questions."""
        one = self._board
        return bool(one.questions) and len(one.questions) == len(one.firings) and not one.throttled

    @property
    def in_flight(self) -> Sequence[Ordered]:
        """What was ordered and has not been reported as ended, in the order it was begun."""
        found = [firing.order for firing in self._board.firings.values() if not firing.parked]
        return [order for order in found if order is not None]

    def questions(self) -> Sequence[Firing]:
        return list(self._board.questions.values())

    @property
    def moves(self) -> Sequence[tuple[str, str]]:
        return self._board.moves or ()

    def speak(self) -> None:
        """From here on it tells and orders; what was ordered before and has not ended is `in_flight`."""
        self._board.quiet = False

    def taken(self) -> tuple[list[Event], list[AnyOrder]]:
        """The events and orders since this was last asked."""
        events, orders = self._board.events, self._board.orders
        self._board.events, self._board.orders = [], []
        return events, orders

    # What the driver tells

    def apply(self, fact: AnyFact) -> None:
        self._board.at = max(fact.at, self._board.at)
        match fact:
            case Ended():
                self._ended(fact)
            case Answered():
                self._answered(fact)
            case Woke():
                self._pausing.wakes(fact)
            case StopAsked():
                self._pausing.stops(fact)
            case Resumed():
                self._over = "" if self._over == "stopped" else self._over
                self._pausing.resumes(fact)
            case RunStarted():
                self._start(fact)
        self._advance()
        if not self._over and self._board.run:
            self._look_whether_over()

    def _start(self, fact: RunStarted) -> None:
        one = self._board
        if one.run:
            raise StateError("the run has started before")
        one.run, one.env = fact.run, fact.env
        one.started_at = fact.at
        one.carried = frozenset(fact.carried)
        self._telling.run_started(fact)
        self._scopes.start()

    def _ended(self, fact: Ended) -> None:
        firing = self._board.firings.get(fact.firing)
        if firing is None or firing.execution != fact.execution or not firing.is_under_way:
            self._telling.noted("ignored", fact, firing=fact.firing, execution=fact.execution)
            return
        how = fact.how if fact.how is How.DONE else _meant(firing, fact.how)
        self._telling.finished(firing, fact, how)
        self._spending.pays(firing, fact)
        if how is How.STOPPED or how is How.LIMITED:
            self._pausing.parks(firing, how, fact)
        elif firing.step:
            self._ending.step_ended(firing, how, fact)
        else:
            self._ending.part_ended(firing, how, fact)
        self._spending.looks_again()

    def _answered(self, fact: Answered) -> None:
        firing = next((one for one in self.questions() if _is_asked(one, fact)), None)
        if firing is None:
            self._telling.noted("ignored", fact, subplan=fact.subplan, step=fact.step)
            return
        self._telling.answered(firing, fact)
        self._ending.answered(firing, fact)

    # All that follows

    def _advance(self) -> None:
        one, scopes = self._board, self._scopes
        while True:
            if one.arrivals:
                self._tokens.arrives(*one.arrivals.popleft())
            elif one.ended:
                scopes.ended(one.ended.popleft())
            elif scopes.doomed:
                self._dooming.end_play(*scopes.doomed.popleft())
            elif scopes.rejected:
                scopes.reject(scopes.rejected.popleft())
            elif scopes.ready:
                scopes.begin(scopes.ready.popleft())
            elif one.stopping or (number := one.allocator.next()) is None:
                break
            else:
                self._starting.granted(number)

    def _look_whether_over(self) -> None:
        one = self._board
        if self._scopes.finished:
            self._finish("failed" if ROOT in one.failures else "completed")
        elif one.stopping:
            if not any(firing.is_under_way for firing in one.firings.values()):
                self._finish("stopped")
        elif not one.firings and not one.throttled:
            self._finish("failed", list(self._scopes.unfinished()))

    def _finish(self, state: str, stuck: Sequence[str] = ()) -> None:
        self._over = state
        self._telling.run_finished(state, stuck)


def _meant(firing: Firing, how: How) -> How:
    """What an end comes to that is none of the work's own.

    What was to be ended for good is cancelled, even if it was stopped or limited or lost meanwhile. What ended as
    if it had been told to, and had not, is lost. Only agents have usage limits.
    """
    if firing.halted == "cancelled":
        return How.CANCELLED if how in _UNFINISHED else how
    if how is How.CANCELLED:
        return How.STOPPED if firing.halted else How.LOST
    if how is How.LIMITED:
        return how if firing.launch is not None else How.INFRA
    return How.LOST if how is How.STOPPED and not firing.halted else how


def _is_asked(firing: Firing, fact: Answered) -> bool:
    return firing.play.path == fact.subplan and fact.step in {"", firing.step}
