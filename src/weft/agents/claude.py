"""Claude Code: `claude -p`, with a stream of JSON events that ends in a `result`.

A failed call may also report `subtype: success`; `is_error` decides.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from weft.agents.shared.call_results import command_result
from weft.agents.shared.event_activities import describe_events, join_content, report, say, think
from weft.agents.shared.failures import ReportedFailure
from weft.agents.shared.streams import (
    as_text,
    has_gap,
    list_objects,
    list_values,
    parse_events,
    read_cost,
    read_count,
    read_session,
    value_at,
)
from weft.agents.shared.token_totals import sum_usage
from weft.agents.shared.tool_activities import describe_tool
from weft.agents.verdicts import AgentOutput, build_environment, build_verdict, model_option
from weft.plan.agent_program import Access, AgentProgram, Login
from weft.plan.prices import Usage
from weft.ports.activity import Activity, CallResult
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
    name="claude",
    doc="Claude Code",
    title="Claude Code",
    program="claude",
    install="npm install -g @anthropic-ai/claude-code",
    home={"CLAUDE_CONFIG_DIR": ".claude"},
    forks=True,
    reads_only=True,
    end="a `result`",
    sign_in="set ANTHROPIC_API_KEY, or log in once: claude, then /login",
    access=Access(
        variables=(
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_USE_VERTEX",
        ),
        logins=(Login(".credentials.json", ".claude", "CLAUDE_CONFIG_DIR"),),
        reports=("cost", "tokens"),
    ),
)
# Weft itself waits for limits and retries, so the program should give up soon.
_RETRIES = {"CLAUDE_CODE_MAX_RETRIES": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
_AS_ROOT = "cannot be used with root"


def invoke(call: AgentCall) -> Invocation:
    # The last mode on the command line wins: `args` may change the mode, but not that of a read-only step.
    mode = ("--permission-mode", "bypassPermissions")
    reading = ("--permission-mode", "plan") if call.read_only else ()
    argv = ("claude", "-p", "--output-format", "stream-json", "--verbose", *mode, *model_option(call))
    return Invocation(
        argv=(*argv, *_conversation(call), *call.agent.args, *reading),
        stdin=call.prompt,
        env=build_environment(call, _RETRIES),
    )


def _conversation(call: AgentCall) -> tuple[str, ...]:
    if call.session is None:
        return ()
    return ("--resume", call.session, *(("--fork-session",) if call.fork else ()))


# --- verdict ---


def judge(call: AgentCall, ended: AgentEnded) -> Verdict:
    result_event: Mapping[str, Any] = {}
    session_id: str | None = None
    for event in parse_events(ended.stdout):
        # Every event carries the id, so even a call that was killed early can be resumed.
        session_id = read_session(event.get("session_id")) or session_id
        if event.get("type") == "result":
            result_event = event
    return build_verdict(
        AGENT,
        ended,
        _parse_result(result_event, session_id) if result_event else _parse_cut_off(call, ended, session_id),
        call,
    )


def _parse_result(result_event: Mapping[str, Any], session_id: str | None) -> AgentOutput:
    result_text = as_text(result_event.get("result"))
    is_well = result_event.get("is_error") is False and result_event.get("subtype") == "success"
    failure = None
    if not is_well:
        text = (
            result_text
            or _join_errors(result_event.get("errors"))
            or f"it ended with {as_text(result_event.get('subtype')) or 'an error'}"
        )
        failure = ReportedFailure(text=text, status=read_count(result_event.get("api_error_status")))
    return AgentOutput(
        is_over=is_well,
        failure=failure,
        result=result_text if is_well else "",
        cost=read_cost(result_event.get("total_cost_usd")),
        # `modelUsage` covers all models that were called; `usage` omits the small helper models.
        usage=sum_usage(map(_usage_of_model, list_values(result_event.get("modelUsage"))))
        or _usage_of_message(result_event.get("usage")),
        session=session_id,
    )


def _parse_cut_off(call: AgentCall, ended: AgentEnded, session_id: str | None) -> AgentOutput:
    if _AS_ROOT not in ended.stderr:
        # Without a result there is no total. The messages so far still show what was spent at least.
        spent = None if has_gap(ended.stdout) else progress(call, ended.stdout)
        return AgentOutput(usage=None if spent is None else spent.usage, session=session_id)
    advice = (
        "Claude Code does not work without asking as root; if this machine is a sandbox, "
        'say so with `env: {IS_SANDBOX: "1"}` of the agent'
    )
    return AgentOutput(failure=ReportedFailure(text=advice), session=session_id)


def _join_errors(errors: object) -> str:
    return (
        "; ".join(map(as_text, cast("list[object]", errors))) if isinstance(errors, list) else as_text(errors)
    )


# --- spending ---


def _usage_of_message(usage: object) -> Usage | None:
    return _build_usage(
        read_count(value_at(usage, "input_tokens")),
        read_count(value_at(usage, "cache_creation_input_tokens")),
        read_count(value_at(usage, "output_tokens")),
        read_count(value_at(usage, "cache_read_input_tokens")),
    )


def _usage_of_model(usage: object) -> Usage | None:
    return _build_usage(
        read_count(value_at(usage, "inputTokens")),
        read_count(value_at(usage, "cacheCreationInputTokens")),
        read_count(value_at(usage, "outputTokens")),
        read_count(value_at(usage, "cacheReadInputTokens")),
    )


def _build_usage(
    fresh: int | None, stored: int | None, output_tokens: int | None, cached: int | None
) -> Usage | None:
    if fresh is None or output_tokens is None:
        return None
    return Usage(input=fresh + (stored or 0), output=output_tokens, cached_input=cached or 0)


def progress(_call: AgentCall, text: str) -> Progress | None:
    """Returns a lower bound: the output tokens of a message are complete only at the end."""
    messages = {
        # A message is repeated for each of its blocks with the same usage; the id keeps it from being counted
        # twice.
        as_text(value_at(event, "message", "id")): _usage_of_message(value_at(event, "message", "usage"))
        for event in parse_events(text)
        if event.get("type") == "assistant"
    }
    usage = sum_usage(messages.values())
    return Progress(tokens=usage.total, usage=usage) if usage is not None and usage.total else None


# --- activities ---


def _describe(event: Mapping[str, Any]) -> Iterator[Activity | CallResult]:
    match event.get("type"):
        case "assistant" | "user" as kind:
            for block in list_objects(value_at(event, "message", "content")):
                yield from _describe_block(block, is_agent=kind == "assistant")
        case "system" if event.get("subtype") == "api_retry":
            yield from report(f"error {as_text(event.get('error_status'))} of the model, asks again")
        case "result" if event.get("is_error") is True:
            yield from report(event.get("result") or _join_errors(event.get("errors")))
        case _:
            pass


def _describe_block(block: Mapping[str, Any], *, is_agent: bool) -> Iterator[Activity | CallResult]:
    match block.get("type"):
        case "text" if is_agent:
            yield from say(block.get("text"))
        case "thinking":
            yield from think(block.get("thinking"))
        case "tool_use":
            yield describe_tool(as_text(block.get("name")), block.get("input"), call=as_text(block.get("id")))
        case "tool_result":
            yield command_result(
                as_text(block.get("tool_use_id")),
                join_content(block.get("content")),
                is_bad=block.get("is_error") is True,
            )
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
