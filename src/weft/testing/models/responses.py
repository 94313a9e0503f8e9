"""OpenAI's Responses protocol, which Codex speaks."""

from collections.abc import Iterator, Mapping
from typing import Any

from weft.testing.models.chat import CREATED, Event, arguments_of, failure, reply_of
from weft.testing.models.conversation import (
    CALLS,
    SAYS,
    Call,
    OfferedTool,
    Reply,
    Request,
    pieces_of,
    text_of,
)
from weft.testing.models.values import table, tables

__all__ = ["failure", "read", "stream", "whole"]

_CALLS = {"function_call", "custom_tool_call", "local_shell_call"}
_LOCAL_SHELL = OfferedTool(
    "local_shell", {"properties": {"command": {"type": "array"}}, "required": ["command"]}
)


def read(body: Mapping[str, Any]) -> Request:
    input_value = body.get("input")
    items = (
        [{"role": "user", "content": input_value}] if isinstance(input_value, str) else tables(input_value)
    )
    user_messages = [item for item in items if _kind(item) == "message" and item.get("role") == "user"]
    return Request(
        turns=_turns(items),
        tools=tuple(tool for item in tables(body.get("tools")) for tool in _tool(item)),
        said=tuple(text_of(item.get("content")) for item in user_messages),
    )


def _kind(item: Mapping[str, Any]) -> str:
    return item.get("type") or "message"


def _turns(items: list[dict[str, Any]]) -> tuple[str, ...]:
    """Returns the turns of the model. The text and each call of one reply are separate items of the input."""
    turns: list[str] = []
    replies_seen: set[str] = set()
    follows_text = False
    for item in items:
        kind = _kind(item)
        if kind == "message" and item.get("role") == "assistant":
            turns.append(SAYS)
            follows_text = True
            continue
        reply = reply_of(str(item.get("call_id")))
        if kind in _CALLS and reply not in replies_seen:
            replies_seen.add(reply)
            # Text directly before a call belongs to the same turn.
            turns[len(turns) - follows_text :] = [CALLS]
        follows_text = False
    return tuple(turns)


def _tool(tool: Mapping[str, Any]) -> list[OfferedTool]:
    match tool.get("type"):
        case "function":
            return [OfferedTool(str(tool.get("name")), table(tool.get("parameters")))]
        case "custom":
            return [OfferedTool(str(tool.get("name")), {}, is_custom=True)]
        case "local_shell":
            return [_LOCAL_SHELL]
        case _:
            return []


def whole(reply: Reply) -> dict[str, Any]:
    return {
        "id": f"resp_{reply.id}",
        "object": "response",
        "created_at": CREATED,
        "status": "completed",
        "model": reply.model,
        "output": _items(reply),
        "usage": _usage(reply),
        **dict.fromkeys(("error", "incomplete_details", "instructions")),
        "metadata": {},
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "temperature": 1.0,
        "top_p": 1.0,
    }


def _items(reply: Reply) -> list[dict[str, Any]]:
    # A custom tool, such as the patch tool of Codex, takes plain text; with JSON it would fail.
    custom = {tool.name for tool in read(reply.body).tools if tool.is_custom}
    items: list[dict[str, Any]] = []
    if reply.text or not reply.calls:
        content: list[Any] = [{"type": "output_text", "text": reply.text, "annotations": []}]
        items.append({"id": f"msg_{reply.id}", "type": "message", "role": "assistant", "content": content})
    items += [{"id": f"item_{call.id}", "call_id": call.id, **_call(call, custom)} for call in reply.calls]
    return [{**item, "status": "completed"} for item in items]


def _call(call: Call, custom: set[str]) -> dict[str, Any]:
    if call.name in custom:
        text = call.arguments if isinstance(call.arguments, str) else table(call.arguments).get("input", "")
        return {"type": "custom_tool_call", "name": call.name, "input": text}
    if call.name == _LOCAL_SHELL.name:
        action: dict[str, Any] = {"type": "exec", "command": table(call.arguments).get("command"), "env": {}}
        return {"type": "local_shell_call", "action": action}
    return {"type": "function_call", "name": call.name, "arguments": arguments_of(call)}


def _usage(reply: Reply) -> dict[str, Any]:
    used = reply.usage
    return {
        "input_tokens": used.input,
        "output_tokens": used.output,
        "total_tokens": used.input + used.output,
        "input_tokens_details": {"cached_tokens": used.cached},
        "output_tokens_details": {"reasoning_tokens": 0},
    }


def stream(reply: Reply) -> Iterator[Event]:
    for number, (kind, data) in enumerate(_events(whole(reply))):
        yield kind, {"type": kind, "sequence_number": number, **data}


def _events(response: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    started: dict[str, Any] = {**response, "status": "in_progress", "output": [], "usage": None}
    yield "response.created", {"response": started}
    yield "response.in_progress", {"response": started}
    for index, item in enumerate(response["output"]):
        position = {"output_index": index, "item_id": item["id"]}
        added = {**item, "status": "in_progress", **_empty(item)}
        yield "response.output_item.added", {"output_index": index, "item": added}
        for kind, data in _pieces(item):
            yield kind, {**position, **data}
        yield "response.output_item.done", {"output_index": index, "item": item}
    yield "response.completed", {"response": response}


def _empty(item: Mapping[str, Any]) -> dict[str, Any]:
    empty_fields: dict[str, dict[str, Any]] = {"message": {"content": []}, "function_call": {"arguments": ""}}
    return empty_fields.get(item["type"], {})


def _pieces(item: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    if item["type"] == "message":
        part = item["content"][0]
        yield "response.content_part.added", {"content_index": 0, "part": {**part, "text": ""}}
        for piece in pieces_of(part["text"]):
            yield "response.output_text.delta", {"content_index": 0, "delta": piece}
        yield "response.output_text.done", {"content_index": 0, "text": part["text"]}
        yield "response.content_part.done", {"content_index": 0, "part": part}
    elif item["type"] == "function_call":
        for piece in pieces_of(item["arguments"]):
            yield "response.function_call_arguments.delta", {"delta": piece}
        summary = {"arguments": item["arguments"], "name": item["name"]}
        yield "response.function_call_arguments.done", summary
