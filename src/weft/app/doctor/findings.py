"""Checks and findings.

A check examines one possible problem, and each finding says what is wrong and what to type.

A check changes nothing. A finding that can be fixed without risk has a function for that, which verifies just
before that the situation is still the same.
"""

from collections.abc import Callable, Iterable
from enum import StrEnum

from msgspec import Struct

from weft.app.doctor.context import DoctorContext


class FindingState(StrEnum):
    """The kinds of findings."""

    OK = "ok"
    WARNING = "warning"
    """Nothing is broken, but the user should know."""
    PROBLEM = "problem"
    FIXED = "fixed"
    UNKNOWN = "unknown"
    """The check could not be made."""


Fix = Callable[[], None]
"""A function that fixes a problem. Raises a `WeftError` or an `OSError` if it cannot."""


class Finding(Struct, frozen=True, kw_only=True):
    """The result of a check about one thing."""

    state: FindingState
    found: str
    """A sentence without its full stop that names the exact subject."""
    command: str = ""
    """A command that fixes it or shows more. It can be typed as it is, in the project."""
    advice: str = ""
    """What to do where no command does it."""
    subject: str = ""
    """The name of the subject, which is the same when the check is repeated."""
    fix: Fix | None = None


class Check(Struct, frozen=True, kw_only=True):
    """A check with its texts for the reference."""

    id: str
    covers: str
    """For the table in the reference: what is examined, and when that is a problem or a warning."""
    why: str
    """Why it matters, in a sentence."""
    fix_description: str = ""
    """For the same table: what `--fix` does."""
    examine: Callable[[DoctorContext], Iterable[Finding]]


def fine(found: str = "") -> Finding:
    return Finding(state=FindingState.OK, found=found)


def warning(
    found: str, *, command: str = "", advice: str = "", subject: str = "", fix: Fix | None = None
) -> Finding:
    return Finding(
        state=FindingState.WARNING, found=found, command=command, advice=advice, subject=subject, fix=fix
    )


def problem(
    found: str, *, command: str = "", advice: str = "", subject: str = "", fix: Fix | None = None
) -> Finding:
    return Finding(
        state=FindingState.PROBLEM, found=found, command=command, advice=advice, subject=subject, fix=fix
    )


def unknown(found: str, *, command: str = "", subject: str = "") -> Finding:
    return Finding(state=FindingState.UNKNOWN, found=found, command=command, subject=subject)
