"""What a person is needed for, and what the person can do about it."""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

NeedKind = Literal[
    "question", "conflict", "held", "landing", "failed", "budget", "verify", "limit", "stopped"
]
ActionKind = Literal["answer", "merge", "pause", "resume", "stop", "retry"]


class Action(Struct, frozen=True, kw_only=True):
    """Something that a person can do. Each is a command, and most are also a request to the server."""

    label: str
    """As on a button: `Yes`, `Land`, `Retry`."""
    command: str
    """The command line that does it."""
    post: ActionKind | None = None
    """The request that does the same; None for what has to be done in a terminal."""
    body: Mapping[str, str | bool | Sequence[str]] = {}
    """The body of the request."""
    is_confirmed: bool = False
    """Whether a person should be asked again first."""
    takes_text: bool = False
    """Whether the body may have a `text`, which goes to the agent or becomes the result of the step."""


class Need(Struct, frozen=True, kw_only=True):
    """A card of the list "needs you"."""

    kind: NeedKind
    path: str
    """The subplan; empty for the whole plan."""
    row: int
    step: str = ""
    title: str
    """What is needed, in a few words."""
    reason: str = ""
    """Why, in a sentence or two."""
    lines: Sequence[str] = ()
    """The last lines of the output that explains it, or the rest of a question."""
    files: Sequence[str] = ()
    """The files in conflict, or in the way."""
    since: float | None = None
    is_urgent: bool = True
    """Whether work waits for it; a usage limit, for example, ends by itself."""
    actions: Sequence[Action] = ()
