"""The translation of reported ends into outputs, failures and feedback."""

import shlex

from msgspec import UNSET
from msgspec.structs import replace

from weft.engine.messages.facts import Ended, StepOutcome
from weft.engine.messages.failures import Failure
from weft.engine.messages.internal_steps import internal_step
from weft.engine.messages.orders import Launch
from weft.engine.state import feedback
from weft.engine.state.outputs import NotJsonError, StepError, StepOutput, json_in
from weft.engine.state.pipelines import PlacedStep
from weft.engine.state.script import ShapeTransition
from weft.engine.state.slice_state import StepFiring
from weft.engine.states import FailureReason
from weft.plan.model import Command, Step

_REASONS = {
    StepOutcome.TIMEOUT: FailureReason.TIMEOUT,
    StepOutcome.LOST: FailureReason.LOST,
    StepOutcome.INFRA: FailureReason.INFRA,
    StepOutcome.CONFLICT: FailureReason.CONFLICT,
}
_NOT_THE_WORK = frozenset({FailureReason.LOST, FailureReason.INFRA})

TAIL_LINES = 20
TAIL_CHARACTERS = 2_000


def part_name(move: ShapeTransition) -> str:
    """Returns the address of the step, or the @-name of an action of Weft itself."""
    return move.act.step or internal_step(move.act.kind).value


def shown(command: Command) -> str:
    """Returns a command as a person would type it."""
    return command if isinstance(command, str) else shlex.join(command)


def output_tail(*texts: str) -> str:
    return feedback.tail_of("\n".join(filter(None, texts)), TAIL_LINES, TAIL_CHARACTERS)


def output_of(fact: Ended) -> StepOutput:
    if fact.how is StepOutcome.DONE:
        return StepOutput(
            status="done",
            result=fact.result.removesuffix("\n"),  # as `$(…)` does, so that conditions can compare the text
            stdout=fact.result,
            stderr=fact.errors,
            exit_code=fact.exit_code,
        )
    error = StepError(kind=_REASONS.get(fact.how, FailureReason.ERROR), message=fact.message or str(fact.how))
    return StepOutput(
        status="failed",
        result=fact.result.removesuffix("\n"),
        stdout=fact.result,
        stderr=fact.errors,
        exit_code=fact.exit_code,
        error=error,
    )


def failed(output: StepOutput, failure: Failure) -> StepOutput:
    error = StepError(kind=failure.reason, message=failure.detail or failure.message)
    return replace(output, status="failed", error=error)


def failure_of(firing: StepFiring, fact: Ended) -> Failure:
    """Returns the failure that a reported end describes."""
    order, name = firing.order, part_name(firing.move)
    reason = _REASONS.get(fact.how, FailureReason.ERROR)
    placed = firing.subplan.steps.get(firing.step)
    if placed is not None and reason not in _NOT_THE_WORK:
        reason = exhausted(placed.step, firing.attempt) or reason
    agent = None if firing.task is None else firing.task.agent
    command = _command(order, fact.command) if agent is None else ""
    detail = fact.message or str(fact.how)
    actor = command or (f"agent {agent.name}" if agent is not None else "")
    return Failure(
        reason=reason,
        message=f"{name}: {detail}" + (f" ({actor})" if actor else ""),
        step=name,
        attempt=firing.attempt,
        command=command,
        agent="" if agent is None else agent.name,
        exit_code=fact.exit_code,
        signal=fact.signal,
        timeout=order.timeout if _exceeded_time(fact) and isinstance(order, Launch) else None,
        detail=detail,
        tail=output_tail(fact.result, fact.errors),
    )


def _exceeded_time(fact: Ended) -> bool:
    """Returns whether the step took too long as a whole. The message of a silent agent has its limit instead."""
    return fact.how is StepOutcome.TIMEOUT and not fact.idle


def _command(order: object, number: int) -> str:
    """Returns the last command that ran; empty without commands."""
    if not isinstance(order, Launch) or not order.commands:
        return ""
    return shown(order.commands[min(number, len(order.commands) - 1)])


def exhausted(step: Step, attempt: int) -> FailureReason | None:
    """Returns `EXHAUSTED` for a failure after all retries; None if the step was not retried."""
    again = step.max_retries or step.retries_crashes or step.on_fail is not None
    return FailureReason.EXHAUSTED if again and attempt > 1 else None


def step_failure(
    placed: PlacedStep, attempt: int, message: str, reason: FailureReason = FailureReason.ERROR
) -> Failure:
    """Returns the failure of a step without a failed process: a question, a join, a rejected result."""
    return Failure(
        reason=exhausted(placed.step, attempt) or reason,
        message=f"{placed.address}: {message}",
        step=placed.address,
        attempt=attempt,
        detail=message,
    )


def feedback_of(
    failure: Failure, placed: PlacedStep, output: StepOutput, *, rejected_by: str, idle: tuple[str, ...] = ()
) -> str:
    """Returns the feedback for the next attempt.

    `rejected_by` names the check that rejected the result of a successful step. `idle` holds the steps that should
    have changed files and did not.
    """
    process_says = failure.timeout is not None or (
        not failure.agent and (failure.exit_code or failure.signal is not None)
    )
    return feedback.feedback(
        feedback.FailureReport(
            step=failure.step,
            command=failure.command or None,
            agent=failure.agent or None,
            exit_code=failure.exit_code,
            signal=failure.signal,
            timeout=failure.timeout,
            message="" if process_says else failure.detail,
            stdout=output.stdout,
            stderr=output.stderr,
            is_rejected=bool(rejected_by),
            verdict=_verdict(placed.step, output) if rejected_by == "on_result" else UNSET,
            idle=idle,
        )
    )


def _verdict(step: Step, output: StepOutput) -> object:
    if output.json is not UNSET:
        return output.json
    try:
        return json_in(step, output.result)
    except NotJsonError:
        return UNSET
