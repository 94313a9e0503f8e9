"""Find the head of a file: the text up to the last statement that may be a mention.

Parsing dominates the cost of reading a file, and mentions are near its top. The code therefore searches
backwards for the keywords that occur in every mention. A bracket or a comment that is open after the last
keyword is followed to its end: a parser that stops before it recovers slowly from the error, and finds
statements that do not exist.
"""

import re
from string import punctuation, whitespace

from msgspec import Struct

_LONGEST_LIST = 4096
_BRACKETS = ((b"(", b")"), (b"{", b"}"))
_CONTINUED = (b"\\\n", b"\\\r\n")
_NOT_FOUND = (-1, -1)
_BLOCK = 512
_SIGNS = bytes(set(punctuation.encode()) - set(b"_"))
_WITHOUT_SIGNS = bytes.maketrans(_SIGNS, b" " * len(_SIGNS))
_SPACES = whitespace.encode()
_NO_SIGNS = bytes(set(range(256)) - set(_SIGNS))


class Keyword(Struct, frozen=True):
    """A keyword of mentions."""

    word: bytes
    as_said: re.Pattern[bytes]
    """Its form in a mention; starts with the word."""


class Signs(Struct, frozen=True, kw_only=True):
    """Features of a language that are visible without parsing."""

    words: tuple[Keyword, ...]
    """Every mention contains one of them."""
    comment: bytes
    """The start of a line comment."""
    enclosing: tuple[tuple[bytes, bytes], ...]
    """The start and end of multi-line text, which may contain lines that look like mentions."""


def word(keyword: str, following: str) -> Keyword:
    """Returns a keyword, with a regular expression for the text that follows it in a mention."""
    return Keyword(keyword.encode(), re.compile(rf"(?<!\w){keyword}{following}".encode()))


def head(text: bytes, signs: Signs) -> bytes:
    """Returns the head, or nothing if there is no mention. Text that takes too long to parse is blanked out."""
    last = max(_find_last_mention(text, keyword, signs.comment) for keyword in signs.words)
    return b"" if last == _NOT_FOUND else _remove_noise(text[: _find_end(text, *last, signs)])


def _find_last_mention(text: bytes, keyword: Keyword, comment: bytes) -> tuple[int, int]:
    """Returns the span of the last mention with this keyword."""
    position = text.rfind(keyword.word)
    while position >= 0:
        mention = keyword.as_said.match(text, position)
        # The last mention decides how much is parsed, so one in a comment must not count.
        if mention and not _line_start_to(text, position).startswith(comment):
            return mention.span()
        position = text.rfind(keyword.word, 0, position)
    return _NOT_FOUND


def _line_start_to(text: bytes, at: int) -> bytes:
    """Returns the text before a position on its line."""
    return text[text.rfind(b"\n", 0, at) + 1 : at].lstrip()


def _line_end(text: bytes, at: int) -> int:
    return text.find(b"\n", at) + 1 or len(text)


def _find_end(text: bytes, mention_start: int, mention_end: int, signs: Signs) -> int:
    end = _line_end(text, mention_end)
    while end < len(text) and text.endswith(_CONTINUED, 0, end):
        end = _line_end(text, end)
    for opening, closing in _BRACKETS:
        if text.find(opening, mention_start, end) >= 0:
            end = _list_end(text, mention_start, end, opening, closing)
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
    """Returns the end of multi-line text that is open at `end`. If it does not end, it contains no mention."""
    begin = text.rfind(opening, 0, end)
    # Equal delimiters, as for Python's docstrings, are open after an odd number of them.
    is_open = text.count(opening, 0, end) % 2 if opening == closing else begin > text.rfind(closing, 0, end)
    if not is_open:
        return end
    close = text.find(closing, end)
    if close >= 0:
        return _line_end(text, close)
    return end if _line_start_to(text, begin) else begin


def _remove_noise(text: bytes) -> bytes:
    """Blanks out lines of little but punctuation, for which parsers need excessive time and memory.

    Two kilobytes of `/*` take a third of a gigabyte.
    """
    if len(text) < _BLOCK:
        return text
    blocks = [text[begin : begin + _BLOCK] for begin in range(0, len(text), _BLOCK)]
    return b"".join(
        _blank_noise(block) if len(block) == _BLOCK and _is_noise(block) else block for block in blocks
    )


def _blank_noise(block: bytes) -> bytes:
    lines = block.split(b"\n")
    return b"\n".join(line.translate(_WITHOUT_SIGNS) if _is_noise(line) else line for line in lines)


def _is_noise(text: bytes) -> bool:
    signs = len(text.translate(None, _NO_SIGNS))
    return 5 * signs > 3 * len(text.translate(None, _SPACES))
