"""The consequences of an end for its step, its pipeline and its slice.

The net decides whether a failed step is retried. If not, its pipeline fails, unless the step has `on_error:
continue`. A failed pipeline starts nothing more and stops its running steps. A failed async step fails the
steps that wait for it; a join that is certain to fail cancels its other branches at once.
"""

from msgspec.structs import replace

from weft.engine.messages.facts import Answered, Ended, StepOutcome
from weft.engine.messages.failures import Failure
from weft.engine.messages.internal_steps import InternalStep
from weft.engine.messages.orders import Prepare
from weft.engine.messages.step_events import StepEnd
from weft.engine.rules.cancellation import Cancellation
from weft.engine.rules.event_writer import EventWriter
from weft.engine.rules.moves import Moves
from weft.engine.rules.part_exclusion import PartExclusion
from weft.engine.rules.result_check import ResultJudge, ResultJudgement
from weft.engine.rules.step_result import (
    exhausted,
    failed,
    failure_of,
    feedback_of,
    output_of,
    step_failure,
)
from weft.engine.state import unchanged_files
from weft.engine.state.engine_state import EngineState
from weft.engine.state.outputs import StepOutput, join, nested_output
from weft.engine.state.pipelines import PlacedStep
from weft.engine.state.script import ShapeTransition
from weft.engine.state.slice_state import StepFiring, SubplanState
from weft.engine.states import FailureReason
from weft.plan.model import Ask

_FAILED = StepOutput(status="failed")


