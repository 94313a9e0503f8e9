"""The fold: the state of a run, from its events. Status, live view, status files and `weft merge` derive from it.

The fold knows no plan, so that `weft status` need not load one; `RunView` adds what follows from the plan. It has
no clock, no input and no output, and the cost of an event does not depend on the size of the plan.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import assert_never

from weft.app.history.ledger import total
from weft.app.views.holds import Holds
from weft.app.views.hosts import HostViews
from weft.app.views.landing import Landings
from weft.app.views.rows import (
    BAD_ENDS,
    LeftOut,
    OpenStepQuestion,
    Rejection,
    RowView,
    RunningStep,
    step_failure,
)
from weft.app.views.signals import VERIFY, RunSignals
from weft.app.views.totals import Charges, Totals
from weft.engine.messages.events import (
    AnsweredEvent,
    AnyEvent,
    AskEvent,
    BudgetEvent,
    ConflictAheadEvent,
    CoordinatorLeftEvent,
    CostUnknownEvent,
    FeedbackEvent,
    HostChangedEvent,
    IgnoredEvent,
    LeftOutEvent,
    LimitedEvent,
    LimitsEndedEvent,
    MergeAskedEvent,
    MergeEvent,
    OutsideChangedEvent,
    PartsEvent,
    PausedEvent,
    PlacedEvent,
    PushEvent,
    Recorded,
    RecoveredEvent,
    ResumedEvent,
    RunEnd,
    RunFinishedEvent,
    RunStartedEvent,
    SpentEvent,
    StepCancelledEvent,
    StepEnd,
    StepFinishedEvent,
    StepSkippedEvent,
    StepStartedEvent,
    StoppingEvent,
    SubplanStateEvent,
    UnknownEvent,
    VerifyEvent,
    WokeEvent,
    execution_of,
)
from weft.engine.messages.facts import RunStarted
from weft.engine.messages.failures import Failure
from weft.engine.messages.internal_steps import InternalStep, is_internal
from weft.engine.state.control_requests import ControlRequests
from weft.engine.states import SubplanExecutionState as State

PLAN = ""
"""The path of the whole plan."""
# Module names, since a look-up in the enumeration takes longer than the rest of most branches.
_DONE, _HELD, _REJECTED = StepEnd.DONE, StepEnd.HELD, StepEnd.REJECTED
_LIMITED, _INFRA = StepEnd.LIMITED, StepEnd.INFRA


class RunFold:
    def __init__(self, rows: dict[str, RowView] | None = None) -> None:
        """`rows` are the subplans by path; without a plan, a row is made when its first event arrives."""
        self.by_path: dict[str, RowView] = defaultdict(RowView) if rows is None else rows
        self.run = ""
        self.state = "pending"
        """`pending`, `running`, `stopping`, or the final state of the run."""
        self.control_requests = ControlRequests()
        """The subplans that people have paused, frozen or stopped."""
        self.holds = Holds()
        self.landings_by_path = Landings()
        self.signals = RunSignals()
        self.hosts = HostViews()
        self.totals = Totals()
        """The spending that running steps have reported."""
        self.charges = Charges()
        self.is_reset = False
        """Whether a person has reset the budget during this run."""
        self.cost = self.tokens = 0
        """Reported by the steps of this run, in micro-dollars and tokens."""
        self.unknown_costs = 0
        """Agent calls that did not report their cost."""
        self.version: int = 0
        """Grows with each change; displays compare it to find out whether they have to draw again."""
        self.seq = 0
        self.at = 0.0
        """The number and the time of the last event."""

    def apply_all(self, events: Iterable[Recorded]) -> None:
        for recorded in events:
            self.apply(recorded.event, recorded.at, recorded.seq)

    def apply(self, event: AnyEvent, at: float, seq: int | None = None) -> None:  # noqa: C901, PLR0912, PLR0915 - one case a class
        """Folds an event. Without a number, the event follows the last one."""
        self.seq = self.seq + 1 if seq is None else seq
        self.version += 1
        match event:  # the most frequent events first
            case StepStartedEvent():
                self._step_started(event, at)
            case StepFinishedEvent():
                self._step_finished(event, at)
            case SubplanStateEvent():
                self._subplan_state(event, at)
            case SpentEvent():
                self._spent(event)
            case MergeEvent():
                self._merge(event)
            case StepCancelledEvent():
                self._step_cancelled(event, at)
            case AskEvent():
                self._ask(event, at)
            case AnsweredEvent():
                self._answered(event, at)
            case RunStartedEvent():
                self._run_started(event, at)
            case RunFinishedEvent():
                self._run_finished(event, at)
            case StoppingEvent():
                self.state = "stopping"
            case PausedEvent() | ResumedEvent():
                self.control_requests.says(event.subplan, event.outcome)
                self.holds.apply_control(self.control_requests)
            case RecoveredEvent():
                self._recovered(event, at)
            case CostUnknownEvent():
                self.unknown_costs += 1
                self.charges.add_unreported(event)
            case BudgetEvent():
                self._budget(event)
            case LimitedEvent():
                self.signals.limited(event)
                self.by_path[event.subplan].limited_until = event.until
            case LimitsEndedEvent():
                self._limits_ended()
            case LeftOutEvent():
                self._left_out(event)
            case OutsideChangedEvent():
                self.signals.outside_changed(event)
            case PartsEvent():
                self.landings_by_path.parts(event, self.seq)
            case VerifyEvent():
                self.landings_by_path.verify(event)
                self.signals.verify(event)
            case PushEvent():
                self.landings_by_path.apply_push(event, self.seq)
            case ConflictAheadEvent():
                self.landings_by_path.conflict_ahead(event)
            case HostChangedEvent() | PlacedEvent():
                self.hosts.apply(event, at)
            case (
                StepSkippedEvent()
                | WokeEvent()
                | MergeAskedEvent()
                | CoordinatorLeftEvent()
                | IgnoredEvent()
                | FeedbackEvent()
                | UnknownEvent()
            ):
                pass
            case _:
                assert_never(event)  # a new kind of event fails the type checker until the fold handles it
        self.at = at

    # Extended by a view that knows the plan

    def _moved(self, row: RowView) -> None:
        """Records that a row has changed in a way that may move it to another list."""

    def _landing_of(self, row: RowView) -> str:  # noqa: ARG002 - a plan decides by it
        """Returns the `landing` value of a subplan as long as it is not held and has not landed."""
        return ""

    def _change(self, row: RowView, state: State, at: float) -> None:
        row.state, row.changed_at = state, at
        row.landing = self._landing_of(row)
        if not state.terminal:
            row.started_at = at

    def _end(self, row: RowView, failure: Failure | None, at: float) -> None:  # noqa: ARG002 - a plan decides by it
        """Ends a subplan with a known reason and message; `failure` is that of its own step."""
        row.ended_at = at
        row.end_questions()

    def _payers(self, row: RowView) -> Iterable[RowView]:
        """Returns the rows for which the spending of a subplan counts."""
        return (row,)

    # The run

    def _run_started(self, event: RunStartedEvent, at: float) -> None:  # noqa: ARG002 - a view has a clock
        self.run = event.run
        if isinstance(event.fact, RunStarted):
            self.landings_by_path.target = event.fact.target
            self.charges.earlier = total(event.fact.earlier or ())
        self.state = "running"

    def _run_finished(self, event: RunFinishedEvent, at: float) -> None:
        self.state = event.outcome
        self.unknown_costs = event.unknown_costs
        if event.outcome is RunEnd.STOPPED:  # the run can be resumed
            return
        row = self.by_path[PLAN]
        self._change(row, State(event.outcome), at)
        message = f"the run is stuck: {'; '.join(event.stuck)}" if event.stuck else event.message
        row.reason, row.message, row.cause = event.reason or "", message or "", event.cause or ""
        self._end(row, None, at)
        self._moved(row)

    def _recovered(self, _event: RecoveredEvent, at: float) -> None:
        self.hosts.recovered(at)
        self.control_requests.forget_stops()  # a stop was for the coordinator that has left; pauses stay in force
        self.holds.apply_control(self.control_requests)
        self.holds.landing.clear()  # the coordinator orders them again

    def _budget(self, event: BudgetEvent) -> None:
        """Resets the budget. Running steps count in full, including the amounts they spent before the reset."""
        if event.outcome == "reset":
            # Steps that are running report their totals at their end, so their share must not be subtracted twice.
            cost, tokens = self.totals.all()
            self.is_reset = True
            self.charges = Charges(uncounted=(self.cost - cost, self.tokens - tokens))

    def _limits_ended(self) -> None:
        self.signals.limits_ended()
        for row in self.by_path.values():
            row.limited_until = None

    # Subplans

    def _subplan_state(self, event: SubplanStateEvent, at: float) -> None:
        row = self.by_path[event.subplan]
        if self.holds.known:
            # Before `_change`, which derives the landing of the row from its hold.
            self.holds.subplan_changed(event)
            self._release(event.subplan, at)
        self._change(row, event.outcome, at)
        if event.outcome.terminal:
            row.reason, row.message = event.reason or "", event.message or ""
            row.cause, row.carried = event.cause or "", event.carried
            self._end(row, event.failure, at)
        self._moved(row)

    def _left_out(self, event: LeftOutEvent) -> None:
        row = self.by_path[event.subplan]
        row.left_out = LeftOut(
            group=event.group, message=event.message, is_culprit=event.subplan in event.culprits
        )
        row.landing = "unmerged"
        self.landings_by_path.left_out(event)
        self._moved(row)

    # Steps

    def _step_started(self, event: StepStartedEvent, at: float) -> None:
        row = self.by_path[event.subplan]
        row.limited_until = None
        if is_internal(event.step):  # a step of the plan is never held, does not land, and is no verify
            self._own_step_started(event, at)
        elif event.attempt > row.attempts:
            row.attempts = event.attempt
        row.start(event, at)
        self._moved(row)

    def _own_step_started(self, event: StepStartedEvent, at: float) -> None:
        """Folds the start of a step that Weft adds to those of the plan."""
        if self.holds.known:
            self.holds.step_started(event)
            self._release(event.subplan, at)
        if event.step == InternalStep.LAND:
            self.landings_by_path.landing_started(event)
        elif event.step == VERIFY:
            self.signals.verify_started(event)

    def _step_finished(self, event: StepFinishedEvent, at: float) -> None:
        row = self.by_path[event.subplan]
        step = row.end(event)  # None for a join, or a nested pipeline, which are no firings
        self._add_cost(row, event, step)
        if event.outcome is _DONE:
            if row.idle or row.notes or event.message or event.changed is False:
                row.note(event, is_execution=step is not None)
        elif event.outcome in BAD_ENDS and (step is not None or event.outcome is _REJECTED):
            row.trouble = step_failure(event, step)
        elif event.outcome is _LIMITED:
            row.limited_until = event.until
        if is_internal(event.step):
            self._own_step_finished(row, event, at)
        if event.outcome is _REJECTED:
            row.rejected = Rejection(step=event.step, attempt=event.attempt, reason=event.message)
        elif row.rejected is not None and row.rejected.step == event.step:
            row.rejected = None
        self._moved(row)

    def _own_step_finished(self, row: RowView, event: StepFinishedEvent, at: float) -> None:
        """Folds the end of a step that Weft adds to those of the plan."""
        self.holds.step_finished(event)
        self._hold(row, event, at)
        if event.step == InternalStep.LAND:
            self.landings_by_path.landing_finished(event)
        elif event.step == VERIFY:
            self.signals.verify_finished(event)

    def _step_cancelled(self, event: StepCancelledEvent, at: float) -> None:
        row = self.by_path[event.subplan]
        self.holds.step_cancelled(event)
        if event.firing in row.steps:  # its process still runs, and its end is an event of its own
            row.steps[event.firing].cancelled_by = event.cause or "the run"
            return
        if event.step in row.questions and row.questions[event.step].firing == event.firing:
            row.end_question(event.step)
        self._release(event.subplan, at)
        self._moved(row)

    def _hold(self, row: RowView, event: StepFinishedEvent, at: float) -> None:
        if event.outcome is _HELD:
            row.held, row.held_at = self.holds.open[event.subplan], at
            row.landing = "conflict" if row.held.conflict else "held"
            return
        if row.held is not None:
            self._release(event.subplan, at)
        if event.step == InternalStep.LAND and event.outcome is _DONE and row.landing:
            row.landing = "merged"

    def _release(self, path: str, at: float) -> None:
        """Ends the hold of a row if it is not open any more; the time of the hold does not count as work."""
        row = self.by_path[path]
        if row.held is None or path in self.holds.open:
            return
        if row.ended_at is None:
            row.pause(at - row.held_at)
        row.held = None
        row.landing = self._landing_of(row)

    def _merge(self, event: MergeEvent) -> None:
        self.landings_by_path.merge(event, self.seq)
        if event.step == InternalStep.LAND:
            self.signals.land(event)

    # Money

    def _add_cost(self, row: RowView, event: StepFinishedEvent, step: RunningStep | None) -> None:
        """Adds the cost of a step. It is unknown if an agent reports none, unless the agent never started."""
        if step is None and not event.cost and not event.tokens:
            return
        is_unknown = False
        if event.cost is None or event.cost_at_least:
            never_ran = event.outcome is _INFRA and event.exit_code is None and event.signal is None
            is_unknown = step is not None and bool(step.agent) and not never_ran
        execution = (event.firing, event.execution or 1)
        cost, tokens = self.totals.more(execution, event.cost, event.tokens, ended=True)
        if cost or tokens or is_unknown:
            self._spend(row, cost, tokens, unknown=is_unknown)

    def _spent(self, event: SpentEvent) -> None:
        cost, tokens = self.totals.more(execution_of(event), event.cost, event.tokens)
        self.add_spending(event.subplan, cost, tokens)

    def add_spending(self, path: str, cost: int, tokens: int) -> None:
        """Adds spending that no execution with known totals has reported."""
        self._spend(self.by_path[path], cost, tokens)

    def _spend(self, row: RowView, cost: int, tokens: int, *, unknown: bool = False) -> None:
        self.cost += cost
        self.tokens += tokens
        for payer in self._payers(row):
            payer.cost += cost
            payer.tokens += tokens
            payer.unknown_costs += unknown

    # People

    def _ask(self, event: AskEvent, at: float) -> None:
        row = self.by_path[event.subplan]
        row.ask(event.step, OpenStepQuestion(firing=event.firing, text=event.question, asked_at=at))
        self._moved(row)

    def _answered(self, event: AnsweredEvent, at: float) -> None:
        row = self.by_path[event.subplan]
        # A person may answer without naming the step, if the subplan has one question.
        question = row.end_question(event.step or next(iter(row.questions), ""))
        if question is not None and not row.questions and not row.steps:  # otherwise the subplan was not idle
            row.pause(at - question.asked_at)
        self._moved(row)
