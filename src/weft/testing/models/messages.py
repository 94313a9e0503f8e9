"""Anthropic's Messages protocol."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from weft.testing.models.conversation import CALLS, SAYS, OfferedTool, Reply, Request, pieces_of, text_of
from weft.testing.models.values import table, tables

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def read(body: Mapping[str, Any]) -> Request:
    messages = tables(body.get("messages"))
    # Claude Code declares tools that the model must search for first; a call to such a tool would fail.
    tools = [tool for tool in tables(body.get("tools")) if "name" in tool and not tool.get("defer_loading")]
    return Request(
        turns=tuple(
            _turn(message.get("content")) for message in messages if message.get("role") == "assistant"
        ),
        tools=tuple(OfferedTool(tool["name"], table(tool.get("input_schema"))) for tool in tools),
        said=tuple(text_of(message.get("content")) for message in messages if message.get("role") == "user"),
    )


def _turn(content: object) -> str:
    return CALLS if any(part.get("type") == "tool_use" for part in tables(content)) else SAYS


def whole(reply: Reply) -> dict[str, Any]:
    return {
        "id": f"msg_{reply.id}",
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": _blocks(reply),
        "stop_reason": "tool_use" if reply.calls else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": reply.usage.input,
            "output_tokens": reply.usage.output,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": reply.usage.cached,
        },
    }


def _blocks(reply: Reply) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if reply.text or not reply.calls:
        # A message without any block is invalid, so an empty reply has an empty text.
        blocks.append({"type": "text", "text": reply.text})
    return blocks + [
        {"type": "tool_use", "id": f"tool_{call.id}", "name": call.name, "input": call.arguments}
        for call in reply.calls
    ]


def stream(reply: Reply) -> Iterator[tuple[str | None, object]]:
    for kind, data in _events(whole(reply)):
        yield kind, {"type": kind, **data}


def _events(message: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    # The real service counts up to here only, and `message_delta` has the final figure. An agent that adds up
    # both would report a wrong sum.
    usage = {**message["usage"], "output_tokens": 1}
    started: dict[str, Any] = {**message, "content": [], "stop_reason": None, "usage": usage}
    yield "message_start", {"message": started}
    for index, block in enumerate(message["content"]):
        empty: dict[str, Any] = {**block, "text": ""} if block["type"] == "text" else {**block, "input": {}}
        yield "content_block_start", {"index": index, "content_block": empty}
        for piece in _deltas(block):
            yield "content_block_delta", {"index": index, "delta": piece}
        yield "content_block_stop", {"index": index}
    delta: dict[str, Any] = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"delta": delta, "usage": {"output_tokens": message["usage"]["output_tokens"]}}
    yield "message_stop", {}


def _deltas(block: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    if block["type"] == "text":
        for piece in pieces_of(block["text"]):
            yield {"type": "text_delta", "text": piece}
        return
    arguments = block["input"]
    for piece in pieces_of(arguments if isinstance(arguments, str) else json.dumps(arguments)):
        yield {"type": "input_json_delta", "partial_json": piece}


def failure(status: int, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": _KINDS.get(status, "api_error"), "message": message}}
