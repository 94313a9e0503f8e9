"""Requests and replies, independent of the protocol.

A server with stored conversations could not distinguish a resumed agent from a new one. It therefore stores
none: each request contains the whole conversation, and the number of the step is the number of the model's turns
with tool calls since its last turn without. Any number of agents can share a server, and messages that agents
add in the user's name do no harm.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from weft.testing.models.script import ReportedUsage
from weft.testing.models.values import tables

CALLS, SAYS = "calls", "says"
"""Kinds of turns of the model: with tool calls, or without."""


class OfferedTool(NamedTuple):
    """A tool that a request offers."""

    name: str
    schema: Mapping[str, Any]
    is_custom: bool = False
    """Whether it takes text instead of an object."""


class Request(NamedTuple):
    """A request of an agent."""

    turns: tuple[str, ...]
    tools: tuple[OfferedTool, ...]
    said: tuple[str, ...]
    """The messages of the user."""

    @property
    def step(self) -> int:
        # A turn without calls ends the answer to a prompt. An agent that sends the next prompt in the same
        # conversation starts at the first step again.
        return len(self.turns) - max((n for n, turn in enumerate(self.turns, 1) if turn != CALLS), default=0)


class Call(NamedTuple):
    """A tool call in a reply."""

    id: str
    name: str
    arguments: Any


class Reply(NamedTuple):
    """The answer to a request."""

    id: str
    model: str
    text: str
    calls: tuple[Call, ...]
    usage: ReportedUsage
    body: Mapping[str, Any]
    """The body of the request."""


def text_of(content: object) -> str:
    """Returns the text of a message, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    texts = [part.get("text") for part in tables(content)]
    return "\n".join(text for text in texts if isinstance(text, str))


def pieces_of(text: str, size: int = 24) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)] or [""]
