"""A verdict on an agent's process, of what its output told: the same rules for all programs.

Done is only what ended as the program ends when all is well: with its end event, without an error, with exit code
0. A process that says nothing at its end was cut off, whatever its exit code.
"""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from weft.agents.command import CANNOT_RUN, environment, signal_name
from weft.agents.failures import Failure, Meaning, Program, is_gone, meaning
from weft.agents.words import one_line, plain
from weft.engine.run.facts import How
from weft.plan.language.adapters import ADAPTERS
from weft.plan.prices import Usage
from weft.ports.agent import AgentCall, AgentEnded, Verdict

_LAST_LINES = 5
_LONGEST = 100_000


class Story(Struct, frozen=True, kw_only=True):
    """What an output told, in the same words for all programs."""

    is_over: bool = False
    """The end event was there, and says that all is well."""
    failure: Failure | None = None
    result: str = ""
    cost: int | None = None
    tokens: int | None = None
    """If `usage` is not known."""
    usage: Usage | None = None
    session: str | None = None


def settings(call: AgentCall, wanted: Mapping[str, str]) -> dict[str, str]:
    """The environment of a program: what it is told of the call, and `wanted` where the plan says nothing else."""
    return {name: value for name, value in wanted.items() if name not in call.agent.env} | environment(call)


def model_of(call: AgentCall, option: str = "--model") -> tuple[str, ...]:
    """The option that names the model, if there is one to be named."""
    model = call.model or call.agent.model
    return (option, model) if model else ()


def verdict(program: Program, ended: AgentEnded, story: Story, call: AgentCall) -> Verdict:
    found = _meaning(program, ended, story, _asked_for(call))
    return Verdict(
        how=found.how,
        result=story.result,
        message=found.message,
        lasting=found.lasting,
        cost=story.cost,
        tokens=story.tokens if story.usage is None else story.usage.total,
        usage=story.usage,
        session=None if is_gone(story.failure) else story.session,  # some name one that they never began
        until=found.until,
    )


def _asked_for(call: AgentCall) -> str:
    """The model, and where a person finds it in the plan."""
    if call.model and call.model != call.agent.model:
        return f"the model {call.model!r} is that of the step or its subplan"
    return (
        f"the model {call.agent.model!r} is that of the agent {call.agent.name!r}" if call.agent.model else ""
    )


def _meaning(program: Program, ended: AgentEnded, story: Story, asked_for: str) -> Meaning:
    code = ended.exit_code
    if story.failure is not None:
        return meaning(story.failure, program, at=ended.at, asked_for=asked_for)
    if code in CANNOT_RUN and not story.is_over:
        said = f"{program.name} {CANNOT_RUN[code]} (exit code {code}): {one_line(_spoken(ended))}"
        said += f"; to install it, type: {ADAPTERS[program.use].install}"
        return Meaning(how=How.INFRA, message=said)
    if story.is_over and code == 0:
        return Meaning(how=How.DONE, message="")
    if story.is_over:
        said = f"{program.name} said that it was done, and yet: {_end(ended)}: {one_line(_spoken(ended))}"
        return Meaning(how=How.FAILED, message=said)
    return _cut_off(program, ended, asked_for)


def _cut_off(program: Program, ended: AgentEnded, asked_for: str) -> Meaning:
    missing = f"{program.name} ended ({_end(ended)}) without {program.end}"
    spoken = _spoken(ended)
    if ended.exit_code == 0 or ended.signal is not None or not spoken:
        said = f"{missing}: its work may be half done" + (f"; it said: {one_line(spoken)}" if spoken else "")
        return Meaning(how=How.FAILED, message=said)
    found = meaning(Failure(text=spoken), program, at=ended.at, asked_for=asked_for)
    return replace(found, message=f"{found.message} ({missing})")


def _end(ended: AgentEnded) -> str:
    if ended.signal is not None:
        return f"killed by {signal_name(ended.signal)}"
    return "no exit code" if ended.exit_code is None else f"exit code {ended.exit_code}"


def _spoken(ended: AgentEnded) -> str:
    """The last words for people, of standard error or else of standard output."""
    for text in (ended.stderr, ended.stdout):
        lines = [line for line in plain(text[-_LONGEST:]).splitlines() if line.strip() and '{"' not in line]
        if lines:
            return " ".join(line.strip() for line in lines[-_LAST_LINES:])
    return ""
