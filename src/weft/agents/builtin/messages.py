"""Anthropic's Messages protocol."""

from collections.abc import Mapping
from typing import Any

from weft.agents.builtin.chat import RequestBrief
from weft.agents.builtin.conversation import (
    Conversation,
    ModelAnswer,
    ModelMessage,
    TokenCounts,
    ToolCall,
    ToolResults,
    UserMessage,
)
from weft.agents.builtin.values import as_count, as_object, as_objects, as_text

NAME = "messages"
KEY, BASE = "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"
OFFICIAL = "https://api.anthropic.com"
VERSION = "2023-06-01"
MAX_TOKENS = 8192
"""The protocol requires a number; all current models allow this one."""
_CACHED = {"cache_control": {"type": "ephemeral"}}
"""Marks the end of a prefix that the provider caches, so that later requests pay less for it."""


def request_url(base: str) -> str:
    """Returns the URL of the endpoint. The base address may or may not end in the version."""
    return f"{base.rstrip('/').removesuffix('/v1')}/v1/messages"


def headers(key: str | None) -> dict[str, str]:
    return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}


def encode_request(conversation: Conversation, brief: RequestBrief) -> dict[str, Any]:
    messages = [_encode_message(message) for message in conversation]
    # The next request starts with the same messages, so the cache mark goes to the last block.
    last = messages[-1]["content"][-1]
    messages[-1]["content"][-1] = {**last, **_CACHED}
    return {
        "model": brief.model,
        "max_tokens": brief.max_tokens or MAX_TOKENS,
        "system": [{"type": "text", "text": brief.system, **_CACHED}],
        "messages": messages,
        "tools": [
            {"name": tool["name"], "description": tool["description"], "input_schema": tool["parameters"]}
            for tool in brief.tools
        ],
    }


def _encode_message(message: UserMessage | ModelMessage | ToolResults) -> dict[str, Any]:
    match message:
        case UserMessage(text):
            return {"role": "user", "content": [{"type": "text", "text": text}]}
        case ToolResults(results):
            return {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": call_id, "content": output}
                    for call_id, output in results
                ],
            }
        case ModelMessage(text, calls, api, raw):
            # Thinking blocks carry signatures and must come back exactly as they were.
            blocks = list(raw) if api == NAME and raw else _encode_blocks(text, calls)
            return {"role": "assistant", "content": blocks}


def _encode_blocks(text: str, calls: tuple[ToolCall, ...]) -> list[dict[str, Any]]:
    """Returns the blocks of a message. The protocol rejects empty text and messages without a block."""
    text_blocks = [{"type": "text", "text": text or "…"}] if text.strip() or not calls else []
    return text_blocks + [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in calls
    ]


def decode_answer(body: Mapping[str, Any]) -> ModelAnswer:
    """Reads the body of a response; raises `ValueError` if it is not an answer."""
    if "content" not in body:
        raise ValueError("there is no `content` in it")
    blocks, stop_reason = as_objects(body["content"]), body.get("stop_reason")
    uses = [block for block in blocks if block.get("type") == "tool_use"]
    calls = tuple(_decode_call(block, number) for number, block in enumerate(uses))
    text = "\n".join(as_text(block.get("text")) for block in blocks if block.get("type") == "text")
    # Malformed calls are not sent back verbatim, because the provider would reject the request.
    is_sound = bool(calls) and all(
        use.get("id") and not call.wrong for use, call in zip(uses, calls, strict=True)
    )
    return ModelAnswer(
        said=ModelMessage(text, calls, NAME, tuple(blocks) if is_sound else ()),
        used=_count_tokens(as_object(body.get("usage"))),
        is_cut=stop_reason == "max_tokens",
        refused="it says no" if stop_reason == "refusal" else "",
    )


def _decode_call(block: Mapping[str, Any], number: int) -> ToolCall:
    call = ToolCall(as_text(block.get("id")) or f"call_{number}", as_text(block.get("name")), {})
    if not isinstance(block.get("input"), dict):
        return call._replace(wrong="the arguments are no JSON object")
    return call._replace(arguments=as_object(block["input"]))


def _count_tokens(usage: Mapping[str, Any]) -> TokenCounts:
    """Counts tokens by kind. Tokens written to a cache are also input."""
    fresh = as_count(usage.get("input_tokens")) + as_count(usage.get("cache_creation_input_tokens"))
    return TokenCounts(
        input=fresh,
        output=as_count(usage.get("output_tokens")),
        cached_input=as_count(usage.get("cache_read_input_tokens")),
    )
