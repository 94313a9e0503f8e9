"""The sign, word and colour of each state, the same in lines, live view, `weft top`, page and report."""

from msgspec import Struct


class Sign(Struct, frozen=True):
    """How a state is shown. The shape and the word say it without the colour."""

    symbol: str
    ascii: str
    """For a terminal without Unicode."""
    word: str
    colour: str
    """`cyan`, `green`, `red`, `yellow` or `dim`."""


SIGNS = {
    "pending": Sign("·", ".", "waiting", "dim"),
    "running": Sign("▶", ">", "running", "cyan"),
    "completed": Sign("✓", "+", "completed", "green"),
    "failed": Sign("✗", "x", "failed", "red"),
    "asking": Sign("?", "?", "needs an answer", "yellow"),
    "held": Sign("!", "!", "held", "yellow"),
    "conflict": Sign("!", "!", "in conflict", "red"),
}
