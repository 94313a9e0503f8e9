"""The engine of a run: facts in, orders and events out.

`apply` takes a fact and computes everything that follows from it: tokens move and work with enough room
starts, until nothing more can happen before the next fact. Nothing is batched: when something ends, all work
that becomes possible starts at once. Orders and events collect in lists. The driver takes both, stores the
events, and only then carries out the orders.
"""

from collections.abc import Sequence

from weft.engine.engine_view import EngineView
from weft.engine.messages.events import AnyEvent, RunEnd
from weft.engine.messages.facts import (
    Answered,
    AnyFact,
    BudgetReset,
    Controlled,
    CoordinatorLeft,
    Ended,
    Foreseen,
    HostChanged,
    LimitsEnded,
    MergeAsked,
    Pushed,
    Resumed,
    RunStarted,
    Spent,
    StepOutcome,
    StopAsked,
    VerifyEnded,
    VerifyStarted,
    Woke,
)
from weft.engine.messages.orders import AnyOrder
from weft.engine.rules.admission import Admission
from weft.engine.rules.cancellation import Cancellation
from weft.engine.rules.completion import Completion
from weft.engine.rules.control import Control
from weft.engine.rules.early_ends import EarlyEnds
from weft.engine.rules.event_writer import EventWriter
from weft.engine.rules.expenses import Expenses
from weft.engine.rules.holds import HoldRules
from weft.engine.rules.landing_record import LandingRecord, QueueFact
from weft.engine.rules.moves import MERGING, Moves
from weft.engine.rules.part_landings import PartLandings
from weft.engine.rules.placement import Placement, lost_end
from weft.engine.rules.scopes import Scopes
from weft.engine.rules.start import Starter
from weft.engine.rules.tokens import TokenRules
from weft.engine.state import conversations, cut_off_notice, unchanged_files
from weft.engine.state.engine_state import EngineTables, initial_state
from weft.engine.state.slice_state import Amounts, StepFiring
from weft.errors import StateError
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.order.outline import ROOT


