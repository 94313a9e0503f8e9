"""pi: `pi --mode json -p`, a stream of JSON with `agent_end` after each try; its exit code is 0 also after errors.

The stream repeats itself: each update has the whole message so far, and `agent_end` the whole conversation, so
that the end of a long one would be lost with all that is in the middle of it. A filter takes out what is said
twice, and adds the exit code of pi, which a pipe has no place for.
"""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from weft.agents.failures import Failure, Program
from weft.agents.streams import cost, count, events, has_gap, inside, objects, session, words
from weft.agents.totals import together
from weft.agents.verdicts import Story, model_of, settings, verdict
from weft.plan.prices import Usage
from weft.ports.agent import AgentCall, AgentEnded, Invocation, Progress, Verdict

PROGRAM = Program(
    use="pi",
    name="pi",
    end="`agent_end`",
    sign_in="set the key of the model's provider, such as ANTHROPIC_API_KEY, or log in once: pi, then /login",
)
PROGRESS_IN = "stdout"
_TWICE = ("message_update", "message_start", "tool_execution_update", "tool_execution_end", "turn_end")
_LEFT_OUT = " ".join(
    (
        *(f"""-e '^{{"type":"{name}"'""" for name in _TWICE),
        """-e '^{"type":"message_end","message":{"role":"toolResult"'""",
    )
)
# Line by line, as what it has spent is to be seen at once. That is slow in sed, to which only little comes.
_SCRIPT = (
    """{ "$@"; printf '\\n{"type":"weft_exit","code":%d}\\n' "$?"; } | LC_ALL=C grep -a --line-buffered -v """
    + _LEFT_OUT
    + """ | LC_ALL=C sed -u -e 's/^{"type":"agent_end",.*}$/{"type":"agent_end"}/'"""
)
_READING = ("--tools", "read,grep,find,ls")


def invoke(call: AgentCall) -> Invocation:
    argv = ("pi", "--mode", "json", "-p", *model_of(call), *_conversation(call), *call.agent.args)
    return Invocation(
        argv=("/bin/sh", "-c", _SCRIPT, "sh", *argv, *(_READING if call.read_only else ())),
        stdin=call.prompt,
        env=settings(call, {"PI_OFFLINE": "1"}),
    )


def _conversation(call: AgentCall) -> tuple[str, ...]:
    if call.session is None:
        return ()
    return ("--fork" if call.fork else "--session", call.session)


def judge(call: AgentCall, ended: AgentEnded) -> Verdict:
    name, is_over, code = None, False, None
    last: Mapping[str, Any] = {}
    for event in events(ended.stdout):
        match event.get("type"):
            case "session":
                name = session(event.get("id"))
            case "message_end" if inside(event, "message", "role") == "assistant":
                last = inside(event, "message")
            case "agent_start":
                is_over = False
            case "agent_end":
                is_over = True
            case "weft_exit":
                code = count(event.get("code"))
            case _:
                pass
    spent = None if has_gap(ended.stdout) else progress(call, ended.stdout)
    story = Story(
        is_over=is_over and bool(last) and code is not None,
        failure=_failure(last, is_over=is_over),
        result="".join(
            words(part.get("text")) for part in objects(last.get("content")) if part.get("type") == "text"
        ),
        cost=None if spent is None else spent.cost,
        usage=None if spent is None else spent.usage,
        session=name if last else None,  # it keeps no conversation in which nobody has answered
    )
    return verdict(PROGRAM, ended if code is None else replace(ended, exit_code=code), story, call)


def _failure(last: Mapping[str, Any], *, is_over: bool) -> Failure | None:
    reason = last.get("stopReason")
    if not last or reason == "stop" or (reason == "toolUse" and not is_over):  # it was cut off at work
        return None
    return Failure(
        text=words(last.get("errorMessage")) or f"its last message ended with the reason `{words(reason)}`"
    )


def progress(_call: AgentCall, text: str) -> Progress | None:
    """What the messages have used that are there; each tells its own."""
    told = [
        inside(event, "message", "usage")
        for event in events(text)
        if event.get("type") == "message_end" and inside(event, "message", "role") == "assistant"
    ]
    usage = together(map(_usage, told))
    costs = [amount for amount in (cost(inside(one, "cost", "total")) for one in told) if amount is not None]
    if usage is None or not usage.total:
        return None
    # Of a model without a price it says 0.
    return Progress(cost=sum(costs) or None, tokens=usage.total, usage=usage)


def _usage(told: object) -> Usage | None:
    given, made = count(inside(told, "input")), count(inside(told, "output"))
    if given is None or made is None:
        return None
    return Usage(
        input=given + (count(inside(told, "cacheWrite")) or 0),
        output=made,
        cached_input=count(inside(told, "cacheRead")) or 0,
    )
