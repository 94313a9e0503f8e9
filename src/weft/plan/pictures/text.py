"""How wide a text will be, without a font to ask: an estimate on the wide side, by kinds of characters."""

import unicodedata
from collections.abc import Iterable
from itertools import accumulate

from weft.net.formats.drawing import visible

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
    """The text without line breaks and other white space, and with a sign for what cannot be drawn."""
    return visible(" ".join(text.split()))


def width_of(text: str, size: float) -> float:
    return size * sum(_width(character) for character in text)


def _width(character: str) -> float:
    known = _WIDTHS.get(character)
    if known is not None:
        return known
    if unicodedata.category(character) in _INVISIBLE:
        return 0.0
    return 1.25 if unicodedata.east_asian_width(character) in "WF" else 0.75


def elided(text: str, size: float, room: float) -> str:
    """As much of the beginning as there is room for."""
    if width_of(text, size) <= room:
        return text
    return text[: _fitting(text, size, room)].rstrip(" \u200d") + ELLIPSIS


def elided_at_start(text: str, size: float, room: float) -> str:
    """As much of the end as there is room for: of a path, it says the most."""
    if width_of(text, size) <= room:
        return text
    kept = _fitting(text[::-1], size, room)
    return ELLIPSIS + text[len(text) - kept :].lstrip(" \u200d")


def _fitting(text: Iterable[str], size: float, room: float) -> int:
    left = room - width_of(ELLIPSIS, size)
    return sum(width <= left for width in accumulate(size * _width(character) for character in text))
