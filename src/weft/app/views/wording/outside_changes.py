"""Phrases for files that changed where no step was supposed to work."""

from collections.abc import Iterator, Sequence

from weft.app.views.signals import OutsideWarning
from weft.app.views.wording.words import count

MOST = 5
"""How many warnings are shown; the rest is only counted."""
_STEPS = 3
_FILES = 5


def outside_words(warning: OutsideWarning) -> str:
    """Returns one warning. It does not blame a step, because people work in the checkout, too."""
    where = f"the worktree of {warning.place}" if warning.place else "your checkout"
    shown, more = warning.files[:_FILES], len(warning.files[_FILES:]) + warning.more
    files = ", ".join(shown) + (f" and {more:,} more" if more else "")
    return f"changed in {where} while {_steps(warning.during)} ran: {files}"


def outside_lines(warnings: Sequence[OutsideWarning]) -> Iterator[str]:
    for warning in warnings[-MOST:]:
        yield outside_words(warning)
    if len(warnings) > MOST:
        yield f"{count(len(warnings) - MOST, 'earlier change')}; to see all, type: weft events"


def _steps(names: Sequence[str]) -> str:
    if not names:
        return "agents"
    shown, more = names[:_STEPS], len(names) - _STEPS
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")
