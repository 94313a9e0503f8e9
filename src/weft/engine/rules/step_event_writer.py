"""The events of steps, built from the state of the engine."""

from typing import TypedDict

from weft.engine.messages.events import AnyEvent
from weft.engine.messages.facts import (
    Answered,
    Ended,
    OutsideChange,
    StepOutcome,
)
from weft.engine.messages.orders import Launch
from weft.engine.messages.run_events import (
    CostUnknownEvent,
)
from weft.engine.messages.step_events import (
    AnsweredEvent,
    AskEvent,
    OutsideChangedEvent,
    PlacedEvent,
    SkipReason,
    StepCancelledEvent,
    StepEnd,
    StepFinishedEvent,
    StepSkippedEvent,
    StepStartedEvent,
)
from weft.engine.rules.result_check import ResultJudgement
from weft.engine.rules.step_result import output_tail, part_name, shown
from weft.engine.state import unchanged_files
from weft.engine.state.budget import Bill
from weft.engine.state.engine_state import EngineState
from weft.engine.state.slice_state import StepFiring, SubplanState


class _Launch(TypedDict, total=False):
    """The fields of an async step that say when it was launched, and with which others."""

    concurrent_group: str
    launched_at: float


class _Times(_Launch, total=False):
    """The same with the time of its end."""

    completed_at: float


