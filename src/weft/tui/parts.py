"""Painted text: parts with a colour each, made safe for a terminal, and turned into strips of cells."""

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style as Paint
from textual.strip import Strip

from weft.app.views.wording.style import Style
from weft.cells import cells

Part = tuple[str, str]
"""A text and its colour: one of those of `Sign`, `bold`, or empty."""

_PAINTS = {
    "": Paint(),
    "bold": Paint(bold=True),
    "dim": Paint(dim=True),
    "red": Paint(color="red"),
    "green": Paint(color="green"),
    "yellow": Paint(color="yellow"),
    "cyan": Paint(color="cyan"),
    "title": Paint(bold=True, reverse=True),
}
_CURSOR = Paint(reverse=True)
_CURSOR_AWAY = Paint(bold=True)


def strip(parts: Sequence[Part], width: int, style: Style, *, cursor: str = "") -> Strip:
    """Returns the parts, cut and padded to exactly `width` cells. `cursor` is `here`, `away` or empty."""
    segments: list[Segment] = []
    used = 0
    for text, colour in parts:
        shown = style.cut(style.shown(text), width - used) if used < width else ""
        used += cells(shown)
        segments.append(Segment(shown, _painted(colour, cursor)))
    segments.append(Segment(" " * max(0, width - used), _painted("", cursor)))
    return Strip(segments, max(used, width))


def _painted(colour: str, cursor: str) -> Paint:
    # A cursor of one colour: reversed colours of all kinds would be hard to read.
    if cursor == "here":
        return _CURSOR
    return _PAINTS[colour] + _CURSOR_AWAY if cursor == "away" else _PAINTS[colour]
