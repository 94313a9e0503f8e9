"""Phrases for what agents do, such as `reads src/store.py` and `runs pytest -q → 2 failed`."""

from collections.abc import Sequence

from weft.app.views.wording.words import clock
from weft.ports.activity import TEXTS, Activity, Verb

SILENT_FROM = 60.0
"""Seconds without output after which views say so; most calls of a model take less."""
_OK = "ok"


def activity_line(activity: Activity) -> str:
    """Returns the activity on one line."""
    if activity.verb in TEXTS:
        return _opening(activity.verb, " ".join(activity.object.split()))
    return f"{activity_head(activity)}{outcome_words(activity)}"


def activity_lines(activity: Activity) -> list[str]:
    """Returns the activity with all lines of its text; further lines are indented."""
    if activity.verb not in TEXTS:
        return [activity_line(activity)]
    first, *more = activity.object.splitlines() or [""]
    indent = "" if activity.verb is Verb.PRINTS else "  "
    return [_opening(activity.verb, first), *(f"{indent}{line}".rstrip() for line in more)]


def activity_head(activity: Activity) -> str:
    """Returns the activity without its outcome."""
    if activity.verb in TEXTS:
        return activity_line(activity)
    shown = f"'{activity.object}'" if activity.verb is Verb.SEARCHES and activity.object else activity.object
    return " ".join(filter(None, (activity.verb, shown, lines_changed(activity.added, activity.removed))))


def outcome_words(activity: Activity) -> str:
    """Returns ` → 2 failed`; empty if the activity has no outcome that matters."""
    outcome = activity.outcome
    if activity.is_bad:
        return f" → {outcome or 'failed'}"
    return f" → {outcome}" if outcome and (outcome != _OK or activity.verb is Verb.RUNS) else ""


def lines_changed(added: int | None, removed: int | None) -> str:
    """Returns the numbers with their signs, the same for edits, files and slices; empty if both are unknown."""
    parts = (("+", added), ("\N{MINUS SIGN}", removed))
    return " ".join(f"{sign}{number:,}" for sign, number in parts if number is not None)


def _opening(verb: Verb, text: str) -> str:
    if verb is Verb.PRINTS:
        return text
    if verb is Verb.REPORTS:
        return f"error: {text}"
    return f"{verb}: {text}" if text else str(verb)


def silence_words(seconds: float) -> str:
    """Returns `silent 4:10`; empty if the silence is short."""
    return f"silent {clock(seconds)}" if seconds >= SILENT_FROM else ""


def current_activity(activity: Activity | None, last_line: str, silence: float) -> str:
    """Returns what a running agent does, for a cell of a table: its silence, and its last activity."""
    words = last_line if activity is None else activity_line(activity)
    return join_words((silence_words(silence), words))


def join_words(words: Sequence[str]) -> str:
    return " · ".join(filter(None, words))
