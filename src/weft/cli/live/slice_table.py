"""The table at the end of a run: for each slice its result, files, lines, attempts, cost and time.

Slices that failed or wait for a person come first. The table has a fixed number of rows, so that a large plan does
not push the rest of the summary out of sight. A column that is empty for all slices is left out, and a narrow
terminal loses the columns that matter least.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from weft.app.views.change_count import ChangeCount
from weft.app.views.rows import BECAUSE_OF_OTHERS, RowView
from weft.app.views.run_view import RunView
from weft.app.views.wording.activities import lines_changed
from weft.app.views.wording.signs import SIGNS
from weft.app.views.wording.style import Style
from weft.app.views.wording.words import clock, spent_shortly, why_held
from weft.cells import cells
from weft.engine.states import SubplanExecutionState as State

ROWS = 20
"""The number of slices in the table."""
UNCOUNTED: Mapping[str, ChangeCount] = MappingProxyType({})
_LEAST = 2
"""The number of slices from which there is a table: one slice is described by the lines around it."""
_RESULT = 32
"""The widest result, in cells."""
_LEAST_NAME = 12
_GAP = "  "
_HEAD = ("slice", "result", "files", "lines", "attempts", "cost", "time")
_NAME, _WORDS = 0, 2
"""The column of names, and the number of columns with words, which are aligned at the left."""
_DROPPED = (4, 2, 6, 3, 5)
"""The columns that a narrow terminal loses, the first one first."""

_REST = {
    State.FAILED: SIGNS["failed"].word,
    State.RUNNING: "under way",
    State.COMPLETED: SIGNS["completed"].word,
    State.PENDING: "not started",
}
"""The words for slices that are only counted."""


class _Result(Struct, frozen=True):
    sign: str
    """A key of `SIGNS`."""
    words: str
    urgency: int
    """The smallest number comes first."""


def table_rows(view: RunView) -> list[int]:
    """Returns the slices of the table in its order; empty if the run has no table."""
    slices = [row for row, is_leaf in enumerate(view.outline.leaves) if is_leaf]
    if len(slices) < _LEAST:
        return []
    return sorted(slices, key=lambda row: _result(view, row).urgency)[:ROWS]


def slice_table(
    view: RunView,
    now: float,
    changes: Mapping[str, ChangeCount] = UNCOUNTED,
    *,
    width: int | None = None,
    style: Style | None = None,
) -> list[str]:
    """Returns the lines of the table; none for a run of one slice.

    `changes` has the changes of the rows of the table, by path. Without a `width`, the table may be of any width.
    """
    style = style or Style(colours=False)
    rows = table_rows(view)
    if not rows:
        return []
    texts = [_HEAD, *(_cells(view, row, now, changes, style) for row in rows)]
    signs = [" ", *(SIGNS[_result(view, row).sign].shape(unicode=style.unicode) for row in rows)]
    widths = _widths(texts, width)
    lines = [f"{sign} {_line(text, widths, style)}".rstrip() for sign, text in zip(signs, texts, strict=True)]
    hidden = sum(view.counts.values()) - len(rows)
    return [*lines, f"{style.more} and {hidden:,} more: {_rest(view, rows)}"] if hidden else lines


def _rest(view: RunView, rows: Sequence[int]) -> str:
    counts = dict(view.counts)
    for row in rows:
        counts[view.rows[row].state] -= 1
    return ", ".join(f"{counts[state]:,} {word}" for state, word in _REST.items() if counts[state])


# The cells


def _cells(
    view: RunView, row: int, now: float, changes: Mapping[str, ChangeCount], style: Style
) -> tuple[str, ...]:
    row_view, path = view.rows[row], view.outline.paths[row]
    name, words = style.shown(path), style.cut(style.shown(_result(view, row).words), _RESULT)
    if row_view.carried or row_view.started_at is None:
        return (name, words, "", "", "", "", "")
    change, seconds = changes.get(path), row_view.seconds(now)
    return (
        name,
        words,
        "" if change is None else f"{change.files:,}",
        "" if change is None else _lines(change, style),
        f"{row_view.attempts:,}" if row_view.attempts else "",
        spent_shortly(row_view),
        "" if seconds is None else clock(seconds),
    )


def _lines(change: ChangeCount, style: Style) -> str:
    if not change.files:
        return ""
    text = lines_changed(change.added, change.removed)
    return text if style.unicode else text.replace("\N{MINUS SIGN}", "-")


def _result(view: RunView, row: int) -> _Result:
    row_view = view.rows[row]
    if row_view.state is State.FAILED:
        return _failure(row_view)
    if row_view.held is not None:
        return _hold(row_view)
    if row_view.questions:
        return _Result("asking", SIGNS["asking"].word, 1)
    if row_view.left_out is not None:
        return _Result("held", "left out", 1)
    if row_view.state is State.COMPLETED:
        earlier = "done by an earlier run" if row_view.carried else ""
        return _Result("completed", view.landings.place(row) or earlier or SIGNS["completed"].word, 3)
    if row_view.state is State.RUNNING:
        return _Result("running", "stopped" if view.state == "stopped" else "under way", 2)
    return _Result("pending", "not started", 5)


def _failure(row_view: RowView) -> _Result:
    if row_view.reason in BECAUSE_OF_OTHERS:
        return _Result("failed", row_view.reason, 4)
    return _Result("failed", SIGNS["failed"].word, 0)


def _hold(row_view: RowView) -> _Result:
    held = row_view.held
    assert held is not None
    if not held.needs_help:
        return _Result("held", why_held(held), 1)
    sign = "conflict" if held.conflict else "held"
    return _Result(sign, SIGNS[sign].word, 1)


# Layout


def _widths(texts: Sequence[tuple[str, ...]], width: int | None) -> list[int]:
    """Returns the width of each column; 0: the column is left out."""
    head, *rows = texts
    widths = [
        max(cells(title), *(cells(row[column]) for row in rows)) if any(row[column] for row in rows) else 0
        for column, title in enumerate(head)
    ]
    if width is None:
        return widths
    for column in _DROPPED:
        if _total(widths) > width and _total([_LEAST_NAME, *widths[1:]]) > width:
            widths[column] = 0
    widths[_NAME] = min(widths[_NAME], max(_LEAST_NAME, widths[_NAME] + width - _total(widths)))
    return widths


def _total(widths: Sequence[int]) -> int:
    used = [width for width in widths if width]
    return len(_GAP) + sum(used) + len(_GAP) * (len(used) - 1)


def _line(row: tuple[str, ...], widths: Sequence[int], style: Style) -> str:
    parts: list[str] = []
    for column, (text, width) in enumerate(zip(row, widths, strict=True)):
        if not width:
            continue
        if column == _NAME:
            text = style.cut_left(text, width)  # noqa: PLW2901 - the end of a path tells slices apart
        blanks = " " * (width - cells(text))
        parts.append(f"{text}{blanks}" if column < _WORDS else f"{blanks}{text}")
    return _GAP.join(parts)
