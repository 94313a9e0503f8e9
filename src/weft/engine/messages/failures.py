"""Failures, as the journal stores them and people read them."""

from typing import Any

from msgspec import Struct, to_builtins

from weft.engine.states import FailureReason


class Failure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a step or a subplan failed."""

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
    """The limit in seconds, if it was exceeded."""
    detail: str = ""
    """The message without the step and the command."""
    tail: str = ""
    """The end of the output."""

    def to_json(self) -> dict[str, Any]:
        fields: dict[str, Any] = to_builtins(self)
        return fields
