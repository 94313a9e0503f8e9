"""pi: `pi --mode json -p`, a stream of JSON events with `agent_end` after each try; exit code 0 even after errors.

The stream repeats itself: each update contains the whole message so far, and `agent_end` the whole conversation.
Weft keeps only the beginning and the end of a long output, so the repetitions would displace the events that
count. A shell filter removes them, and appends pi's exit code as an event, because a pipe does not pass it on.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from weft.agents.shared.event_activities import describe_events, report, say, think
from weft.agents.shared.failures import ReportedFailure
from weft.agents.shared.streams import (
    as_text,
    has_gap,
    list_objects,
    parse_events,
    read_cost,
    read_count,
    read_session,
    value_at,
)
from weft.agents.shared.token_totals import sum_usage
from weft.agents.shared.tool_activities import describe_tool
from weft.agents.verdicts import AgentOutput, build_environment, build_verdict, model_option
from weft.plan.agent_program import ANY_KEY, Access, AgentProgram, Login
from weft.plan.prices import Usage
from weft.ports.activity import Activity
from weft.ports.agent import (
    AgentAdapter,
    AgentCall,
    AgentEnded,
    Invocation,
    Progress,
    ProgressSource,
    Verdict,
)

AGENT = AgentProgram(
    name="pi",
    doc="pi",
    title="pi",
    program="pi",
    install="npm install -g @earendil-works/pi-coding-agent",
    home={"PI_CODING_AGENT_DIR": ".pi/agent"},
    forks=True,
    reads_only=True,
    end="`agent_end`",
    sign_in="set the key of the model's provider, such as ANTHROPIC_API_KEY, or log in once: pi, then /login",
    access=Access(
        variables=(ANY_KEY,),
        logins=(Login("auth.json", ".pi/agent", "PI_CODING_AGENT_DIR"),),
        reports=("cost", "tokens"),
    ),
)
_REPEATED = ("message_update", "message_start", "tool_execution_update", "tool_execution_end", "turn_end")
_FILTER_PATTERNS = " ".join(
    (
        *(f"""-e '^{{"type":"{name}"'""" for name in _REPEATED),
        """-e '^{"type":"message_end","message":{"role":"toolResult"'""",
    )
)
# Both filters write line by line, so that spending is visible while pi works. Unbuffered sed is slow; grep,
# which runs first, leaves little for it.
_SCRIPT = (
    """{ "$@"; printf '\\n{"type":"weft_exit","code":%d}\\n' "$?"; } | LC_ALL=C grep -a --line-buffered -v """
    + _FILTER_PATTERNS
    + """ | LC_ALL=C sed -u -e 's/^{"type":"agent_end",.*}$/{"type":"agent_end"}/'"""
)
_READ_ONLY_TOOLS = ("--tools", "read,grep,find,ls")


def invoke(call: AgentCall) -> Invocation:
    argv = ("pi", "--mode", "json", "-p", *model_option(call), *_conversation(call), *call.agent.args)
    return Invocation(
        argv=("/bin/sh", "-c", _SCRIPT, "sh", *argv, *(_READ_ONLY_TOOLS if call.read_only else ())),
        stdin=call.prompt,
        env=build_environment(call, {"PI_OFFLINE": "1"}),
    )


def _conversation(call: AgentCall) -> tuple[str, ...]:
    if call.session is None:
        return ()
    return ("--fork" if call.fork else "--session", call.session)


def judge(call: AgentCall, ended: AgentEnded) -> Verdict:
    session_id, is_over, code = None, False, None
    last_message: Mapping[str, Any] = {}
    for event in parse_events(ended.stdout):
        match event.get("type"):
            case "session":
                session_id = read_session(event.get("id"))
            case "message_end" if value_at(event, "message", "role") == "assistant":
                last_message = value_at(event, "message")
            case "agent_start":
                is_over = False
            case "agent_end":
                is_over = True
            case "weft_exit":
                code = read_count(event.get("code"))
            case _:
                pass
    spent = None if has_gap(ended.stdout) else progress(call, ended.stdout)
    output = AgentOutput(
        # Without the event of the filter, pi or the filter was killed, and the last `agent_end` may be that of an
        # earlier try.
        is_over=is_over and bool(last_message) and code is not None,
        failure=_find_failure(last_message, is_over=is_over),
        result="".join(
            as_text(part.get("text"))
            for part in list_objects(last_message.get("content"))
            if part.get("type") == "text"
        ),
        cost=None if spent is None else spent.cost,
        usage=None if spent is None else spent.usage,
        session=session_id if last_message else None,  # pi does not store a conversation without an answer
    )
    return build_verdict(AGENT, ended if code is None else replace(ended, exit_code=code), output, call)


def _find_failure(last_message: Mapping[str, Any], *, is_over: bool) -> ReportedFailure | None:
    reason = last_message.get("stopReason")
    if (
        not last_message or reason == "stop" or (reason == "toolUse" and not is_over)
    ):  # pi was cut off while a tool ran
        return None
    return ReportedFailure(
        text=as_text(last_message.get("errorMessage"))
        or f"its last message ended with the reason `{as_text(reason)}`"
    )


def progress(_call: AgentCall, text: str) -> Progress | None:
    """Adds up the messages so far; each reports its own usage."""
    usages = [
        value_at(event, "message", "usage")
        for event in parse_events(text)
        if event.get("type") == "message_end" and value_at(event, "message", "role") == "assistant"
    ]
    usage = sum_usage(map(_usage, usages))
    costs = [
        amount
        for amount in (read_cost(value_at(usage_event, "cost", "total")) for usage_event in usages)
        if amount is not None
    ]
    if usage is None or not usage.total:
        return None
    # pi reports 0 for a model without a known price.
    return Progress(cost=sum(costs) or None, tokens=usage.total, usage=usage)


def _usage(usage: object) -> Usage | None:
    input_tokens, output_tokens = read_count(value_at(usage, "input")), read_count(value_at(usage, "output"))
    if input_tokens is None or output_tokens is None:
        return None
    return Usage(
        input=input_tokens + (read_count(value_at(usage, "cacheWrite")) or 0),
        output=output_tokens,
        cached_input=read_count(value_at(usage, "cacheRead")) or 0,
    )


# --- activities ---


def _describe(event: Mapping[str, Any]) -> Iterator[Activity]:
    match event.get("type"):
        case "message_end" if value_at(event, "message", "role") == "assistant":
            for block in list_objects(value_at(event, "message", "content")):
                if block.get("type") == "text":
                    yield from say(block.get("text"))
                elif block.get("type") == "thinking":
                    yield from think(block.get("thinking"))
            yield from report(value_at(event, "message", "errorMessage"))
        case "tool_execution_start":
            # Without an id: the filter drops the results of tools, so nothing would close the call.
            yield describe_tool(as_text(event.get("toolName")), event.get("args"), is_open=False)
        case _:
            pass


ADAPTER = AgentAdapter(
    program=AGENT,
    invoke=invoke,
    judge=judge,
    progress=progress,
    progress_in=ProgressSource.STDOUT,
    describe=describe_events(_describe),
)
