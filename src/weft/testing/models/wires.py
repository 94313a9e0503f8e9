"""The protocols there are, each a module, by how the path of a request ends."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from weft.testing.models import chat, gemini, messages, responses
from weft.testing.models.conversation import Reply, Request


class Wire(Protocol):
    def read(self, body: Mapping[str, Any]) -> Request: ...

    def whole(self, reply: Reply) -> dict[str, Any]: ...

    def stream(self, reply: Reply) -> Iterator[tuple[str | None, object]]:
        """The same as events, each a name or None, and data."""
        ...

    def failure(self, status: int, message: str) -> dict[str, Any]: ...


class _Way(NamedTuple):
    path: "re.Pattern[str]"
    name: str
    wire: Wire


_WAYS = (
    _Way(re.compile(r"/chat/completions$"), "chat", chat),
    _Way(re.compile(r"/responses$"), "responses", responses),
    _Way(re.compile(r"/messages$"), "messages", messages),
    _Way(re.compile(r":(generateContent|streamGenerateContent)$"), "gemini", gemini),
)


def wire_of(path: str) -> tuple[str, Wire] | None:
    """Its name, and the module."""
    return next(((way.name, way.wire) for way in _WAYS if way.path.search(path)), None)


def counts_tokens(path: str) -> bool:
    return path.endswith(("/messages/count_tokens", ":countTokens"))


def wants_stream(path: str, body: Mapping[str, Any]) -> bool:
    return bool(body.get("stream")) or path.endswith(":streamGenerateContent")


def model_of(path: str, body: Mapping[str, Any]) -> str:
    """Gemini has it in the path."""
    found = re.search(r"/models/([^/:]+):", path)
    return str(body.get("model") or (found and found[1]) or "scripted")
