"""How much of a file is parsed: what goes up to the last statement that may be a mention.

Parsing is most of what it takes to look at a file, and mentions are near its top. So the words that are in every
mention are looked for, from the end. What is open after the last of them, such as a list in brackets or a comment
with an example in it, is followed to where it closes: a parser that comes to an end before that takes it apart,
slowly, and finds statements that are none.
"""

import re
from string import punctuation, whitespace

from msgspec import Struct

_LONGEST_LIST = 4096
_BRACKETS = ((b"(", b")"), (b"{", b"}"))
_CONTINUED = (b"\\\n", b"\\\r\n")
_NONE = (-1, -1)
_BLOCK = 512
_SIGNS = bytes(set(punctuation.encode()) - set(b"_"))
_WITHOUT_SIGNS = bytes.maketrans(_SIGNS, b" " * len(_SIGNS))
_SPACES = whitespace.encode()
_NO_SIGNS = bytes(set(range(256)) - set(_SIGNS))


class Word(Struct, frozen=True):
    word: bytes
    as_said: re.Pattern[bytes]
    """How it is written in a mention; begins with the word."""


class Signs(Struct, frozen=True, kw_only=True):
    """What can be told of a language without parsing."""

    words: tuple[Word, ...]
    """One of them is in every mention."""
    comment: bytes
    """What begins a comment up to the end of the line."""
    enclosing: tuple[tuple[bytes, bytes], ...]
    """What begins and what ends text that may have lines like mentions in it."""


def word(said: str, then: str) -> Word:
    """One that is no part of another, and what comes after it, as a regular expression."""
    return Word(said.encode(), re.compile(rf"(?<!\w){said}{then}".encode()))


def head(text: bytes, signs: Signs) -> bytes:
    """Empty if there is no mention in it. What would take too long to parse is blanked out."""
    last = max(_last(text, one, signs.comment) for one in signs.words)
    return b"" if last == _NONE else _without_noise(text[: _end(text, *last, signs)])


def _last(text: bytes, one: Word, comment: bytes) -> tuple[int, int]:
    """Where it begins, and where what is said with it ends."""
    at = text.rfind(one.word)
    while at >= 0:
        said = one.as_said.match(text, at)
        if said and not _before(text, at).startswith(comment):
            return said.span()
        at = text.rfind(one.word, 0, at)
    return _NONE


def _before(text: bytes, at: int) -> bytes:
    """What else is on its line."""
    return text[text.rfind(b"\n", 0, at) + 1 : at].lstrip()


def _line_end(text: bytes, at: int) -> int:
    return text.find(b"\n", at) + 1 or len(text)


def _end(text: bytes, begin: int, said: int, signs: Signs) -> int:
    end = _line_end(text, said)
    while end < len(text) and text.endswith(_CONTINUED, 0, end):
        end = _line_end(text, end)
    for opening, closing in _BRACKETS:
        if text.find(opening, begin, end) >= 0:
            end = _list_end(text, begin, end, opening, closing)
    for opening, closing in signs.enclosing:
        if text.find(opening, 0, end) >= 0:
            end = _enclosed_end(text, end, opening, closing)
    return end


def _list_end(text: bytes, begin: int, end: int, opening: bytes, closing: bytes) -> int:
    most = begin + _LONGEST_LIST
    while end < most and text.count(opening, begin, end) > text.count(closing, begin, end):
        close = text.find(closing, end, most)
        end = most if close < 0 else _line_end(text, close)
    return end


def _enclosed_end(text: bytes, end: int, opening: bytes, closing: bytes) -> int:
    """Where it closes. If it does not, as only the beginning of the file is here, there is no mention in it."""
    begin = text.rfind(opening, 0, end)
    is_open = text.count(opening, 0, end) % 2 if opening == closing else begin > text.rfind(closing, 0, end)
    if not is_open:
        return end
    close = text.find(closing, end)
    if close >= 0:
        return _line_end(text, close)
    return end if _before(text, begin) else begin


def _without_noise(text: bytes) -> bytes:
    """Lines of signs are blanked out where there is little else: parsers take time and memory beyond measure.

    Two kilobytes of `/*` are enough for a third of a gigabyte.
    """
    if len(text) < _BLOCK:
        return text
    blocks = [text[begin : begin + _BLOCK] for begin in range(0, len(text), _BLOCK)]
    return b"".join(_calm(block) if len(block) == _BLOCK and _is_noise(block) else block for block in blocks)


def _calm(block: bytes) -> bytes:
    lines = block.split(b"\n")
    return b"\n".join(line.translate(_WITHOUT_SIGNS) if _is_noise(line) else line for line in lines)


def _is_noise(text: bytes) -> bool:
    signs = len(text.translate(None, _NO_SIGNS))
    return 5 * signs > 3 * len(text.translate(None, _SPACES))
