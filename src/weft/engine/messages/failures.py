"""Why something failed, in a form that the journal keeps and people read."""

from typing import Any

from msgspec import Struct, to_builtins

from weft.engine.states import FailureReason

REJECTED = "rejected"
"""The outcome of a step that ran well and whose result was turned down."""


class Failure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    reason: FailureReason
    message: str
    """One line for people."""
    cause: str = ""
    """The subplan, or the subplan and step as `store/model:check`, because of which it failed."""
    step: str = ""
    attempt: int = 0
    command: str = ""
    agent: str = ""
    exit_code: int | None = None
    signal: int | None = None
    timeout: float | None = None
    """The seconds it had, if it took longer."""
    detail: str = ""
    """What was said of it, without the step and the command."""
    tail: str = ""
    """The end of the output."""

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = to_builtins(self)
        return found
