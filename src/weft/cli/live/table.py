"""The table of the live view: for each subplan its state, name, step, time, cost and latest output."""

from collections.abc import Sequence

from weft.app.views.run_view import RunView, Tally
from weft.app.views.wording.row_words import RowWords, row_words, tally_words
from weft.app.views.wording.signs import SIGNS
from weft.app.views.wording.style import Style
from weft.app.views.wording.words import count
from weft.cells import cells
from weft.cli.live.choice import VisibleRows

_GAP = "  "
_LEAST_DETAIL = 10
"""Cells; a shorter detail would be useless."""
_COST_FROM = 60
"""The least width of a terminal for the column of costs."""


def table(view: RunView, now: float, choice: VisibleRows, width: int, style: Style) -> list[str]:
    lines = [row_words(view, row, now, is_tree=choice.is_tree) for row in choice.rows]
    columns = _columns(lines, width, style)
    cut = style.cut if choice.is_tree else style.cut_left
    names = [cut(style.shown(line.name), columns[0]) for line in lines]
    painted = [
        _paint_line(line, name, columns, width, style) for line, name in zip(lines, names, strict=True)
    ]
    hidden = sum(choice.hidden.values())
    if hidden:
        text = _more(choice.hidden, hidden, is_rest=bool(lines))
        painted.append(style.paint(style.cut(f"{style.more} {text}", width), "dim"))
    return painted


def _more(hidden: Tally, number: int, *, is_rest: bool) -> str:
    more = f"{number:,} more" if is_rest else count(number, "slice")
    words = tally_words(hidden)
    return f"{more} {words[0].partition(' ')[2]}" if len(words) == 1 else f"{more}: {', '.join(words)}"


# Layout

Columns = tuple[int, int, int, int]
"""The widths of name, step, time and cost; 0: the column is left out."""


def _columns(lines: Sequence[RowWords], width: int, style: Style) -> Columns:
    def widest(texts: list[str]) -> int:
        return max(map(cells, map(style.shown, texts)), default=0)

    return (
        min(widest([line.name for line in lines]), max(10, width * 2 // 5), max(0, width - 2)),
        min(widest([line.step for line in lines]), max(8, width // 5)),
        widest([line.time for line in lines]),
        widest([line.cost for line in lines]) if width >= _COST_FROM else 0,
    )


def _paint_line(line: RowWords, name: str, columns: Columns, width: int, style: Style) -> str:
    sign = SIGNS[line.sign]
    name_width, *column_widths = columns
    colour = "dim" if line.sign == "failed" and line.style == "dim" else sign.colour
    parts = [style.paint(sign.shape(unicode=style.unicode), colour), " "]
    parts.append(style.paint(style.fit(name, name_width), "bold" if line.is_group else ""))
    used = 2 + name_width
    fields = (line.step, line.time, line.cost)
    if any(fields):  # otherwise the detail takes their columns
        for text, column_width in zip(fields, column_widths, strict=True):
            if column_width and used + len(_GAP) + column_width < width:
                parts += [
                    _GAP,
                    f"{text:>{column_width}}"
                    if text is not line.step
                    else style.fit(style.shown(text), column_width),
                ]
                used += len(_GAP) + column_width
    room = width - used - len(_GAP)
    if line.detail and room >= _LEAST_DETAIL:
        parts += [_GAP, style.paint(style.cut(style.shown(line.detail), room), line.style)]
    return "".join(parts).rstrip()
