"""OpenCode: `opencode run --format json`. No event tells the end: the last step ends with `reason: stop`."""

from collections.abc import Mapping
from typing import Any

from weft.agents.failures import Failure, Program
from weft.agents.streams import cost, count, events, has_gap, inside, session, words
from weft.agents.totals import together
from weft.agents.verdicts import Story, model_of, settings, verdict
from weft.plan.prices import Usage
from weft.ports.agent import AgentCall, AgentEnded, Invocation, Progress, Verdict

PROGRAM = Program(
    use="opencode",
    name="OpenCode",
    end="a last step (`step_finish` with the reason `stop`)",
    sign_in="set the key of the model's provider, such as ANTHROPIC_API_KEY, or log in once: opencode auth login",
)
PROGRESS_IN = "stdout"
_READING = {"OPENCODE_PERMISSION": '{"edit":"deny","bash":"deny"}'}
"""Its agent `plan` is no help: that one may still write by a shell."""
_UNEXPLAINED = "Unexpected server error"

_ITS_DATABASE = "Failed query:"


def invoke(call: AgentCall) -> Invocation:
    argv = ("opencode", "run", "--format", "json", "--auto", *model_of(call))
    return Invocation(
        argv=(*argv, *_conversation(call), *call.agent.args),
        stdin=call.prompt,
        env=settings(call, {}) | (_READING if call.read_only else {}),
    )


def _conversation(call: AgentCall) -> tuple[str, ...]:
    if call.session is None:
        return ()
    return ("--session", call.session, *(("--fork",) if call.fork else ()))


def judge(call: AgentCall, ended: AgentEnded) -> Verdict:
    name, pieces, reason = None, list[str](), ""
    failure: Failure | None = None
    for event in events(ended.stdout):
        name = session(event.get("sessionID")) or name
        match event.get("type"):
            case "step_start":
                pieces.clear()
                reason = ""
            case "text":
                pieces.append(words(inside(event, "part", "text")))
            case "step_finish":
                reason = words(inside(event, "part", "reason"))
            case "error":
                failure = _failure(event, ended.at)
            case _:
                pass
    failure = failure or _silent(reason, ended.stderr)
    spent = None if has_gap(ended.stdout) else progress(call, ended.stdout)
    story = Story(
        is_over=reason == "stop",
        failure=failure,
        result="\n".join(pieces),
        cost=None if spent is None else spent.cost,
        usage=None if spent is None else spent.usage,
        session=name,
    )
    return verdict(PROGRAM, ended, story, call)


def _silent(reason: str, errors: str) -> Failure | None:
    """What went wrong without an event that says so."""
    if not reason and _ITS_DATABASE in errors:
        return Failure(text=f"{_ITS_DATABASE} {errors.rpartition(_ITS_DATABASE)[2].strip()}")
    if reason in {"", "stop", "tool-calls"}:
        return None
    return Failure(text=f"its last step ended with the reason `{reason}`")


def _failure(event: Mapping[str, Any], at: float) -> Failure:
    data = inside(event, "error", "data")
    text = words(inside(data, "message")) or words(inside(event, "error", "name")) or "it did not say why"
    if text.startswith(_UNEXPLAINED):
        text += f" (that is all it says, also if there is no key: {PROGRAM.sign_in})"
    wait = words(inside(data, "responseHeaders", "retry-after"))
    until = at + int(wait) if wait.isascii() and wait.isdecimal() and len(wait) < len("1000000000") else None
    return Failure(text=text, status=count(inside(data, "statusCode")), until=until)


def progress(_call: AgentCall, text: str) -> Progress | None:
    """What the steps have used that are there; each tells its own."""
    steps = [inside(event, "part") for event in events(text) if event.get("type") == "step_finish"]
    usage = together(_usage(inside(step, "tokens")) for step in steps)
    costs = [amount for amount in (cost(inside(step, "cost")) for step in steps) if amount is not None]
    if usage is None:
        return None
    # Of a model without a price it says 0.
    return Progress(cost=sum(costs) or None, tokens=usage.total, usage=usage)


def _usage(told: object) -> Usage | None:
    given, made = count(inside(told, "input")), count(inside(told, "output"))
    if given is None or made is None:
        return None
    return Usage(
        input=given + (count(inside(told, "cache", "write")) or 0),
        output=made + (count(inside(told, "reasoning")) or 0),
        cached_input=count(inside(told, "cache", "read")) or 0,
    )
