"""The terminal behind a stream: how wide it is, whether it takes colours, and how many cells a text fills.

No other module of the command line decides how wide its text may be. A text module yields a `Paragraph` for prose
and a `Row` for a line of a table or list; `wrap_lines` breaks both between words, at the width of the stream
that they are written to. A command within prose, after `type:`, is not broken, and neither is that of a `Command`
row. Lines that must stay copyable, such as the output of steps, are plain strings, and are never broken.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Self, TextIO

from weft.cells import cells, strip_escapes

NARROWEST, WIDEST = 40, 120
"""Limits of the width in columns: narrower text is ragged, and wider text is hard to read."""
WITHOUT_TERMINAL = 100
"""Columns of prose in a file or a pipe."""

_WORD = re.compile(
    r"""(\s*)(
        (?<=\btype:\ )(?=\S)(?:'[^']*'|"[^"]*"|[^'"])+?(?=;\ |,\ |\ \(|\.?$)[;,.]?  # a command, which stays whole
        |\S+
    )""",
    re.VERBOSE,
)
_OFF = frozenset({"", "0", "false"})


# Colours


def takes_colours(stream: TextIO | None, environ: Mapping[str, str] = os.environ) -> bool:
    """Returns whether to paint: `NO_COLOR` decides first, then `FORCE_COLOR`, then whether it is a terminal."""
    if environ.get("NO_COLOR"):
        return False
    if forces_colours(environ):
        return True
    return stream is not None and stream.isatty() and environ.get("TERM") != "dumb"


def forces_colours(environ: Mapping[str, str] = os.environ) -> bool:
    """Returns whether the user wants colours in files and pipes, too."""
    if environ.get("NO_COLOR"):
        return False
    return any(environ.get(name, "").lower() not in _OFF for name in ("FORCE_COLOR", "CLICOLOR_FORCE"))


# Width


def text_width(stream: TextIO | None, environ: Mapping[str, str] = os.environ) -> int | None:
    """Returns the columns for text; None in a file or a pipe, unless `COLUMNS` sets them."""
    columns = environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return _bounded(int(columns))
    size = terminal_size(stream)
    return None if size is None else _bounded(size[0])


def _bounded(columns: int) -> int:
    return max(NARROWEST, min(columns, WIDEST))


def terminal_size(stream: TextIO | None) -> tuple[int, int] | None:
    """Returns the columns and lines of the terminal; None if there is none or its size is unknown."""
    if stream is None:
        return None
    try:
        columns, lines = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return None
    return (columns, lines) if columns and lines else None


# Text that may be broken between words


class Paragraph(str):
    """A line of prose."""

    __slots__ = ("hang",)
    hang: int
    """How far the second and later lines are indented."""
    default: int | None = WITHOUT_TERMINAL
    """Columns where there is no terminal."""

    def __new__(cls, text: str, hang: int = 0) -> Self:
        line = super().__new__(cls, text)
        line.hang = hang
        return line


class Row(Paragraph):
    """A line of a table or list. In a file or a pipe it stays whole, as programs read those line by line."""

    __slots__ = ()
    default = None


class Command(Row):
    """A command to type, and what it does. The command is never broken, so that it can be copied."""

    __slots__ = ("typed",)
    typed: str
    """The command, with the label before it."""

    def __new__(cls, typed: str, does: str, *, width: int, hang: int = 0) -> Self:
        """`width`: the columns of the command."""
        line = super().__new__(cls, f"{typed:<{width}}{does}" if does else typed, hang)
        line.typed = typed
        return line


def wrap_lines(lines: Iterable[str], width: int | None) -> Iterator[str]:
    """Yields the lines, with paragraphs and rows broken between words to at most `width` columns."""
    for line in lines:
        most = (width or line.default) if isinstance(line, Paragraph) else None
        if most is None:
            yield line
        else:
            assert isinstance(line, Paragraph)
            yield from _wrap(line, most)


def _wrap(line: Paragraph, width: int) -> Iterator[str]:
    start = line.typed if isinstance(line, Command) else ""
    text, used, is_begun = start, cells(start), bool(start)
    for blank, word in _WORD.findall(line[len(start) :]):
        size, gap = cells(strip_escapes(word)), len(blank)
        # The first word stays on its line, however long it is: breaking before it would leave an empty line.
        if is_begun and used + gap + size > width:
            yield text
            text, used = " " * line.hang + word, line.hang + size
        else:
            text, used = text + " " * gap + word, used + gap + size
        is_begun = True
    yield text
