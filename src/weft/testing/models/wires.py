"""The supported protocols, each a module, by the end of the request path."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from weft.testing.models import chat, gemini, messages, responses
from weft.testing.models.conversation import Reply, Request


class Wire(Protocol):
    """A protocol of a provider."""

    def read(self, body: Mapping[str, Any]) -> Request: ...

    def whole(self, reply: Reply) -> dict[str, Any]: ...

    def stream(self, reply: Reply) -> Iterator[tuple[str | None, object]]:
        """Yields the reply as events: a name or None, and data."""
        ...

    def failure(self, status: int, message: str) -> dict[str, Any]: ...


class _Route(NamedTuple):
    path: "re.Pattern[str]"
    name: str
    wire: Wire


_ROUTES = (
    # By the end of the path only: agents put different versions and prefixes before it.
    _Route(re.compile(r"/chat/completions$"), "chat", chat),
    _Route(re.compile(r"/responses$"), "responses", responses),
    _Route(re.compile(r"/messages$"), "messages", messages),
    _Route(re.compile(r":(generateContent|streamGenerateContent)$"), "gemini", gemini),
)


def wire_of(path: str) -> tuple[str, Wire] | None:
    """Returns the name and the module of the protocol; None for an unknown path."""
    return next(((route.name, route.wire) for route in _ROUTES if route.path.search(path)), None)


def counts_tokens(path: str) -> bool:
    return path.endswith(("/messages/count_tokens", ":countTokens"))


def wants_stream(path: str, body: Mapping[str, Any]) -> bool:
    return bool(body.get("stream")) or path.endswith(":streamGenerateContent")


def model_of(path: str, body: Mapping[str, Any]) -> str:
    """Returns the model that the request names; Gemini names it in the path."""
    match = re.search(r"/models/([^/:]+):", path)
    return str(body.get("model") or (match and match[1]) or "scripted")
