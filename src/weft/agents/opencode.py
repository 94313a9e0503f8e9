"""OpenCode: `opencode run --format json`. It has no end event: the last step ends with `reason: stop`."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from weft.agents.shared.call_results import summarize
from weft.agents.shared.event_activities import describe_events, report, say, think
from weft.agents.shared.failures import ReportedFailure
from weft.agents.shared.streams import (
    as_text,
    has_gap,
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
    name="opencode",
    doc="OpenCode",
    title="OpenCode",
    program="opencode",
    install="npm install -g opencode-ai",
    home={"OPENCODE_CONFIG_DIR": ".config/opencode", "OPENCODE_CONFIG": ".config/opencode/opencode.json"},
    forks=True,
    reads_only=True,
    end="a last step (`step_finish` with the reason `stop`)",
    sign_in="set the key of the model's provider, such as ANTHROPIC_API_KEY, or log in once: opencode auth login",
    access=Access(
        variables=(ANY_KEY,),
        logins=(Login("opencode/auth.json", ".local/share", "XDG_DATA_HOME"),),
        reports=("cost", "tokens"),
    ),
)
_READ_ONLY = {"OPENCODE_PERMISSION": '{"edit":"deny","bash":"deny"}'}
"""OpenCode's agent `plan` is not enough: it may still write through a shell."""
_UNEXPLAINED = "Unexpected server error"

_DATABASE_ERROR = "Failed query:"


def invoke(call: AgentCall) -> Invocation:
    argv = ("opencode", "run", "--format", "json", "--auto", *model_option(call))
    return Invocation(
        argv=(*argv, *_conversation(call), *call.agent.args),
        stdin=call.prompt,
        env=build_environment(call, {}) | (_READ_ONLY if call.read_only else {}),
    )


def _conversation(call: AgentCall) -> tuple[str, ...]:
    if call.session is None:
        return ()
    return ("--session", call.session, *(("--fork",) if call.fork else ()))


def judge(call: AgentCall, ended: AgentEnded) -> Verdict:
    session_id, pieces, reason = None, list[str](), ""
    failure: ReportedFailure | None = None
    for event in parse_events(ended.stdout):
        session_id = read_session(event.get("sessionID")) or session_id
        match event.get("type"):
            case "step_start":
                pieces.clear()
                reason = ""
            case "text":
                pieces.append(as_text(value_at(event, "part", "text")))
            case "step_finish":
                reason = as_text(value_at(event, "part", "reason"))
            case "error":
                failure = _parse_error(event, ended.at)
            case _:
                pass
    failure = failure or _find_silent_failure(reason, ended.stderr)
    spent = None if has_gap(ended.stdout) else progress(call, ended.stdout)
    output = AgentOutput(
        is_over=reason == "stop",
        failure=failure,
        result="\n".join(pieces),
        cost=None if spent is None else spent.cost,
        usage=None if spent is None else spent.usage,
        session=session_id,
    )
    return build_verdict(AGENT, ended, output, call)


def _find_silent_failure(reason: str, errors: str) -> ReportedFailure | None:
    """Returns the failure of a call without an error event: a broken database, or a last step that was cut."""
    if not reason and _DATABASE_ERROR in errors:
        return ReportedFailure(text=f"{_DATABASE_ERROR} {errors.rpartition(_DATABASE_ERROR)[2].strip()}")
    if reason in {"", "stop", "tool-calls"}:
        return None
    return ReportedFailure(text=f"its last step ended with the reason `{reason}`")


def _parse_error(event: Mapping[str, Any], at: float) -> ReportedFailure:
    data = value_at(event, "error", "data")
    text = (
        as_text(value_at(data, "message"))
        or as_text(value_at(event, "error", "name"))
        or "it did not say why"
    )
    if text.startswith(_UNEXPLAINED):
        text += f" (that is all it says, also if there is no key: {AGENT.sign_in})"
    # The header may also be a date, which is ignored: the limit then has the default length.
    wait = as_text(value_at(data, "responseHeaders", "retry-after"))
    until = at + int(wait) if wait.isascii() and wait.isdecimal() and len(wait) < len("1000000000") else None
    return ReportedFailure(text=text, status=read_count(value_at(data, "statusCode")), until=until)


def progress(_call: AgentCall, text: str) -> Progress | None:
    """Adds up the steps so far; each reports its own usage."""
    steps = [value_at(event, "part") for event in parse_events(text) if event.get("type") == "step_finish"]
    usage = sum_usage(_usage(value_at(step, "tokens")) for step in steps)
    costs = [amount for amount in (read_cost(value_at(step, "cost")) for step in steps) if amount is not None]
    if usage is None:
        return None
    # OpenCode reports 0 for a model without a known price.
    return Progress(cost=sum(costs) or None, tokens=usage.total, usage=usage)


def _usage(usage: object) -> Usage | None:
    input_tokens, output_tokens = read_count(value_at(usage, "input")), read_count(value_at(usage, "output"))
    if input_tokens is None or output_tokens is None:
        return None
    return Usage(
        input=input_tokens + (read_count(value_at(usage, "cache", "write")) or 0),
        output=output_tokens + (read_count(value_at(usage, "reasoning")) or 0),
        cached_input=read_count(value_at(usage, "cache", "read")) or 0,
    )


# --- activities ---


def _describe(event: Mapping[str, Any]) -> Iterator[Activity]:
    part, timestamp = event.get("part"), event.get("timestamp")
    # In milliseconds.
    at = timestamp / 1000 if isinstance(timestamp, int | float) else None
    match event.get("type"):
        case "text":
            yield from say(value_at(part, "text"), at=at)
        case "reasoning":
            yield from think(value_at(part, "text"))
        case "tool_use":
            yield replace(_describe_tool(part), at=at)
        case "error":
            data = value_at(event, "error", "data", "message")
            yield from report(data or value_at(event, "error", "name"))
        case _:
            pass


def _describe_tool(part: object) -> Activity:
    """Returns the activity of a tool call. OpenCode reports a call only when it has ended."""
    state = value_at(part, "state")
    exit_code = value_at(state, "metadata", "exit")
    outcome, is_bad = summarize(
        as_text(value_at(state, "output") or value_at(state, "error")),
        exit_code=exit_code if isinstance(exit_code, int) else None,
        is_bad=value_at(state, "status") == "error",
    )
    activity = describe_tool(as_text(value_at(part, "tool")), value_at(state, "input"), is_open=False)
    return replace(activity, outcome=outcome, is_bad=is_bad)


ADAPTER = AgentAdapter(
    program=AGENT,
    invoke=invoke,
    judge=judge,
    progress=progress,
    progress_in=ProgressSource.STDOUT,
    describe=describe_events(_describe),
)
