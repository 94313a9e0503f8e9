"""Gemini's generateContent protocol."""

from collections.abc import Iterator, Mapping
from typing import Any

from weft.testing.models.conversation import CALLS, SAYS, OfferedTool, Reply, Request, text_of
from weft.testing.models.values import table, tables

_STATES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}


def read(body: Mapping[str, Any]) -> Request:
    contents = tables(body.get("contents"))
    declared = [
        function
        for tool in tables(body.get("tools"))
        # Programs send either spelling; the service accepts both.
        for function in tables(tool.get("functionDeclarations") or tool.get("function_declarations"))
    ]
    return Request(
        turns=tuple(_turn(entry.get("parts")) for entry in contents if entry.get("role") == "model"),
        tools=tuple(OfferedTool(str(entry.get("name")), _schema(entry)) for entry in declared),
        said=tuple(text_of(entry.get("parts")) for entry in contents if entry.get("role") != "model"),
    )


def _turn(parts: object) -> str:
    return CALLS if any("functionCall" in part for part in tables(parts)) else SAYS


def _schema(function: Mapping[str, Any]) -> Mapping[str, Any]:
    return table(function.get("parametersJsonSchema") or function.get("parameters"))


def whole(reply: Reply) -> dict[str, Any]:
    texts = [{"text": reply.text}] if reply.text or not reply.calls else []
    calls = [
        {"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}} for call in reply.calls
    ]
    content = {"role": "model", "parts": [*texts, *calls]}
    usage = reply.usage
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": usage.input,
            "candidatesTokenCount": usage.output,
            "totalTokenCount": usage.input + usage.output,
            "cachedContentTokenCount": usage.cached,
        },
        "modelVersion": reply.model,
        "responseId": reply.id,
    }


def stream(reply: Reply) -> Iterator[tuple[str | None, object]]:
    # One event with everything: the protocol allows it, and clients join the parts anyway.
    yield None, whole(reply)


def failure(status: int, message: str) -> dict[str, Any]:
    return {"error": {"code": status, "message": message, "status": _STATES.get(status, "INTERNAL")}}
