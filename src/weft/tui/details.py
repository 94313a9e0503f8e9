"""The right side of `weft top`: log, reasons and changes of the chosen subplan."""

import re
from pathlib import Path

from weft.app.inspect.diffs import find_diff, open_view
from weft.app.inspect.log_tail import LogTail
from weft.app.record.journal import open_book
from weft.errors import WeftError
from weft.tui.parts import Part

MOST_DIFF_LINES = 2_000
_ERROR = re.compile(r"\b(error|failed|failure|exception|traceback|fatal|panic)\b", re.IGNORECASE)
_LOG_COLOURS = {"head": "bold", "gap": "dim", "failed": "red"}


def log_parts(tail: LogTail) -> list[Part]:
    return [(line.text, _LOG_COLOURS.get(line.kind, "")) for line in tail.lines()] or [
        ("no output yet", "dim")
    ]


def is_error(part: Part) -> bool:
    return part[1] == "red" or _ERROR.search(part[0]) is not None


def diff_parts(directory: Path, run: str, path: str) -> list[Part]:
    """Returns the changes of a subplan. It calls git, and must not be called on the thread of the screen."""
    try:
        with (
            open_book(directory, run) as recorded_run,
            open_view(find_diff(recorded_run, path or None)) as view,
        ):
            changes = view.changes()
            text = view.plain().decode(errors="replace") if changes else ""
    except WeftError as error:
        return [(line, "dim") for line in error.lines()]
    stat: list[Part] = [
        (
            f"{change.status:<8} {change.path}  {_count('+', change.added)} {_count('-', change.removed)}",
            "bold",
        )
        for change in changes
    ]
    lines = text.splitlines()
    shown = [(line, _diff_colour(line)) for line in lines[:MOST_DIFF_LINES]]
    if len(lines) > MOST_DIFF_LINES:
        shown.append((f"{len(lines) - MOST_DIFF_LINES:,} more lines: weft diff {path}", "dim"))
    return [*stat, ("", ""), *shown] if stat else [("nothing has changed", "dim")]


def _count(sign: str, number: int | None) -> str:
    return "binary" if number is None else f"{sign}{number}"


def _diff_colour(line: str) -> str:
    if line.startswith(("diff ", "+++", "---", "index ")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
