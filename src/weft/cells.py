"""The cells of a terminal: how many a text fills, and texts without what would disturb the terminal."""

import re
from functools import lru_cache
from unicodedata import category, east_asian_width

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
"""Escape sequences: colours, cursor movements, titles."""
_COMBINING = frozenset({"Mn", "Me"})
_WIDE = frozenset({"W", "F"})


def cells(text: str) -> int:
    """Returns how many columns of a terminal a text fills: some characters take two, some none."""
    return len(text) if text.isascii() else sum(map(cells_of, text))


@lru_cache(maxsize=4096)
def cells_of(character: str) -> int:
    if category(character) in _COMBINING:
        return 0
    return 2 if east_asian_width(character) in _WIDE else 1


def strip_escapes(text: str) -> str:
    """Returns the text without escape sequences."""
    return _ESCAPES.sub("", text)


def clean(text: str) -> str:
    """Returns the text on one line without control characters, because names can come from any source."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
