"""Finds the position in a file of a character within a value.

YAML changes a value while reading it: it removes indentation, folds lines, replaces escapes. It never changes the
order of the characters that are not blank. So both texts are walked in parallel, and only those characters are
counted.
"""

import re
from collections.abc import Iterator
from itertools import islice

from weft.plan.text.document import Document, Scalar

_LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_ANCHOR = re.compile(r"&\S+\s+")
_BLANK_ESCAPES = frozenset("tnvfrNLP_ \t\r\n\x85\u2028\u2029")
"""Characters that mean a blank, or nothing, after a backslash."""
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}


def inside(document: Document, node: Scalar, offset: int, width: int = 1) -> Scalar:
    """Returns a stand-in node for the part of the value at this offset, for messages; the node if unknown."""
    # White space can differ between value and file; other characters cannot.
    before = sum(not character.isspace() for character in node.text[:offset])
    start = _start(document.text, node)
    index = next(islice(_visible_offsets(document.text, start, node.style), before, None), None)
    if index is None:
        return node
    line, column = _line_and_column(document.text, index)
    return Scalar("x" * width, line, column, "")


def _start(text: str, node: Scalar) -> int:
    """Returns where the value starts: after anchor and quote, or on the line after the indicator of a block."""
    before = next(islice(_LINE_BREAK.finditer(text), node.line - 2, None), None) if node.line > 1 else None
    start = node.column - 1 + (0 if before is None else before.end())
    anchor = _ANCHOR.match(text, start)
    start = start if anchor is None else anchor.end()
    if node.style not in {"|", ">"}:
        return start + len(node.style)
    content = _LINE_BREAK.search(text, start)
    return len(text) if content is None else content.end()


def _visible_offsets(text: str, start: int, style: str) -> Iterator[int]:
    """Yields the offset of each character of the value that is not blank."""
    position = start
    while position < len(text):
        width, blank = _character(text, position, style)
        if not blank:
            yield position
        position += width


def _character(text: str, position: int, style: str) -> tuple[int, bool]:
    """Returns how many characters the next character is written with, and whether it is blank."""
    # Within single quotes, a quote is written twice.
    if style == "'" and text[position] == "'":
        return 2, False
    if style != '"' or text[position] != "\\":
        return 1, text[position].isspace()
    escape = text[position + 1 : position + 2]
    digits = _HEX_DIGITS.get(escape)
    if digits is None:
        return 2, escape in _BLANK_ESCAPES
    number = int(text[position + 2 : position + 2 + digits], 16)
    return 2 + digits, chr(number).isspace()


def _line_and_column(text: str, index: int) -> tuple[int, int]:
    line, start = 1, 0
    for line_break in _LINE_BREAK.finditer(text, 0, index):
        line, start = line + 1, line_break.end()
    return line, index - start + 1