class Completion:
    """Turns ends and answers into outcomes of the net."""

    def __init__(
        self, state: EngineState, moves: Moves, cancellation: Cancellation, events: EventWriter
    ) -> None:
        self._state = state
        self._moves = moves
        self._cancellation = cancellation
        self._events = events
        self._exclusion = PartExclusion(state, events)
        self._judge = ResultJudge(state)

    # Reported ends

    def judgement(self, firing: StepFiring, how: StepOutcome, fact: Ended) -> ResultJudgement | None:
        """Returns the judgement of the result of a successful step; None if no rule checks it."""
        placed = firing.subplan.steps.get(firing.step) if how is StepOutcome.DONE else None
        if placed is None or not placed.is_judged:
            return None
        return self._judge.judge(firing.subplan, placed, output_of(fact), failure_of(firing, fact))

    def step_ended(
        self, firing: StepFiring, how: StepOutcome, fact: Ended, judgement: ResultJudgement | None
    ) -> None:
        """Handles the end of the last execution of a step."""
        subplan = firing.subplan
        placed = subplan.steps[firing.step]
        if how is StepOutcome.CANCELLED:
            self._cancellation.cancelled(firing)
        elif how in {StepOutcome.LOST, StepOutcome.INFRA}:
            self._not_executed(firing, placed, how, fact)
        else:
            self._moves.ends(firing)
            output = output_of(fact)
            subplan.crashes.pop(placed.address, None)
            if how is not StepOutcome.DONE and (crash := self._crash(firing, fact)):
                self._moves.leads(firing, crash)
                return
            if how is StepOutcome.DONE and not placed.is_judged:
                subplan.outputs[placed.address] = output
                self._moves.leads(firing, "done")
                return
            if judgement is None:
                judgement = self._judge.judge(subplan, placed, output, failure_of(firing, fact))
            self._moves.leads(firing, self._concluded(subplan, firing.move, judgement))

    def _crash(self, firing: StepFiring, fact: Ended) -> str:
        """Returns the outcome for an agent that failed or timed out; empty if the result has to be judged.

        `crashed` leads to a retry; `failed` is for failures that a retry cannot fix.
        """
        subplan, move = firing.subplan, firing.move
        placed, failure = subplan.steps[firing.step], failure_of(firing, fact)
        if fact.lasting and placed.step.on_error != "continue":
            failure = replace(failure, reason=FailureReason.ERROR)
            subplan.outputs[placed.address] = failed(output_of(fact), failure)
            self._cancellation.step_failed(subplan, placed, subplan.frames[move.act.frame], failure)
            return "failed"
        if "crashed" not in move.ways:
            return ""
        idle = unchanged_files.take_unchanged(subplan)
        subplan.crashes[placed.address] = feedback_of(
            failure, placed, output_of(fact), rejected_by="", idle=idle
        )
        return "crashed"

    def _not_executed(self, firing: StepFiring, placed: PlacedStep, how: StepOutcome, fact: Ended) -> None:
        """Handles an execution that was lost or could not be started. It gives no feedback to agents."""
        subplan, move = firing.subplan, firing.move
        self._moves.ends(firing)
        if how in move.final:
            failure = failure_of(firing, fact if fact.how is how else replace(fact, how=how))
            subplan.outputs[placed.address] = failed(_FAILED, failure)
            self._cancellation.step_failed(subplan, placed, subplan.frames[move.act.frame], failure)
        self._moves.leads(firing, how)

    def could_not_begin(self, firing: StepFiring, message: str) -> None:
        """Fails a step whose templates could not be rendered."""
        subplan, move = firing.subplan, firing.move
        self._moves.ends(firing)
        failure = step_failure(subplan.steps[move.act.step], firing.attempt, message)
        placed = subplan.steps[move.act.step]
        judgement = self._judge.judge(subplan, placed, failed(_FAILED, failure), failure)
        outcome = self._concluded(subplan, move, judgement)
        self._events.concluded(subplan, move.act.step, StepEnd.FAILED, message)
        self._moves.leads(firing, outcome)

    def part_ended(self, firing: StepFiring, how: StepOutcome, fact: Ended) -> None:
        """Handles the end of a workspace, a merge, a landing or the verify of a group."""
        subplan, move = firing.subplan, firing.move
        how = StepOutcome.DONE if self._exclusion.leaves_out(subplan, how, fact) else how
        outcome = str(how) if how in move.ways else "failed"
        if subplan.continuation is not None and isinstance(firing.order, Prepare) and how is StepOutcome.DONE:
            self._check_continuation(subplan, fact)
        self._moves.ends(firing)
        if subplan.landing is not None and outcome == "done":
            self._state.reach_target((subplan.row,))
        if outcome in move.final and outcome not in {"done", "held", "cancelled"} and subplan.landing is None:
            failure = failure_of(firing, fact if fact.how is how else replace(fact, how=how))
            self._cancellation.cancel_frame(subplan, subplan.frame, failure)
        self._moves.leads(firing, outcome)

    def _check_continuation(self, subplan: SubplanState, fact: Ended) -> None:
        """Keeps the continuation only if the workspace has the work of the earlier run."""
        assert subplan.continuation is not None
        earlier = subplan.continuation.slice
        # A completed slice was merged, so that a new workspace has its work as well.
        if not fact.kept and not earlier.completed:
            subplan.continuation = None
        elif earlier.resolved:
            subplan.attempts.setdefault(InternalStep.RESOLVE, 0)

    # Outcomes

    def _concluded(self, subplan: SubplanState, move: ShapeTransition, judgement: ResultJudgement) -> str:
        """Returns the outcome that follows from a judgement, and stores its consequences."""
        placed, failure = subplan.steps[move.act.step], judgement.failure
        if judgement.action == "ask":
            subplan.asked[placed.address] = judgement.question
            return "asked"
        if judgement.action == "abort":
            subplan.outputs[placed.address] = failed(judgement.output, failure)
            self._cancellation.cancel_frame(subplan, subplan.frame, failure)
            return "aborted"
        if judgement.output.status == "done" and judgement.action != "fail":
            return "done"
        self._failed(subplan, move, failure, rejected_by=judgement.rejected_by)
        return "failed"

    def _failed(
        self, subplan: SubplanState, move: ShapeTransition, failure: Failure, *, rejected_by: str = ""
    ) -> None:
        placed = subplan.steps[move.act.step]
        output = subplan.outputs[placed.address]
        if "failed" not in move.final:
            idle = unchanged_files.take_unchanged(subplan)
            subplan.feedback = feedback_of(failure, placed, output, rejected_by=rejected_by, idle=idle)
            del subplan.outputs[placed.address]
        elif placed.step.on_error == "continue":
            subplan.outputs[placed.address] = replace(failed(output, failure), tolerated=True)
        else:
            subplan.outputs[placed.address] = failed(output, failure)
            self._cancellation.step_failed(subplan, placed, subplan.frames[move.act.frame], failure)

    def not_run(self, subplan: SubplanState, stop: ShapeTransition, failure: Failure) -> None:
        """Fails a step that cannot be run."""
        placed = subplan.steps[stop.act.step]
        output = failed(_FAILED, failure)
        if placed.step.on_error == "continue":
            subplan.outputs[placed.address] = replace(output, tolerated=True)
        else:
            subplan.outputs[placed.address] = output
            self._cancellation.step_failed(subplan, placed, subplan.frames[stop.act.frame], failure)
        self._moves.passes(subplan, stop)

    # People

    def answered(self, firing: StepFiring, fact: Answered) -> None:
        """Handles the answer to a question step, or to a question about the result of a step."""
        subplan, move = firing.subplan, firing.move
        placed = subplan.steps[move.act.step]
        self._moves.ends(firing)
        message = f"a person said no: {fact.text}" if fact.text else "a person said no"
        failure = step_failure(placed, firing.attempt, message)
        outcome = "done" if fact.accepted else "failed"
        if isinstance(placed.step.body, Ask):
            # Answers in journals of older versions have no result of their own.
            output = StepOutput(status="done", result=fact.result or fact.text)
            output = output if fact.accepted else failed(output, failure)
            judgement = self._judge.judge(subplan, placed, output, failure)
            outcome = self._concluded(subplan, move, judgement)
            if judgement.rejected_by:
                self._events.concluded(subplan, placed.address, StepEnd.REJECTED, judgement.reason)
        elif fact.accepted:
            subplan.outputs[placed.address] = replace(
                subplan.outputs[placed.address], status="done", error=None
            )
        else:
            self._failed(subplan, move, failure)
        self._moves.leads(firing, outcome)

    # Joins and nested pipelines

    def joins(self, subplan: SubplanState, move: ShapeTransition) -> None:
        placed = subplan.steps[move.act.step]
        members = {name: subplan.outputs[f"{placed.prefix}{name}"] for name in placed.step.depends_on}
        output = join(placed.step, members, placed.schemas)
        attempt = subplan.attempts[placed.address]
        failure = step_failure(placed, attempt, "" if output.error is None else output.error.message)
        first = None if placed.waits_for_all else self._first_failed(subplan, placed)
        if first is not None:
            name = first.step.removeprefix(placed.prefix)
            message = f"step '{name}', which it depends on, failed: {first.detail or first.message}"
            failure = replace(step_failure(placed, attempt, message, first.reason), tail=first.tail)
            output = failed(output, failure)
        judgement = self._judge.judge(subplan, placed, output, failure)
        outcome = self._concluded(subplan, move, judgement)
        self._emit_conclusion(subplan, placed, outcome, judgement)
        self._moves.passes(subplan, move, outcome)

    def _first_failed(self, subplan: SubplanState, placed: PlacedStep) -> Failure | None:
        """Returns the earliest failure among the dependencies of a join."""
        names = {f"{placed.prefix}{name}" for name in placed.step.depends_on}
        return next((failure for address, failure in subplan.failures.items() if address in names), None)

    def settles_nested(self, subplan: SubplanState, move: ShapeTransition) -> None:
        placed = subplan.steps[move.act.step]
        frame = subplan.frames[move.act.inner]
        last = subplan.outputs.get(f"{placed.address}.{placed.inner[-1].id}", StepOutput(status="skipped"))
        if subplan.frames[move.act.frame].failure is not None or placed.address in subplan.cancelled:
            self._cancellation.stops(subplan, move)
            return
        attempt = subplan.attempts[placed.address]
        if frame.own_failure is None:
            output, failure = replace(last, status="done", error=None), step_failure(placed, attempt, "")
        else:
            reason = exhausted(placed.step, attempt) or frame.own_failure.reason
            failure = replace(frame.own_failure, reason=reason)
            output = failed(nested_output(placed.inner, subplan.outputs, within=placed.address), failure)
        judgement = self._judge.judge(subplan, placed, output, failure)
        outcome = self._concluded(subplan, move, judgement)
        self._emit_conclusion(subplan, placed, outcome, judgement)
        self._moves.passes(subplan, move, outcome)

    def _emit_conclusion(
        self, subplan: SubplanState, placed: PlacedStep, outcome: str, judgement: ResultJudgement
    ) -> None:
        """Of a step that is no process: a join, or a nested pipeline."""
        if judgement.rejected_by:
            self._events.concluded(subplan, placed.address, StepEnd.REJECTED, judgement.reason)
            return
        output = subplan.outputs.get(placed.address)
        message = "" if output is None or output.error is None else output.error.message
        self._events.concluded(subplan, placed.address, StepEnd(outcome), message)