class Engine(EngineView):
    def __init__(
        self,
        compiled: CompiledPlan,
        *,
        quiet: bool = False,
        trace: bool = False,
        writes_events: bool = True,
        tables: EngineTables | None = None,
    ) -> None:
        """`quiet`: no events and orders until `speak`. `trace`: `moves` records each transition of the net.

        `writes_events`: false for a simulation that needs only the orders, to save the time.
        `tables`: those of the plan, if they are at hand.
        """
        state = initial_state(compiled, tables, trace=trace)
        super().__init__(state)
        self._writes_events = writes_events
        state.quiet, state.orders_nothing = quiet or not writes_events, quiet
        self._events = EventWriter(state)
        self._placement = Placement(state, self._events)
        moves = Moves(state, self._placement)
        self._scopes = Scopes(state, self._events)
        self._cancellation = Cancellation(state, moves, self._scopes, self._events)
        self._expenses = Expenses(state, moves, self._cancellation, self._events)
        self._completion = Completion(state, moves, self._cancellation, self._events)
        self._starter = Starter(
            state, moves, self._scopes, self._completion, self._expenses, self._events, self._placement
        )
        self._tokens = TokenRules(
            state, moves, self._starter, self._completion, self._cancellation, self._events
        )
        self._holds = HoldRules(state, moves, self._events)
        state.allocator.opens = Admission(state, self._expenses, self._placement).opens
        self._control = Control(state, moves, self._scopes, self._starter, self._events)
        self._early_ends = EarlyEnds(state, moves, self._starter, self._expenses, self._holds, self._events)
        self._landing_record = LandingRecord(state, self._events)
        self._part_landings = PartLandings(state, self._scopes, self._holds)
        self._moves = moves
        self._over: RunEnd | None = None

    # Queries of the driver

    @property
    def state(self) -> str:
        """running, paused, waiting, stopped, completed or failed."""
        if self._state.part_landings:
            return "running"
        if self._over:
            return self._over.value
        if self.waits_for_people:
            return "waiting"
        return "paused" if self._is_standing_still else "running"

    def spent_so_far(self, firing: int) -> Amounts:
        """Returns the reported spending of the running execution."""
        return self._expenses.so_far(firing)

    @property
    def landing_record(self) -> LandingRecord:
        """The record of what has to land, and of what the landing queue has verified and pushed."""
        return self._landing_record

    def speak(self) -> None:
        """Ends the quiet phase of a replay. Orders from before that have not ended are `in_flight`."""
        self._state.quiet, self._state.orders_nothing = not self._writes_events, False

    def take_messages(self) -> tuple[list[AnyEvent], list[AnyOrder]]:
        """Removes and returns the events and orders since the last call."""
        return self._state.take_messages()

    # Facts

    def apply(self, fact: AnyFact) -> None:
        """Applies a fact and everything that follows from it."""
        self._state.at = max(fact.at, self._state.at)
        self._dispatch(fact)
        self._advance()
        if not self._over and self._state.run:
            self._finish_if_over()

    def _dispatch(self, fact: AnyFact) -> None:
        match fact:
            case Ended() | Spent():
                self._apply_report(fact)
            case Answered() | MergeAsked():
                self._apply_reply(fact)
            case BudgetReset():
                self._expenses.resets(fact)
            case HostChanged():
                self._host_changed(fact)
            case Foreseen() | CoordinatorLeft() | VerifyStarted() | VerifyEnded() | Pushed():
                self._apply_notice(fact)
            case Woke() | LimitsEnded() | Controlled() | StopAsked() | Resumed():
                self._apply_control(fact)
            case RunStarted():
                self._start(fact)

    def _apply_control(self, fact: Woke | LimitsEnded | Controlled | StopAsked | Resumed) -> None:
        match fact:
            case Woke() | LimitsEnded():
                self._early_ends.wakes(fact)
            case Controlled():
                self._control.request(fact)
                self._holds.released()
            case StopAsked():
                self._early_ends.stops(fact)
                self._part_landings.stops(now=fact.now)
            case Resumed():
                self._placement.forgets()
                self._over = None if self._over is RunEnd.STOPPED else self._over
                self._early_ends.resumes(fact)
                if fact.settles:
                    self._control.thaws()
                elif not fact.merges_only:
                    self._control.resumes()
                    self._holds.released()
                self._moves.asks_for_hosts()

    def _start(self, fact: RunStarted) -> None:
        state = self._state
        if state.run:
            raise StateError("the run has started before")
        state.run, state.env = fact.run, fact.env
        state.started_at = fact.at
        state.carried = frozenset(fact.carried)
        state.continued = {earlier.subplan: earlier for earlier in fact.continued}
        state.feedback = {feedback.subplan: feedback.text for feedback in fact.feedback}
        landed = [row for row, path in enumerate(state.plan.outline.paths) if path in fact.landed]
        state.land(landed)
        state.reach_target(landed)
        self._events.run_started(fact)
        self._control.carries(fact.paused)
        self._expenses.carries(fact.earlier or ())
        self._scopes.start()

    def _apply_notice(self, fact: Foreseen | CoordinatorLeft | QueueFact) -> None:
        match fact:
            case Foreseen():
                self._events.foreseen(fact)
            case CoordinatorLeft():
                self._events.coordinator_left(fact)
            case _:
                self._landing_record.record(fact)

    def _apply_report(self, fact: Ended | Spent) -> None:
        """Applies a report about an execution. A report about one that has ended is ignored."""
        firing, parts = self._state.firings.get(fact.firing), self._state.part_landings.get(fact.firing)
        if parts is not None and isinstance(fact, Ended):
            self._part_landings.ended(parts, fact)
            if self._over and not self._state.part_landings:
                self._events.run_finished(self._over, ())
        elif firing is None or firing.execution != fact.execution or not firing.is_under_way:
            self._events.ignored(fact)
        elif isinstance(fact, Spent):
            self._expenses.record(firing, fact)
        else:
            self._ended(firing, fact)

    def _host_changed(self, fact: HostChanged) -> None:
        """Applies which hosts can be reached now. The end of what is lost with a host follows from that."""
        self._events.host_changed(fact)
        for firing in self._placement.changes(fact):
            self._ended(firing, lost_end(firing, fact), is_reported=False)
        self._moves.asks_for_hosts()

    def _ended(self, firing: StepFiring, fact: Ended, *, is_reported: bool = True) -> None:
        how = fact.how
        if how is not StepOutcome.DONE:
            how = self._holds.outcome_of(firing, fact)
        unchanged_files.note(firing, fact)
        cut_off_notice.note(firing, how, fact)
        judgement = self._completion.judgement(firing, how, fact)
        bill = self._expenses.settles(firing, fact, how)
        self._events.finished(firing, fact, how, bill, judgement, is_reported=is_reported)
        self._placement.ended(firing, how)
        conversations.note(firing, fact)
        if firing.move.act.role in MERGING:
            self._events.merged(firing, fact, how)
        if is_parked := how is StepOutcome.STOPPED or how is StepOutcome.LIMITED:
            self._early_ends.parks(firing, how, fact)
        self._expenses.alerts(firing)  # after parking: a ceiling that is reached also cancels parked firings
        if how is StepOutcome.HELD:
            self._holds.hold(firing, fact)
        elif firing.step and not is_parked:
            self._completion.step_ended(firing, how, fact, judgement)
        elif not is_parked:
            self._completion.part_ended(firing, how, fact)
            if firing.subplan.landing is not None:
                self._holds.landed(firing.subplan)
                self._landing_record.landed(fact)
        self._expenses.looks_again()

    def _apply_reply(self, fact: Answered | MergeAsked) -> None:
        if isinstance(fact, Answered):
            self._answered(fact)
        elif fact.now:
            self._part_landings.merge_asked(fact)
        else:
            self._holds.merge_asked(fact)

    def _answered(self, fact: Answered) -> None:
        firing = next((question for question in self.questions() if _is_asked(question, fact)), None)
        if firing is None:
            self._events.ignored(fact)
            return
        self._events.answered(firing, fact)
        self._completion.answered(firing, fact)

    # Consequences

    def _advance(self) -> None:
        self._settle()
        while self._join_landings():
            self._settle()

    def _join_landings(self) -> bool:
        """Lets more results join the landing queue when nothing else can happen; returns whether any did."""
        state = self._state
        if (state.joins_queue and self._holds.rejoins()) or (state.held and self._holds.looks_again()):
            return True
        if self._state.stopping or not self.waits_for_people:
            return False
        return bool(self._scopes.release_landings()) or self._holds.previews()

    def _settle(self) -> None:
        """Processes queues and pools until nothing more can happen before the next fact."""
        state, gates_are_new = self._state, True
        while True:
            if self._follow():
                gates_are_new = True
            if (number := self._next()) is not None:
                self._starter.granted(number)
                gates_are_new = True
            elif state.stopping:
                break
            elif self._moves.lend_slots():
                gates_are_new = True
            elif gates_are_new and state.allocator.reopen():
                gates_are_new = False
            else:
                break

    def _follow(self) -> bool:
        """Processes the queues until they are empty; returns whether they had any entry."""
        state, scopes = self._state, self._scopes
        arrivals, ended, ready = state.arrivals, state.ended, scopes.ready
        is_busy = False
        while True:
            # Each entry may add to any of the queues, and the first queue always comes first.
            if arrivals:
                self._tokens.arrives(*arrivals.popleft())
            elif ended:
                scopes.ended(ended.popleft())
            elif scopes.to_cancel:
                self._cancellation.cancel_subplan(*scopes.to_cancel.popleft())
            elif scopes.rejected:
                scopes.reject(scopes.rejected.popleft())
            elif ready:
                scopes.begin(ready.popleft())
            else:
                return is_busy
            is_busy = True

    def _next(self) -> int | None:
        """Returns the next request that has room. While the run is stopping, that is a merge or nothing."""
        state = self._state
        if state.stopping and not state.merges_only:
            return None
        number = state.allocator.next()
        if number is None or not state.stopping or self._moves.is_merge(number):
            return number
        if number in state.candidates:
            self._scopes.waits_on(number)
        else:
            self._moves.waits_on(number)
        return None

    def _finish_if_over(self) -> None:
        state = self._state
        if state.part_landings:
            return
        if self._scopes.finished:
            self._finish(RunEnd.FAILED if ROOT in state.failures else RunEnd.COMPLETED)
        elif state.stopping:
            if not any(firing.is_under_way for firing in state.firings.values()) and not self._only_waits:
                self._finish(RunEnd.STOPPED)
        elif state.restrained and self._is_stopped_by_people:
            self._finish(RunEnd.STOPPED)
        elif not state.firings and not state.throttled and not state.paused and not state.waits_for_hosts:
            self._finish(RunEnd.FAILED, list(self._scopes.unfinished()))

    @property
    def _only_waits(self) -> bool:
        return self._state.merges_only and self.waits_for_people

    def _finish(self, state: RunEnd, stuck: Sequence[str] = ()) -> None:
        self._over = state
        self._events.run_finished(state, stuck)


def _is_asked(firing: StepFiring, fact: Answered) -> bool:
    return firing.subplan.path == fact.subplan and fact.step in {"", firing.step}
