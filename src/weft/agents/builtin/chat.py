"""OpenAI's Chat Completions protocol, which most providers and servers of local models speak."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from weft.agents.builtin.conversation import (
    Conversation,
    ModelAnswer,
    ModelMessage,
    TokenCounts,
    ToolCall,
    ToolResults,
    UserMessage,
)
from weft.agents.builtin.values import as_amount, as_count, as_object, as_objects, as_text

NAME = "chat"
KEY, BASE = "OPENAI_API_KEY", "OPENAI_BASE_URL"
OFFICIAL = "https://api.openai.com/v1"


class RequestBrief(NamedTuple):
    """The parts of each request that do not change during a conversation."""

    model: str
    system: str
    tools: Sequence[Mapping[str, Any]]
    """Objects with `name`, `description` and `parameters`, a JSON schema."""
    max_tokens: int | None = None


def request_url(base: str) -> str:
    return f"{base.rstrip('/')}/chat/completions"


def headers(key: str | None) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"} if key else {}


def encode_request(conversation: Conversation, brief: RequestBrief) -> dict[str, Any]:
    messages = [{"role": "system", "content": brief.system}]
    for message in conversation:
        messages += _encode_message(message)
    body: dict[str, Any] = {"model": brief.model, "messages": messages}
    body["tools"] = [{"type": "function", "function": dict(tool)} for tool in brief.tools]
    if brief.max_tokens is not None:
        body["max_completion_tokens"] = brief.max_tokens
    return body


def _encode_message(message: UserMessage | ModelMessage | ToolResults) -> list[dict[str, Any]]:
    match message:
        case UserMessage(text):
            return [{"role": "user", "content": text}]
        case ToolResults(results):
            return [
                {"role": "tool", "tool_call_id": call_id, "content": output} for call_id, output in results
            ]
        case ModelMessage(text, calls, api, raw):
            # The original is sent back where possible: providers add fields of their own, such as signatures of
            # thoughts.
            tool_calls = list(raw) if api == NAME and raw else [_encode_call(call) for call in calls]
            fields = {"tool_calls": tool_calls} if tool_calls else {}
            return [{"role": "assistant", "content": text or None, **fields}]


def _encode_call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": json.dumps(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def decode_answer(body: Mapping[str, Any]) -> ModelAnswer:
    """Reads the body of a response; raises `ValueError` if it is not an answer."""
    choices = as_objects(body.get("choices"))
    if not choices:
        raise ValueError("there are no `choices` in it")
    message, finish_reason = as_object(choices[0].get("message")), choices[0].get("finish_reason")
    tool_calls = as_objects(message.get("tool_calls"))
    calls = tuple(_decode_call(call, number) for number, call in enumerate(tool_calls))
    # Malformed calls are not sent back verbatim, because the provider would reject the request.
    is_sound = all(
        tool_call.get("id") and not call.wrong for tool_call, call in zip(tool_calls, calls, strict=True)
    )
    usage = as_object(body.get("usage"))
    return ModelAnswer(
        said=ModelMessage(
            _join_content(message.get("content")), calls, NAME, tuple(tool_calls) if is_sound else ()
        ),
        used=_count_tokens(usage),
        cost=as_amount(usage.get("cost")),
        is_cut=finish_reason == "length",
        refused=as_text(message.get("refusal"))
        or ("its filter says no" if finish_reason == "content_filter" else ""),
    )


def _join_content(value: object) -> str:
    """Returns the text. Some providers send it in parts, with thinking between them."""
    return as_text(value) or "\n".join(as_text(part["text"]) for part in as_objects(value) if "text" in part)


def _decode_call(call: Mapping[str, Any], number: int) -> ToolCall:
    function = as_object(call.get("function"))
    name, raw_arguments = as_text(function.get("name")), function.get("arguments") or "{}"
    tool_call = ToolCall(as_text(call.get("id")) or f"call_{number}", name, {})
    try:
        # Some servers send an object instead of its JSON text.
        arguments = json.loads(raw_arguments) if isinstance(raw_arguments, str) else raw_arguments
    except (ValueError, RecursionError) as error:
        return tool_call._replace(wrong=f"the arguments are not JSON: {error}")
    if not isinstance(arguments, dict):
        return tool_call._replace(wrong="the arguments are no JSON object")
    return tool_call._replace(arguments=as_object(arguments))  # pyright: ignore[reportUnknownArgumentType]


def _count_tokens(usage: Mapping[str, Any]) -> TokenCounts:
    """Counts tokens by kind. The protocol's input includes cached tokens; here they are counted separately."""
    cached = as_count(as_object(usage.get("prompt_tokens_details")).get("cached_tokens"))
    fresh = max(as_count(usage.get("prompt_tokens")) - cached, 0)
    return TokenCounts(input=fresh, output=as_count(usage.get("completion_tokens")), cached_input=cached)
