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

    def shape(self, *, unicode: bool) -> str:
        return self.symbol if unicode else self.ascii


SIGNS = {
    "pending": Sign("·", ".", "waiting", "dim"),
    "running": Sign("▶", ">", "running", "cyan"),
    "completed": Sign("✓", "+", "completed", "green"),
    "failed": Sign("✗", "x", "failed", "red"),
    "asking": Sign("?", "?", "needs an answer", "yellow"),
    "held": Sign("!", "!", "held", "yellow"),
    "conflict": Sign("!", "!", "in conflict", "red"),
}


def counted(state: str, number: int) -> str:
    """Returns a phrase such as `3 running` or `2 need an answer`."""
    word = SIGNS[state].word if state in SIGNS else state
    return f"{number:,} {word if number == 1 else word.replace('needs ', 'need ', 1)}"
