"""Gemini CLI: a stream of JSON events that starts with `init` and ends in a `result`.

An `error` event may concern a problem that Gemini CLI has overcome. If a `result` with `success` follows it
directly, Gemini CLI has given up: it detected a loop, or used up its turns.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from weft.agents.shared.call_results import command_result
from weft.agents.shared.event_activities import describe_events, report, say
from weft.agents.shared.failures import ReportedFailure
from weft.agents.shared.streams import as_text, parse_events, read_count, read_session, value_at
from weft.agents.shared.tool_activities import describe_tool
from weft.agents.verdicts import AgentOutput, build_environment, build_verdict, model_option
from weft.plan.agent_program import Access, AgentProgram, Login
from weft.plan.prices import Usage
from weft.ports.activity import Activity, CallResult
from weft.ports.agent import AgentAdapter, AgentCall, AgentEnded, Invocation, Verdict

AGENT = AgentProgram(
    name="gemini",
    doc="Gemini CLI",
    title="Gemini CLI",
    program="gemini",
    install="npm install -g @google/gemini-cli",
    home={"GEMINI_CLI_HOME": "."},
    reads_only=True,
    end="a `result`",
    sign_in="set GEMINI_API_KEY, or log in once: gemini, then /auth",
    access=Access(
        variables=(
            "GEMINI_API_KEY",
            "GOOGLE_API_KEY",
            "GOOGLE_GENAI_USE_VERTEXAI",
            "GOOGLE_GENAI_USE_GCA",
        ),
        logins=(Login("oauth_creds.json", ".gemini"),),
        reports=("tokens",),
    ),
)

_OVER_QUOTA, _TOO_MANY = "request a quota increase", 429
"""Gemini CLI prints this text instead of the status when it gives up on a limit."""


def invoke(call: AgentCall) -> Invocation:
    mode = "plan" if call.read_only else "yolo"
    argv = ("gemini", "--output-format", "stream-json", "--approval-mode", mode, "--skip-trust")
    conversation = () if call.session is None else ("--resume", call.session)
    return Invocation(
        argv=(*argv, *model_option(call, "-m"), *conversation, *call.agent.args),
        stdin=call.prompt,
        env=build_environment(call, {}),
    )


def judge(call: AgentCall, ended: AgentEnded) -> Verdict:
    session_id, pieces, error_text = None, list[str](), ""
    result_event: Mapping[str, Any] = {}
    for event in parse_events(ended.stdout):
        match event.get("type"):
            case "init":
                session_id = read_session(event.get("session_id"))
            case "message" if event.get("role") == "assistant":
                pieces.append(as_text(event.get("content")))
                # An answer, or a tool call, after an error shows that Gemini CLI has overcome it.
                error_text = ""
            case "tool_use":
                error_text = ""
                pieces.clear()  # only the text after the last tool call is the answer
            case "error":
                error_text = as_text(event.get("message"))
            case "result":
                result_event = event
            case _:
                pass
    failure = _find_failure(result_event, error_text)
    usage = _usage(result_event.get("stats"))
    if failure is not None and usage is not None and not usage.total:
        session_id = None  # Gemini CLI does not store a conversation without an answer
    is_over = bool(result_event) and failure is None
    output = AgentOutput(
        is_over=is_over, failure=failure, result="".join(pieces), usage=usage, session=session_id
    )
    return build_verdict(AGENT, ended, output, call)


def _find_failure(result_event: Mapping[str, Any], error_text: str) -> ReportedFailure | None:
    if not result_event or (result_event.get("status") == "success" and not error_text):
        return None
    message = as_text(value_at(result_event, "error", "message")) or error_text or "it did not say why"
    return ReportedFailure(text=message, status=_TOO_MANY if _OVER_QUOTA in message else None)


def _usage(stats: object) -> Usage | None:
    total, input_tokens = (
        read_count(value_at(stats, "total_tokens")),
        read_count(value_at(stats, "input_tokens")),
    )
    if total is None or input_tokens is None or input_tokens > total:
        return None
    cached = min(read_count(value_at(stats, "cached")) or 0, input_tokens)
    # Thinking tokens are counted only in the total; they cost as much as output tokens.
    return Usage(input=input_tokens - cached, output=total - input_tokens, cached_input=cached)


def _describe(event: Mapping[str, Any]) -> Iterator[Activity | CallResult]:
    match event.get("type"):
        case "message" if event.get("role") == "assistant":
            yield from say(event.get("content"), is_part=True)
        case "tool_use":
            yield describe_tool(
                as_text(event.get("tool_name")),
                event.get("parameters"),
                call=as_text(event.get("tool_id")),
            )
        case "tool_result":
            yield command_result(
                as_text(event.get("tool_id")),
                as_text(event.get("output")) or as_text(value_at(event, "error", "message")),
                is_bad=event.get("status") == "error",
            )
        case "error":
            yield from report(event.get("message"))
        case "result":
            yield from report(value_at(event, "error", "message"))
        case _:
            pass


ADAPTER = AgentAdapter(program=AGENT, invoke=invoke, judge=judge, describe=describe_events(_describe))
