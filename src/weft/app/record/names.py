"""Names in a project's runs, for completion. Where nothing can be read there are none, and nothing is said."""

from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

from weft.app.record.journal import RecordedRun, open_book
from weft.app.record.run_plan import plan_of
from weft.app.record.step_selection import MOST_NAMES, names
from weft.errors import WeftError


def runs(directory: Path, beginning: str) -> list[str]:
    """The newest first."""
    return _found(directory, None, beginning, lambda book: [one.run for one in book.journal.runs()])


def plans(directory: Path, beginning: str) -> list[str]:
    """Their ids; the one that was run last is the first."""
    return _found(
        directory, None, beginning, lambda book: dict.fromkeys(one.plan for one in book.journal.runs())
    )


def subplans_and_steps(directory: Path, run: str | None, beginning: str) -> list[str]:
    return _found(directory, run, beginning, lambda book: names(plan_of(book), beginning))


def _found(
    directory: Path, run: str | None, beginning: str, listed: Callable[[RecordedRun], Iterable[str]]
) -> list[str]:
    try:
        with open_book(directory, run) as book:
            return list(islice((one for one in listed(book) if one.startswith(beginning)), MOST_NAMES))
    except (WeftError, OSError):
        return []
