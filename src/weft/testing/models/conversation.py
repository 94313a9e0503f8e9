"""What a request says, whatever its protocol, and what it is answered.

A server that kept conversations could not tell an agent that was killed and goes on from a new one. So it keeps
none: each request holds the whole conversation, and the step to play is the number of the model's turns with calls
of tools since its last turn without. Any number of agents can share a server, and what they add in the name of the
user confuses nobody.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from weft.testing.models.script import Tokens
from weft.testing.models.values import tables

CALLS, SAYS = "calls", "says"
"""Turns of the model: with calls of tools, or without."""


class Tool(NamedTuple):
    name: str
    schema: Mapping[str, Any]
    is_custom: bool = False
    """It takes text instead of an object."""


class Request(NamedTuple):
    turns: tuple[str, ...]
    tools: tuple[Tool, ...]
    said: tuple[str, ...]
    """By the user."""

    @property
    def step(self) -> int:
        return len(self.turns) - max((n for n, turn in enumerate(self.turns, 1) if turn != CALLS), default=0)


class Call(NamedTuple):
    id: str
    name: str
    arguments: Any


class Reply(NamedTuple):
    id: str
    model: str
    text: str
    calls: tuple[Call, ...]
    usage: Tokens
    body: Mapping[str, Any]
    """Of the request."""


def text_of(content: object) -> str:
    """Of a message, which is text or a list of parts."""
    if isinstance(content, str):
        return content
    texts = [part.get("text") for part in tables(content)]
    return "\n".join(text for text in texts if isinstance(text, str))


def pieces_of(text: str, size: int = 24) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)] or [""]
