"""goose: `goose run --output-format stream-json`, which ends in `complete` with exit code 0 even after errors.

Messages of the model have an id. goose's own messages (an error, a request for confirmation) are assistant
messages without an id, and nothing else distinguishes them from an answer. goose reports its usage as the total
of the conversation; see `token_totals`. Weft chooses the names of conversations. goose stores one as soon as it
has a message, so a conversation can be resumed even if its process was killed.
"""

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

from weft.agents.shared.call_results import command_result
from weft.agents.shared.event_activities import describe_events, join_content, report, say, think
from weft.agents.shared.failures import ReportedFailure
from weft.agents.shared.streams import as_text, list_objects, parse_events, read_count, value_at
from weft.agents.shared.token_totals import append_usage_mark, split_usage_mark, usage_since
from weft.agents.shared.tool_activities import describe_tool
from weft.agents.verdicts import AgentOutput, build_environment, build_verdict, model_option
from weft.plan.agent_program import ANY_KEY, Access, AgentProgram, Login
from weft.plan.prices import Usage
from weft.ports.activity import Activity, CallResult
from weft.ports.agent import AgentAdapter, AgentCall, AgentEnded, Invocation, Verdict

AGENT = AgentProgram(
    name="goose",
    doc="goose",
    title="goose",
    program="goose",
    install="npm install -g @aaif/goose",
    home={"GOOSE_PATH_ROOT": ".goose"},
    end="`complete`",
    sign_in="set GOOSE_PROVIDER and the key of that provider, such as OPENAI_API_KEY, or type: goose configure",
    access=Access(
        variables=(ANY_KEY,),
        logins=(Login("goose/config.yaml", ".config", "XDG_CONFIG_HOME"),),
        reports=("tokens",),
    ),
)
_ERROR_PREFIX = "Ran into this error:"
_RETRY_SUFFIX = "\n\nPlease retry"


def invoke(call: AgentCall) -> Invocation:
    argv = (
        "goose",
        "run",
        "-q",
        "--name",
        _session_name(call),
        *(() if call.session is None else ("--resume",)),
    )
    rest = ("--with-builtin", "developer", *model_option(call), "--output-format", "stream-json")
    return Invocation(
        argv=(*argv, *rest, *call.agent.args, "-i", "-"),
        stdin=call.prompt,
        env=build_environment(call, {"GOOSE_MODE": "auto"}),
    )


def _session_name(call: AgentCall) -> str:
    """Returns the name of the conversation: the resumed one, or a unique one derived from the result file."""
    if call.session is not None:
        return split_usage_mark(call.session)[0]
    # The path of the result file is unique to the execution, so the name can be found again after a crash.
    return f"weft-{blake2b(call.result_file.encode(errors='replace'), digest_size=10).hexdigest()}"


def judge(call: AgentCall, ended: AgentEnded) -> Verdict:
    no_speaker = speaker = object()
    pieces: list[str] = []
    complete_event: Mapping[str, Any] = {}
    error_text: str | None = None
    for event in parse_events(ended.stdout):
        match event.get("type"):
            case "message" if value_at(event, "message", "role") == "assistant":
                text = _message_text(event)
                # A new id is a new message; chunks of one message share theirs. Only the last message is the
                # answer.
                if value_at(event, "message", "id") != speaker:
                    speaker = value_at(event, "message", "id")
                    pieces.clear()
                if text:
                    pieces.append(text)
            case "error":
                error_text = as_text(event.get("error")) or "it did not say why"
            case "complete":
                complete_event = event
            case _:
                pass
    result = "".join(pieces)
    failure = _find_failure(complete_event, result, error_text, is_from_goose=speaker is None)
    total = _parse_total(complete_event)
    has_session = bool(complete_event) or speaker is not no_speaker
    output = AgentOutput(
        is_over=bool(complete_event) and failure is None,
        failure=failure,
        result="" if failure else result,
        usage=usage_since(call.session, total),
        session=append_usage_mark(_session_name(call), total, before=call.session) if has_session else None,
    )
    return build_verdict(AGENT, ended, output, call)


def _message_text(event: Mapping[str, Any]) -> str:
    content = list_objects(value_at(event, "message", "content"))
    return "".join(as_text(part.get("text")) for part in content if part.get("type") == "text")


def _find_failure(
    complete_event: Mapping[str, Any], result: str, error_text: str | None, *, is_from_goose: bool
) -> ReportedFailure | None:
    if error_text is not None:
        return ReportedFailure(text=error_text)
    if (is_from_goose and result) or result.startswith(_ERROR_PREFIX):
        return ReportedFailure(text=result.removeprefix(_ERROR_PREFIX).partition(_RETRY_SUFFIX)[0].strip())
    # goose writes `complete` after errors as well, but without a token count.
    if complete_event and complete_event.get("total_tokens") is None:
        return ReportedFailure(
            text="it reported no tokens at its end, which is how goose ends after an error"
        )
    return None


def _parse_total(complete_event: Mapping[str, Any]) -> Usage | None:
    input_tokens, output_tokens = (
        read_count(complete_event.get("input_tokens")),
        read_count(complete_event.get("output_tokens")),
    )
    return (
        None
        if input_tokens is None or output_tokens is None
        else Usage(input=input_tokens, output=output_tokens)
    )


# --- activities ---


def _describe(event: Mapping[str, Any]) -> Iterator[Activity | CallResult]:
    match event.get("type"):
        case "message":
            message = event.get("message")
            is_agent = value_at(message, "role") == "assistant"
            for block in list_objects(value_at(message, "content")):
                yield from _describe_block(block, as_text(value_at(message, "id")), is_agent=is_agent)
        case "error":
            yield from report(event.get("error"))
        case _:
            pass


def _describe_block(
    block: Mapping[str, Any], message: str, *, is_agent: bool
) -> Iterator[Activity | CallResult]:
    match block.get("type"):
        case "text" if is_agent:
            yield from say(block.get("text"), call=message, is_part=True)
        case "thinking" | "reasoning":
            yield from think(block.get("thinking") or block.get("text"))
        case "toolRequest":
            value = value_at(block, "toolCall", "value")
            yield describe_tool(
                as_text(value_at(value, "name")) or "a tool",
                value_at(value, "arguments"),
                call=as_text(block.get("id")),
            )
        case "toolResponse":
            yield _describe_response(block)
        case _:
            pass


def _describe_response(block: Mapping[str, Any]) -> CallResult:
    result = block.get("toolResult")
    value = value_at(result, "value")
    exit_code = value_at(value, "structuredContent", "exit_code")
    return command_result(
        as_text(block.get("id")),
        join_content(value_at(value, "content")) or as_text(value_at(result, "error")),
        exit_code=exit_code if isinstance(exit_code, int) else None,
        is_bad=value_at(value, "isError") is True or value_at(result, "status") == "error",
    )


ADAPTER = AgentAdapter(program=AGENT, invoke=invoke, judge=judge, describe=describe_events(_describe))