class StepEventWriter:
    def __init__(self, state: EngineState) -> None:
        self._state = state

    def _emit(self, event: AnyEvent) -> None:
        self._state.emit(event)

    def started(self, firing: StepFiring) -> None:
        if self._state.quiet:
            return
        order = firing.order
        launch = order if isinstance(order, Launch) else None
        task = launch.task if launch is not None else None
        reserved, reserved_tokens = firing.reserved if task is not None else (0, 0)
        command = None
        if launch is not None and task is None:
            command = " && ".join(shown(command) for command in launch.commands)
        event = StepStartedEvent(
            subplan=firing.subplan.path,
            step=part_name(firing.move),
            attempt=firing.attempt,
            firing=firing.serial,
            execution=firing.execution,
            transition=firing.move.name,
            action=firing.move.act.kind,
            agent=None if task is None else task.agent.name,
            model=None if task is None else task.model,
            session=None if task is None else task.session,
            fork=task is not None and task.session is not None and task.fork,
            interruption="" if task is None else task.interruption,
            reserved=reserved,
            reserved_tokens=reserved_tokens,
            command=command,
            inputs="" if launch is None else launch.inputs,
            pools=dict(firing.leases) or None,
            host="" if launch is None else launch.host,
            **self._launch(firing.subplan, firing.step),
        )
        self._emit(event)

    def placed(self, subplan: SubplanState, token: str) -> None:
        if not self._state.quiet:
            self._emit(PlacedEvent(subplan=subplan.path, host=subplan.host or "", token=token))

    def finished(
        self,
        firing: StepFiring,
        fact: Ended,
        how: StepOutcome,
        bill: Bill | None,
        judgement: ResultJudgement | None = None,
        *,
        is_reported: bool = True,
    ) -> None:
        """Writes the end of an execution: the fact as reported, and its interpretation.

        `is_reported`: false if the end follows from another fact, which is the one to record.
        """
        if self._state.quiet:
            return
        rejected_by = "" if judgement is None else judgement.rejected_by
        event = StepFinishedEvent(
            subplan=firing.subplan.path,
            step=part_name(firing.move),
            attempt=firing.attempt,
            outcome=StepEnd.REJECTED if rejected_by else StepEnd(how),
            firing=firing.serial,
            execution=firing.execution,
            exit_code=fact.exit_code,
            signal=fact.signal,
            message=judgement.reason if judgement is not None and rejected_by else fact.message,
            files=fact.files,
            conflict=fact.conflict,
            kept=fact.kept,
            waits_for=fact.waits_for,
            asks=fact.asks,
            red=fact.red,
            culprits=fact.culprits,
            moves=fact.moves,
            session=fact.session,
            until=fact.until,
            seconds=round(fact.seconds, 3),
            changed=unchanged_files.changed(firing),
            rejected_by=rejected_by,
            tail=output_tail(fact.result, fact.errors)
            if how is not StepOutcome.DONE or rejected_by
            else None,
            cost=None if bill is None else bill.money.reported,
            tokens=None if bill is None else bill.tokens.reported,
            cost_at_least=bill is not None and bool(bill.money.amount) and not bill.money.is_known,
            tokens_at_least=bill is not None and bool(bill.tokens.amount) and not bill.tokens.is_known,
            fact=fact if is_reported else None,
            **self._times(firing.subplan, firing.step),
        )
        self._emit(event)
        for change in fact.outside:
            self._outside_changed(firing, change)
        if firing.launch is not None and bill is not None and not bill.money.is_known:
            self._unreported(firing, bill)

    def _unreported(self, firing: StepFiring, bill: Bill) -> None:
        """Writes that an agent did not report its cost, with the amounts that stay reserved."""
        event = CostUnknownEvent(
            subplan=firing.subplan.path,
            step=part_name(firing.move),
            attempt=firing.attempt,
            firing=firing.serial,
            execution=firing.execution,
            reserved=bill.money.kept,
            reserved_tokens=bill.tokens.kept,
        )
        self._emit(event)

    def ended_before(
        self, firing: StepFiring, fact: Ended, run: str, judgement: ResultJudgement | None
    ) -> None:
        """Writes the end of a step that an earlier run completed. Its cost counts there."""
        if self._state.quiet:
            return
        is_rejected = judgement is not None and bool(judgement.rejected_by)
        event = StepFinishedEvent(
            subplan=firing.subplan.path,
            step=firing.step,
            attempt=firing.attempt,
            outcome=StepEnd.REJECTED if is_rejected else StepEnd(fact.how),
            earlier_run=run,
            message=fact.message,
            **self._times(firing.subplan, firing.step),
        )
        self._emit(event)

    def answered_before(self, firing: StepFiring, fact: Answered, run: str) -> None:
        """Writes an answer that a person gave in an earlier run."""
        event = AnsweredEvent(
            subplan=firing.subplan.path,
            step=firing.step,
            attempt=firing.attempt,
            outcome="yes" if fact.accepted else "no",
            text=fact.text,
            earlier_run=run,
        )
        self._emit(event)

    def _outside_changed(self, firing: StepFiring, change: OutsideChange) -> None:
        event = OutsideChangedEvent(
            subplan=firing.subplan.path,
            step=part_name(firing.move),
            attempt=firing.attempt,
            place=change.place,
            directory=change.directory,
            files=change.files,
            during=change.during,
            more=change.more,
        )
        self._emit(event)

    def concluded(self, subplan: SubplanState, step: str, outcome: StepEnd, message: str = "") -> None:
        """Writes the end of a step without a process, such as a join or a step that could not start."""
        if self._state.quiet:
            return
        event = StepFinishedEvent(
            subplan=subplan.path,
            step=step,
            attempt=subplan.attempts.get(step, 1),
            outcome=outcome,
            message=message,
            **self._times(subplan, step),
        )
        self._emit(event)

    def skipped(self, subplan: SubplanState, step: str, outcome: SkipReason, message: str = "") -> None:
        if not self._state.quiet:
            self._emit(StepSkippedEvent(subplan=subplan.path, step=step, outcome=outcome, message=message))

    def cancelled(self, firing: StepFiring, cause: str) -> None:
        if self._state.quiet:
            return
        event = StepCancelledEvent(
            subplan=firing.subplan.path,
            step=part_name(firing.move),
            attempt=firing.attempt,
            firing=firing.serial,
            execution=firing.execution,
            cause=cause,
        )
        self._emit(event)

    def asked(self, firing: StepFiring) -> None:
        event = AskEvent(
            subplan=firing.subplan.path,
            step=firing.step,
            attempt=firing.attempt,
            firing=firing.serial,
            question=firing.question,
            transition=firing.move.name,
        )
        self._emit(event)

    def answered(self, firing: StepFiring, fact: Answered) -> None:
        event = AnsweredEvent(
            subplan=fact.subplan,
            step=firing.step,
            attempt=firing.attempt,
            outcome="yes" if fact.accepted else "no",
            text=fact.text,
            fact=fact,
        )
        self._emit(event)

    def _launch(self, subplan: SubplanState, step: str) -> _Launch:
        """Returns when an async step was launched; nothing for other steps."""
        if step not in subplan.launched:
            return {}
        group, at = subplan.launched[step]
        return {"concurrent_group": group, "launched_at": at}

    def _times(self, subplan: SubplanState, step: str) -> _Times:
        """Returns when an async step ran, if it ends now; nothing for other steps."""
        launch = self._launch(subplan, step)
        return {**launch, "completed_at": self._state.at} if launch else {}
