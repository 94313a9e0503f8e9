"""Turn the parsed output of an agent's process into a verdict, by the same rules for all programs.

A call succeeded only if the program wrote its end event, reported no error and exited with code 0. A process
without an end event was cut off, whatever its exit code.
"""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from weft.agents.command import CANNOT_RUN, environment, signal_name
from weft.agents.shared.failures import Diagnosis, ReportedFailure, diagnose, is_session_gone
from weft.agents.shared.text import one_line, strip_control_codes
from weft.engine.messages.facts import StepOutcome
from weft.plan.agent_program import AgentProgram
from weft.plan.prices import Usage
from weft.ports.agent import AgentCall, AgentEnded, Verdict

_LAST_LINES = 5
_LONGEST = 100_000


class AgentOutput(Struct, frozen=True, kw_only=True):
    """The facts that an adapter found in the output of its program."""

    is_over: bool = False
    """The program wrote its end event, and the event reports success."""
    failure: ReportedFailure | None = None
    result: str = ""
    cost: int | None = None
    tokens: int | None = None
    """The total; used only if `usage` is not known."""
    usage: Usage | None = None
    session: str | None = None


def build_environment(call: AgentCall, defaults: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables that describe the call, and each of `defaults` that the plan does not set itself."""
    return {name: value for name, value in defaults.items() if name not in call.agent.env} | environment(call)


def model_option(call: AgentCall, option: str = "--model") -> tuple[str, ...]:
    """Returns the option that selects the model; nothing if the plan names no model."""
    model = call.model or call.agent.model
    return (option, model) if model else ()


def build_verdict(program: AgentProgram, ended: AgentEnded, output: AgentOutput, call: AgentCall) -> Verdict:
    """Combines the end of the process and its parsed output into a verdict."""
    diagnosis = _diagnose_end(program, ended, output, _describe_model_origin(call))
    return Verdict(
        how=diagnosis.how,
        result=output.result,
        message=diagnosis.message,
        lasting=diagnosis.lasting,
        cost=output.cost,
        tokens=output.tokens if output.usage is None else output.usage.total,
        usage=output.usage,
        session=None
        if is_session_gone(output.failure)
        else output.session,  # some programs print a name for a session they never created
        until=diagnosis.until,
    )


def _describe_model_origin(call: AgentCall) -> str:
    """Says which part of the plan chose the model, for messages about an unknown model."""
    if call.model and call.model != call.agent.model:
        return f"the model {call.model!r} is that of the step or its subplan"
    return (
        f"the model {call.agent.model!r} is that of the agent {call.agent.name!r}" if call.agent.model else ""
    )


def _diagnose_end(
    program: AgentProgram, ended: AgentEnded, output: AgentOutput, model_origin: str
) -> Diagnosis:
    code = ended.exit_code
    if output.failure is not None:
        return diagnose(output.failure, program, at=ended.at, model_origin=model_origin)
    # An agent may pass on the exit code of its last command, so 126 and 127 count only without an end event.
    if code in CANNOT_RUN and not output.is_over:
        message = f"{program.title} {CANNOT_RUN[code]} (exit code {code}): {one_line(_last_words(ended))}"
        message += f"; to install it, type: {program.install}"
        return Diagnosis(how=StepOutcome.INFRA, message=message)
    if output.is_over and code == 0:
        return Diagnosis(how=StepOutcome.DONE, message="")
    if output.is_over:
        end, last_words = _describe_end(ended), one_line(_last_words(ended))
        message = f"{program.title} reported success, but ended with {end}: {last_words}"
        return Diagnosis(how=StepOutcome.FAILED, message=message)
    return _diagnose_cut_off(program, ended, model_origin)


def _diagnose_cut_off(program: AgentProgram, ended: AgentEnded, model_origin: str) -> Diagnosis:
    missing = f"{program.title} ended ({_describe_end(ended)}) without {program.end}"
    last_words = _last_words(ended)
    # Only a nonzero exit code makes the last lines the reason of the end; otherwise they may be about the work.
    if ended.exit_code == 0 or ended.signal is not None or not last_words:
        message = f"{missing}: its work may be half done" + (
            f"; it said: {one_line(last_words)}" if last_words else ""
        )
        return Diagnosis(how=StepOutcome.FAILED, message=message)
    diagnosis = diagnose(ReportedFailure(text=last_words), program, at=ended.at, model_origin=model_origin)
    return replace(diagnosis, message=f"{diagnosis.message} ({missing})")


def _describe_end(ended: AgentEnded) -> str:
    if ended.signal is not None:
        return f"killed by {signal_name(ended.signal)}"
    return "no exit code" if ended.exit_code is None else f"exit code {ended.exit_code}"


def _last_words(ended: AgentEnded) -> str:
    """Returns the last lines of text on standard error, or else on standard output, without JSON events."""
    for text in (ended.stderr, ended.stdout):
        lines = [
            line
            for line in strip_control_codes(text[-_LONGEST:]).splitlines()
            if line.strip() and '{"' not in line
        ]
        if lines:
            return " ".join(line.strip() for line in lines[-_LAST_LINES:])
    return ""
