"""A check looks at one thing that may be wrong; what it finds says what, and what to type.

It changes nothing. What can be mended without any risk comes with a way to do so; whoever goes it proves anew,
just before, that things are as they were found.
"""

from collections.abc import Callable, Iterable
from enum import StrEnum

from msgspec import Struct

from weft.app.doctor.context import DoctorContext


class FindingState(StrEnum):
    OK = "ok"
    WARNING = "warning"
    """Nothing is broken, but somebody should know."""
    PROBLEM = "problem"
    FIXED = "fixed"
    UNKNOWN = "unknown"
    """It could not be found out."""


Mend = Callable[[], None]
"""Raises a `WeftError` or an `OSError` if it cannot be done."""


class Finding(Struct, frozen=True, kw_only=True):
    state: FindingState
    found: str
    """A sentence without its full stop that names exactly what it is about."""
    command: str = ""
    """What fixes it, or shows more; it can be typed as it is, in the project."""
    advice: str = ""
    """What to do where no command does it."""
    subject: str = ""
    """What it is about, by a name that is the same when somebody looks again."""
    mend: Mend | None = None


class Check(Struct, frozen=True, kw_only=True):
    id: str
    looks_at: str
    """For the table in the reference: what is looked at, and when that is a problem or worth a warning."""
    why: str
    """Why it matters, in a sentence."""
    mends: str = ""
    """For the same table: what `--fix` does."""
    examine: Callable[[DoctorContext], Iterable[Finding]]


def fine(found: str = "") -> Finding:
    return Finding(state=FindingState.OK, found=found)


def warning(
    found: str, *, command: str = "", advice: str = "", subject: str = "", mend: Mend | None = None
) -> Finding:
    return Finding(
        state=FindingState.WARNING, found=found, command=command, advice=advice, subject=subject, mend=mend
    )


def problem(
    found: str, *, command: str = "", advice: str = "", subject: str = "", mend: Mend | None = None
) -> Finding:
    return Finding(
        state=FindingState.PROBLEM, found=found, command=command, advice=advice, subject=subject, mend=mend
    )


def unknown(found: str, *, command: str = "", subject: str = "") -> Finding:
    return Finding(state=FindingState.UNKNOWN, found=found, command=command, subject=subject)
