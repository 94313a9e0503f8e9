"""OpenAI's Chat Completions protocol, which most providers and local servers speak."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

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

Event = tuple[str | None, object]

CREATED = 1_700_000_000
# Such a message between the parts of a reply would make two turns of one.
_INJECTED = re.compile(r"<(info-msg|system-reminder)>.*?</\1>", re.DOTALL)
"""Text that agents add in the user's name."""
_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "invalid_request_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def read(body: Mapping[str, Any]) -> Request:
    tools = [table(tool["function"]) for tool in tables(body.get("tools")) if "function" in tool]
    messages = [message for message in tables(body.get("messages")) if not _is_injected(message)]
    return Request(
        turns=_turns(messages),
        tools=tuple(OfferedTool(str(tool.get("name")), table(tool.get("parameters"))) for tool in tools),
        said=tuple(text_of(message.get("content")) for message in messages if message.get("role") == "user"),
    )


def _is_injected(message: Mapping[str, Any]) -> bool:
    text = text_of(message.get("content")) if message.get("role") == "user" else ""
    return bool(text) and not _INJECTED.sub("", text).strip()


def _turns(messages: list[dict[str, Any]]) -> tuple[str, ...]:
    """Returns the turns of the model. goose sends one reply back as several messages, with results between them.

    Adjacent messages are therefore one turn, and so are calls whose ids show that they belong to one reply.
    """
    turns: list[str] = []
    replies_seen: set[str] = set()
    continues_turn = False
    for message in messages:
        if message.get("role") != "assistant":
            continues_turn = False
            continue
        replies = {reply_of(str(call.get("id"))) for call in tables(message.get("tool_calls"))}
        # Another message of a reply that was counted already.
        if replies & replies_seen:
            continue
        replies_seen |= replies
        turn = CALLS if replies else SAYS
        if continues_turn:
            turns[-1] = CALLS if CALLS in {turn, turns[-1]} else SAYS
        else:
            turns.append(turn)
        continues_turn = True
    return tuple(turns)


def reply_of(call_id: str) -> str:
    """Returns the part of a call id that all calls of one reply share."""
    return call_id.rpartition("_")[0] or call_id


def whole(reply: Reply) -> dict[str, Any]:
    calls = [_call(call) for call in reply.calls]
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": None}
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": _finish(reply), "logprobs": None}
    return {**_head(reply, "chat.completion"), "choices": [choice], "usage": _usage(reply)}


def stream(reply: Reply) -> Iterator[Event]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> Event:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return None, {**_head(reply, "chat.completion.chunk"), "choices": [choice]}

    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces_of(reply.text) if reply.text else ():
        yield chunk({"content": piece})
    for index, call in enumerate(map(_call, reply.calls)):
        function = call["function"]
        yield chunk({"tool_calls": [{**call, "index": index, "function": {**function, "arguments": ""}}]})
        for piece in pieces_of(function["arguments"]):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, _finish(reply))
    # Only on request, as the real service does: some clients reject a chunk without choices.
    if table(reply.body.get("stream_options")).get("include_usage"):
        yield None, {**_head(reply, "chat.completion.chunk"), "choices": [], "usage": _usage(reply)}
    yield None, "[DONE]"


def failure(status: int, message: str) -> dict[str, Any]:
    kind = _KINDS.get(status, "server_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": _CODES.get(status)}}


def arguments_of(call: Call) -> str:
    return call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)


def _call(call: Call) -> dict[str, Any]:
    function = {"name": call.name, "arguments": arguments_of(call)}
    return {"id": call.id, "type": "function", "function": function}


def _head(reply: Reply, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{reply.id}", "object": kind, "created": CREATED, "model": reply.model}


def _finish(reply: Reply) -> str:
    return "tool_calls" if reply.calls else "stop"


def _usage(reply: Reply) -> dict[str, Any]:
    used = reply.usage
    return {
        "prompt_tokens": used.input,
        "completion_tokens": used.output,
        "total_tokens": used.input + used.output,
        "prompt_tokens_details": {"cached_tokens": used.cached},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }
