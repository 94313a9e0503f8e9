"""Names in a project's runs, for shell completion. An unreadable journal has no names and causes no message."""

from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path

from weft.app.record.journal import RecordedRun, open_book
from weft.app.record.run_plan import plan_of
from weft.app.record.step_selection import MOST_NAMES, names
from weft.errors import WeftError


def runs(directory: Path, beginning: str) -> list[str]:
    """Returns the ids of runs, the newest first."""
    return _complete(
        directory,
        None,
        beginning,
        lambda recorded_run: [record.run for record in recorded_run.journal.runs()],
    )


def plans(directory: Path, beginning: str) -> list[str]:
    """Returns the ids of plans; the plan that ran last comes first."""
    return _complete(
        directory,
        None,
        beginning,
        lambda recorded_run: dict.fromkeys(record.plan for record in recorded_run.journal.runs()),
    )


def subplans_and_steps(directory: Path, run: str | None, beginning: str) -> list[str]:
    return _complete(directory, run, beginning, lambda recorded_run: names(plan_of(recorded_run), beginning))


def _complete(
    directory: Path, run: str | None, beginning: str, list_names: Callable[[RecordedRun], Iterable[str]]
) -> list[str]:
    try:
        with open_book(directory, run) as recorded_run:
            return list(
                islice((name for name in list_names(recorded_run) if name.startswith(beginning)), MOST_NAMES)
            )
    except (WeftError, OSError):
        return []
