"""What is wrong with a file, and where: one sentence with the place it is about.

Problems are collected, not raised, so that a person sees all of them at once. `PlanError` carries them when
there is at least one error among them.
"""

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from enum import StrEnum

from msgspec import Struct

from weft.errors import InputError

LONGEST_EXCERPT = 100
"""Characters of a line that are shown; a longer one is cut around the place meant."""
MOST_PROBLEMS = 100
"""More than anybody reads, and each costs a look through the text."""
LONGEST_NAME = 100
"""Characters of a name for which similar ones are looked for."""


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


class Position(Struct, frozen=True):
    """A place in a file; lines and columns count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Problem(Struct, frozen=True, kw_only=True):
    at: Position
    message: str
    severity: Severity = Severity.ERROR
    excerpt: str = ""
    """The line it is about, as it stands in the file."""
    width: int = 1
    """How many characters of the line are meant."""

    def lines(self) -> Iterator[str]:
        yield f"{self.at}: {self.severity}: {self.message}"
        if self.excerpt.strip():
            text, column = _shortened(self.excerpt, self.at.column)
            gutter = f"{self.at.line:>6} | "
            marks = "^" * max(1, min(self.width, len(text) - column + 1))
            yield f"{gutter}{text}"
            yield f"{'|':>{len(gutter) - 1}} {' ' * (column - 1)}{marks}"

    def to_json(self) -> dict[str, object]:
        return {
            "severity": str(self.severity),
            "file": self.at.file,
            "line": self.at.line,
            "column": self.at.column,
            "message": self.message,
        }


def _shortened(line: str, column: int) -> tuple[str, int]:
    """The part of the line around the column, and the column in it."""
    text = line.expandtabs(1)
    if not text.isprintable():
        # A file can hold what would move the cursor or change colours; each is shown as one sign.
        text = "".join(sign if sign.isprintable() else "\ufffd" for sign in text)
    if len(text) <= LONGEST_EXCERPT:
        return text, column
    start = max(0, min(column - 1 - LONGEST_EXCERPT // 2, len(text) - LONGEST_EXCERPT))
    cut = text[start : start + LONGEST_EXCERPT]
    if start:
        cut = "…" + cut[1:]
    if start + LONGEST_EXCERPT < len(text):
        cut = cut[:-1] + "…"
    return cut, column - start


class PlanError(InputError):
    """A plan or configuration that cannot be used; says everything that is wrong with it."""

    def __init__(self, problems: Iterable[Problem], *, unsaid: int = 0) -> None:
        self.problems = tuple(problems)
        self.unsaid = unsaid
        """Problems that were found, too, and are not told."""
        super().__init__("\n".join(self.lines()))

    def lines(self) -> Iterator[str]:
        """The problems as text, each with its place, and how many there are."""
        for problem in self.problems:
            yield from problem.lines()
        errors = sum(problem.severity is Severity.ERROR for problem in self.problems)
        counted = "1 error" if errors == 1 else f"{errors:,} errors"
        yield f"{counted}, and {self.unsaid:,} more that are not shown" if self.unsaid else counted


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant."""
    if len(name) > LONGEST_NAME:
        return None
    found = get_close_matches(name.lower(), list(known), 1)
    return found[0] if found else None


def suggestion(name: str, known: Sequence[str], *, most: int = 12) -> str:
    """The end of a sentence about an unknown name: what was meant, or what there is."""
    near = nearest(name, known)
    if near is not None:
        return f"; did you mean {near!r}?"
    if not known:
        return "; there are none"
    return f"; known: {', '.join(known[:most])}{', …' if len(known) > most else ''}"
