"""The events of a run, built from the state of the engine. A quiet engine builds none."""

from collections.abc import Sequence

from weft.engine.messages.facts import (
    Answered,
    BudgetReset,
    Controlled,
    ControlState,
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
from weft.engine.messages.failures import Failure
from weft.engine.messages.internal_steps import InternalStep
from weft.engine.messages.landing_events import (
    ConflictAheadEvent,
    MergeAskedEvent,
    MergeEvent,
    MergeOutcome,
    PushEvent,
    VerifyEvent,
    VerifyOutcome,
)
from weft.engine.messages.run_events import (
    BudgetEvent,
    CoordinatorLeftEvent,
    FeedbackEvent,
    HostChangedEvent,
    IgnoredEvent,
    LeftOutEvent,
    LimitedEvent,
    LimitsEndedEvent,
    PausedEvent,
    RecoveredEvent,
    ResumedEvent,
    RunEnd,
    RunFinishedEvent,
    RunStartedEvent,
    SpentEvent,
    StoppingEvent,
    SubplanStateEvent,
    Unit,
    WokeEvent,
)
from weft.engine.rules.step_event_writer import StepEventWriter
from weft.engine.rules.step_result import part_name
from weft.engine.state.budget import Budget
from weft.engine.state.slice_state import StepFiring
from weft.engine.states import SubplanExecutionState
from weft.plan.order.outline import ROOT


class EventWriter(StepEventWriter):
    """Writes all events of a run."""

    # The run

    def run_started(self, fact: RunStarted) -> None:
        plan = self._state.plan
        subplans, slices = len(plan.subplans) - 1, sum(plan.outline.leaves)
        self._emit(RunStartedEvent(plan=plan.id, run=fact.run, subplans=subplans, slices=slices, fact=fact))
        for feedback in fact.feedback:
            self._emit(FeedbackEvent(subplan=feedback.subplan, text=feedback.text))

    def run_finished(self, outcome: RunEnd, stuck: Sequence[str] = ()) -> None:
        state = self._state
        failure = state.failures.get(ROOT)
        event = RunFinishedEvent(
            outcome=outcome,
            counts={str(name): count for name, count in state.tracker.counts().items()},
            seconds=round(state.at - state.started_at, 3),
            message=None if failure is None else failure.message,
            cause=None if failure is None else failure.cause,
            reason=None if failure is None else failure.reason,
            stuck=tuple(stuck),
            unknown_costs=state.budget.own_unknown,
            cost=state.budget.own(ROOT),
            tokens=state.token_budget.own(ROOT) or None,
        )
        self._emit(event)

    def stopping(self, fact: StopAsked) -> None:
        self._emit(StoppingEvent(now=fact.now, fact=fact))

    def controlled(self, fact: Controlled) -> None:
        event_class = ResumedEvent if fact.wanted is ControlState.GO else PausedEvent
        self._emit(event_class(subplan=fact.subplan, outcome=fact.wanted, now=fact.now, fact=fact))

    def paused(self, path: str) -> None:
        """Writes a pause that the run takes over from the run it replaces."""
        self._emit(PausedEvent(subplan=path, outcome=ControlState.PAUSE))

    def recovered(self, fact: Resumed, running: Sequence[int]) -> None:
        self._emit(RecoveredEvent(epoch=fact.epoch, running=tuple(running), fact=fact))

    def coordinator_left(self, fact: CoordinatorLeft) -> None:
        self._emit(CoordinatorLeftEvent(fact=fact))

    def host_changed(self, fact: HostChanged) -> None:
        event = HostChangedEvent(
            outcome=fact.state, host=fact.host, machine=fact.machine, message=fact.message, fact=fact
        )
        self._emit(event)

    def woke(self, fact: Woke) -> None:
        self._emit(WokeEvent(fact=fact))

    def limits_ended(self, fact: LimitsEnded) -> None:
        self._emit(LimitsEndedEvent(fact=fact))

    def ignored(self, fact: Ended | Spent | Answered) -> None:
        """Writes that a fact came too late."""
        if isinstance(fact, Answered):
            self._emit(IgnoredEvent(about_subplan=fact.subplan, about_step=fact.step, fact=fact))
        else:
            self._emit(IgnoredEvent(firing=fact.firing, execution=fact.execution, fact=fact))

    def merge_asked(
        self, fact: MergeAsked, *, joins: Sequence[str] | None = None, parts: Sequence[str] | None = None
    ) -> None:
        """Writes a person's request to merge; with `--now` it names the results and parts that land."""
        event = MergeAskedEvent(
            about=fact.subplan,
            joins=None if joins is None else tuple(joins),
            parts=None if parts is None else tuple(parts),
            fact=fact,
        )
        self._emit(event)

    def foreseen(self, fact: Foreseen) -> None:
        event = ConflictAheadEvent(
            subplan=fact.subplan,
            outcome="ahead" if fact.files else "over",
            other=fact.other,
            files=fact.files,
            fact=fact,
        )
        self._emit(event)

    def merged(self, firing: StepFiring, fact: Ended, how: StepOutcome) -> None:
        """Writes the event of a merge or a landing that changed refs or could not be done."""
        outcome = _merge_outcome(fact, how)
        if self._state.quiet or outcome is None or not (fact.moves or how is not StepOutcome.DONE):
            return
        message = fact.message
        if how is StepOutcome.CONFLICT:
            message = " ".join((*fact.message.splitlines()[:1], "An agent resolves it."))
        event = MergeEvent(
            subplan=firing.subplan.path,
            step=part_name(firing.move),
            attempt=firing.attempt,
            outcome=outcome,
            message=message,
            files=fact.files,
            waits_for=fact.waits_for,
            red=fact.red,
            moves=fact.moves,
        )
        self._emit(event)

    def pushed(self, fact: Pushed) -> None:
        event = PushEvent(
            outcome="failed" if fact.message else "pushed",
            remote=fact.remote,
            commit=fact.commit,
            message=fact.message,
            final=fact.is_final if fact.message else None,
            command=fact.command,
            fact=fact,
        )
        self._emit(event)

    def verify_started(self, fact: VerifyStarted) -> None:
        event = VerifyEvent(
            step=InternalStep.LAND,
            outcome=VerifyOutcome.STARTED,
            tree=fact.tree,
            commit=fact.commit,
            entries=fact.entries,
            commands=fact.commands,
            log=fact.log,
            fact=fact,
        )
        self._emit(event)

    def verify_ended(self, fact: VerifyEnded) -> None:
        event = VerifyEvent(
            step=InternalStep.LAND,
            outcome=VerifyOutcome.PASSED if fact.how is StepOutcome.DONE else VerifyOutcome(fact.how),
            tree=fact.tree,
            commit=fact.commit,
            entries=fact.entries,
            commands=fact.commands,
            log=fact.log,
            exit_code=fact.exit_code,
            signal=fact.signal,
            message=fact.message,
            tail=fact.tail,
            seconds=round(fact.seconds, 3),
            fact=fact,
        )
        self._emit(event)

    def budget(self, row: int, percent: int, unit: Unit, budget: Budget) -> None:
        event = BudgetEvent(
            subplan=self._state.path(row),
            outcome="reached" if percent >= 100 else "alert",  # noqa: PLR2004
            unit=unit,
            spent=budget.spent[row],
            reserved=budget.reserved[row],
            ceiling=budget.ceiling(row),
            percent=percent,
        )
        self._emit(event)

    def budget_reset(self, fact: BudgetReset | None) -> None:
        self._emit(BudgetEvent(outcome="reset", fact=fact))

    def spent(self, firing: StepFiring, fact: Spent) -> None:
        event = SpentEvent(
            subplan=firing.subplan.path,
            step=part_name(firing.move),
            attempt=firing.attempt,
            firing=fact.firing,
            execution=fact.execution,
            cost=fact.cost,
            tokens=fact.tokens,
            fact=fact,
        )
        self._emit(event)

    def limited(self, firing: StepFiring, agents: Sequence[str], until: float) -> None:
        event = LimitedEvent(
            subplan=firing.subplan.path,
            step=part_name(firing.move),
            attempt=firing.attempt,
            firing=firing.serial,
            agents=tuple(agents),
            until=until,
        )
        self._emit(event)

    # Subplans

    def left_out(self, path: str, group: str, fact: Ended) -> None:
        self._emit(LeftOutEvent(subplan=path, group=group, message=fact.message, culprits=fact.culprits))

    def state(
        self,
        row: int,
        outcome: SubplanExecutionState,
        before: SubplanExecutionState,
        *,
        carried: bool = False,
    ) -> None:
        if not self._state.quiet:
            path = self._state.path(row)
            self._emit(SubplanStateEvent(subplan=path, outcome=outcome, before=before, carried=carried))

    def failed(self, row: int, before: SubplanExecutionState, failure: Failure) -> None:
        if self._state.quiet:
            return
        event = SubplanStateEvent(
            subplan=self._state.path(row),
            outcome=SubplanExecutionState.FAILED,
            before=before,
            reason=failure.reason,
            message=failure.message,
            cause=failure.cause,
            failure=failure if failure.step else None,
        )
        self._emit(event)


def _merge_outcome(fact: Ended, how: StepOutcome) -> MergeOutcome | None:
    """Returns the outcome of a `merge` event; None if the end of a merge needs none."""
    if how is StepOutcome.DONE:
        return "merged"
    if how is StepOutcome.HELD:
        return "conflict" if fact.conflict else "held"
    return "conflict" if how is StepOutcome.CONFLICT and fact.conflict else None
