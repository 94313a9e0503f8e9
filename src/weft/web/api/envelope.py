"""The envelope of every answer, and the bodies of requests that change something."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

VERSION: Literal[1] = 1


class Problem(Struct, frozen=True, kw_only=True):
    """Why a request was refused."""

    message: str
    hint: str = ""
    """What to do about it."""
    nearest: Sequence[str] = ()
    """Names that may have been meant."""


class Refusal(Struct, frozen=True, kw_only=True):
    """The answer to a request that was refused."""

    weft: Literal[1] = VERSION
    error: Problem


class AnswerEnvelope(Struct, frozen=True, kw_only=True):
    """The answer to every other request; `data` is one of the shapes of this API."""

    weft: Literal[1] = VERSION
    data: Any


class AnswerRequest(Struct, frozen=True, kw_only=True):
    """The body of `POST …/answer`."""

    name: str
    """The question: `SUBPLAN` or `SUBPLAN:STEP`."""
    reply: Literal["yes", "no"]
    text: str = ""


class MergeBody(Struct, frozen=True, kw_only=True):
    """The body of `POST …/merge`."""

    names: tuple[str, ...] = ()
    """The subplans; empty for everything that is held."""
    now: bool = False


class ControlBody(Struct, frozen=True, kw_only=True):
    """The body of `POST …/pause`, `…/resume` and `…/stop`."""

    names: tuple[str, ...] = ()
    """The subplans; empty for the whole run."""
    now: bool = False
    """Of `…/stop`: without grace. Of `…/pause`: halts running processes."""
    limits: bool = False
    """Of `…/resume`: ends the usage limits of agents instead."""


class RetryRequest(Struct, frozen=True, kw_only=True):
    """The body of `POST …/retry`."""

    names: tuple[str, ...] = ()
    """The subplans; empty for everything that has failed."""
    text: str = ""
    """Feedback for the agent; the first attempt reads it."""
    stop: bool = False
    """Stops an active run first, which continues in a new run with the feedback."""
    fresh_budget: bool = False


class CommandResult(Struct, frozen=True, kw_only=True):
    """The result of a request that changes something: that of the command which does the same."""

    command: str
    """The command line."""
    exit_code: int | None
    """None if it is still under way."""
    data: Mapping[str, Any] | None
    """What the command prints with `--json`."""
    messages: Sequence[str]
    """What it says to people."""


class ServerInfo(Struct, frozen=True, kw_only=True):
    """The server itself."""

    version: str
    project: str
    read_only: bool
    last_run: str | None


class RefusedError(Exception):
    """A request is refused."""

    def __init__(self, status: int, message: str, *, hint: str = "", nearest: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.problem = Problem(message=message, hint=hint, nearest=tuple(nearest))
