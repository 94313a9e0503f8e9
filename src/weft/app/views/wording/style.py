"""The abilities of a terminal, and texts for its cells: some characters take two, some none, some are removed."""

from itertools import accumulate

from msgspec import Struct

from weft.cells import cells, cells_of, clean, strip_escapes

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


class Style(Struct, frozen=True, kw_only=True):
    """The abilities of a terminal."""

    colours: bool = True
    unicode: bool = True

    def paint(self, text: str, style: str) -> str:
        """Returns the text in one of the styles above; unchanged if the style is empty."""
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self.colours and style and text else text

    @property
    def more(self) -> str:
        """The sign for omitted text."""
        return "…" if self.unicode else "..."

    def shown(self, text: str) -> str:
        """Returns the text as one line without control sequences."""
        # Titles and output come from agents: a control sequence in them could move the cursor or retitle the
        # terminal.
        if not text.isprintable():
            text = clean(strip_escapes(_last_written(text)).replace("\t", " "))
        # On a terminal with another encoding, writing such a character would raise an error.
        return text if self.unicode or text.isascii() else text.encode("ascii", "replace").decode()

    def cut(self, text: str, width: int) -> str:
        """Returns at most `width` cells of the text, with a sign at the end if it was longer."""
        if cells(text) <= width:
            return text
        sign = self.more[: max(0, width)]
        return _first_cells(text, width - len(sign)) + sign

    def cut_left(self, text: str, width: int) -> str:
        """Returns at most `width` cells from the end of the text, which is the telling part of a path."""
        if cells(text) <= width:
            return text
        sign = self.more[: max(0, width)]
        return sign + _first_cells(text[::-1], width - len(sign))[::-1]

    def fit(self, text: str, width: int) -> str:
        """Returns the text cut or padded to exactly `width` cells."""
        text = self.cut(text, width)
        return text + " " * (width - cells(text))


def _last_written(text: str) -> str:
    """Returns what is visible after carriage returns, with which programs redraw their progress."""
    return text.rstrip("\r\n").rpartition("\r")[2]


def _first_cells(text: str, width: int) -> str:
    if text.isascii():
        return text[: max(0, width)]
    # Wide characters take two cells, so the number of characters that fit is known only by adding them up.
    return text[: sum(used <= width for used in accumulate(map(cells_of, text)))]
