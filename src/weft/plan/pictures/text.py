"""Estimates the width of a text without a font: a generous estimate by kinds of characters."""

import unicodedata
from collections.abc import Iterable
from itertools import accumulate

from weft.net.formats.labels import visible

ELLIPSIS = "…"
_WIDTHS = {
    **dict.fromkeys("ijl.,:;'|!`", 0.31),
    **dict.fromkeys("frt()[]{}-/\\ ", 0.39),
    **dict.fromkeys('abcdeghknopqsuvxyz0123456789_"*?#$', 0.62),
    **dict.fromkeys("ABCDEFGHIJKLNOPQRSTUVXYZ+<>=~^&", 0.73),
    **dict.fromkeys("mwMW%@…", 0.98),
}
_INVISIBLE = frozenset({"Mn", "Me", "Cf"})


def one_line(text: str) -> str:
    """Returns the text on one line, with a placeholder for characters that cannot be drawn."""
    return visible(" ".join(text.split()))


def width_of(text: str, size: float) -> float:
    return size * sum(_width(character) for character in text)


def _width(character: str) -> float:
    width = _WIDTHS.get(character)
    if width is not None:
        return width
    if unicodedata.category(character) in _INVISIBLE:
        return 0.0
    return 1.25 if unicodedata.east_asian_width(character) in "WF" else 0.75


def elide(text: str, size: float, room: float) -> str:
    """Returns as much of the beginning as fits."""
    if width_of(text, size) <= room:
        return text
    return text[: _fitting(text, size, room)].rstrip(" \u200d") + ELLIPSIS


def elide_start(text: str, size: float, room: float) -> str:
    """Returns as much of the end as fits, which says most of a path."""
    if width_of(text, size) <= room:
        return text
    length = _fitting(text[::-1], size, room)
    return ELLIPSIS + text[len(text) - length :].lstrip(" \u200d")


def _fitting(text: Iterable[str], size: float, room: float) -> int:
    available = room - width_of(ELLIPSIS, size)
    return sum(width <= available for width in accumulate(size * _width(character) for character in text))
