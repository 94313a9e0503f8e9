"""Where in a file a character of a value stands.

YAML changes a value while it reads it: it takes off indentation, folds lines, replaces escapes. What it never
touches is the order of the signs that are not blank. So the two texts are walked side by side, and only those
signs are counted.
"""

import re
from collections.abc import Iterator
from itertools import islice

from weft.plan.text.document import Document, Scalar

_LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_ANCHOR = re.compile(r"&\S+\s+")
_BLANK_ESCAPES = frozenset("tnvfrNLP_ \t\r\n\x85\u2028\u2029")
"""What stands behind a backslash for a blank, or for nothing."""
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}


def inside(document: Document, node: Scalar, offset: int, width: int = 1) -> Scalar:
    """A stand-in for the part of the value at this offset, for messages; the beginning if it is not found."""
    before = sum(not sign.isspace() for sign in node.text[:offset])
    start = _start(document.text, node)
    index = next(islice(_signs(document.text, start, node.style), before, None), None)
    if index is None:
        return node
    line, column = _line_and_column(document.text, index)
    return Scalar("x" * width, line, column, "")


def _start(text: str, node: Scalar) -> int:
    """Where the value begins: behind anchor and quote, or on the line behind the sign of a block."""
    before = next(islice(_LINE_BREAK.finditer(text), node.line - 2, None), None) if node.line > 1 else None
    start = node.column - 1 + (0 if before is None else before.end())
    anchored = _ANCHOR.match(text, start)
    start = start if anchored is None else anchored.end()
    if node.style not in {"|", ">"}:
        return start + len(node.style)
    content = _LINE_BREAK.search(text, start)
    return len(text) if content is None else content.end()


def _signs(text: str, start: int, style: str) -> Iterator[int]:
    """Where each sign of the value stands that is not blank."""
    at = start
    while at < len(text):
        width, blank = _sign(text, at, style)
        if not blank:
            yield at
        at += width


def _sign(text: str, at: int, style: str) -> tuple[int, bool]:
    """How many characters are written for the sign here, and whether it is blank."""
    if style == "'" and text[at] == "'":
        return 2, False
    if style != '"' or text[at] != "\\":
        return 1, text[at].isspace()
    escape = text[at + 1 : at + 2]
    digits = _HEX_DIGITS.get(escape)
    if digits is None:
        return 2, escape in _BLANK_ESCAPES
    number = int(text[at + 2 : at + 2 + digits], 16)
    return 2 + digits, chr(number).isspace()


def _line_and_column(text: str, index: int) -> tuple[int, int]:
    line, start = 1, 0
    for line_break in _LINE_BREAK.finditer(text, 0, index):
        line, start = line + 1, line_break.end()
    return line, index - start + 1
