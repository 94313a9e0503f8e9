"""Problems of a file: a sentence each, with the position.

Problems are collected, not raised, so that the user sees all of them at once. `PlanError` carries them if at
least one of them is an error.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from weft.errors import InputError

LONGEST_EXCERPT = 100
"""The most characters of a line that are shown; a longer line is cut around the position."""
MOST_PROBLEMS = 100
"""The most problems that are kept; finding the position of each costs a pass over the text."""
LONGEST_NAME = 100
"""No similar name is searched for if a name is longer than this."""


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


class Position(Struct, frozen=True):
    """A position in a file; lines and columns count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Problem(Struct, frozen=True, kw_only=True):
    """An error or a warning."""

    at: Position
    message: str
    severity: Severity = Severity.ERROR
    excerpt: str = ""
    """The line it is about, as in the file."""
    width: int = 1
    """How many characters of the line are marked."""

    def lines(self) -> Iterator[str]:
        yield f"{self.at}: {self.severity}: {self.message}"
        if self.excerpt.strip():
            text, column = _shorten(self.excerpt, self.at.column)
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


def _shorten(line: str, column: int) -> tuple[str, int]:
    """Returns the part of the line around the column, and the column in it."""
    text = line.expandtabs(1)
    if not text.isprintable():
        # Control characters could move the cursor or change colours, so each is shown as a placeholder.
        text = "".join(character if character.isprintable() else "\ufffd" for character in text)
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
    """A plan or configuration that cannot be used, with everything that is wrong with it."""

    def __init__(self, problems: Iterable[Problem], *, unsaid: int = 0) -> None:
        self.problems = tuple(problems)
        self.unsaid = unsaid
        """The number of problems that were found but not kept."""
        super().__init__("\n".join(self.lines()))

    def lines(self) -> Iterator[str]:
        """Yields the problems as text, each with its position, and the number of errors."""
        for problem in self.problems:
            yield from problem.lines()
        errors = sum(problem.severity is Severity.ERROR for problem in self.problems)
        counted = "1 error" if errors == 1 else f"{errors:,} errors"
        yield f"{counted}, and {self.unsaid:,} more that are not shown" if self.unsaid else counted


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Returns the name that was probably meant."""
    if len(name) > LONGEST_NAME:
        return None
    from difflib import get_close_matches  # noqa: PLC0415 - only for mistakes

    matches = get_close_matches(name.lower(), list(names), 1)
    return matches[0] if matches else None


def suggestion(name: str, names: Sequence[str], *, most: int = 12) -> str:
    """Returns the end of a sentence about an unknown name: the probable one, or those that exist."""
    # A list of names helps only if none is similar.
    near = nearest(name, names)
    if near is not None:
        return f"; did you mean {near!r}?"
    if not names:
        return "; there are none"
    return f"; known: {', '.join(names[:most])}{', …' if len(names) > most else ''}"
