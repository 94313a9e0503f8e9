"""A run on a terminal, as it is now: a few lines at the bottom that are kept up to date.

To look at 32 steps must not cost what a step costs. So a picture is made of what it shows and not of the whole
plan, at most four times a second, and of the lines in it only those are written that have changed. What was on the
terminal before stays; when the picture goes, nothing is left of it.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import zip_longest
from types import TracebackType
from typing import Self, TextIO

from weft.app.views.run_view import RunView
from weft.cli.live.choice import choose
from weft.cli.live.footer import footer
from weft.cli.live.keyboard import no_echo
from weft.cli.live.table import table
from weft.cli.terminal import cells, terminal_size, unpainted
from weft.cli.wording.cells import Style

SOONEST, LATEST = 0.25, 1.0
"""Seconds from one picture to the next: if something has changed, and if only time has passed."""
_SPACIOUS = 12
"""The height from which on a blank line sets off what is below the table."""
_SOME_SIZE = (80, 24)

_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"
# Within one picture the terminal need not show anything, and a line that turns out too long is cut, not wrapped.
_BEGIN, _END = "\x1b[?2026h\x1b[?7l", "\x1b[?7h\x1b[?2026l"


def screen(view: RunView, now: float, width: int, height: int, style: Style) -> list[str]:
    """The picture: at most so many lines, each of at most so many cells."""
    below = footer(view, now, width, min(height, max(2, height // 3)), style)
    room = height - len(below)
    space = [""] if height >= _SPACIOUS else []
    above = table(view, now, choose(view, room - len(space)), width, style) if room > 0 else []
    return [*above, *space, *below] if above else below


def size_of(stream: TextIO) -> tuple[int, int]:
    """Columns and lines."""
    return terminal_size(stream) or _SOME_SIZE


class Screen:
    """Draws on a terminal; used with `with`, so that it is left as it was found, whatever happens."""

    def __init__(
        self, stream: TextIO, style: Style, *, size: Callable[[TextIO], tuple[int, int]] = size_of
    ) -> None:
        self._stream = stream
        self._style = style
        self._size = size
        self._drawn: list[str] = []
        self._drawn_size = (0, 0)
        self._drawn_version = -1
        self._drawn_at = float("-inf")
        self._is_gone = False
        self._at_exit = ExitStack()

    def __enter__(self) -> Self:
        self._at_exit.enter_context(no_echo(self._stream))
        self._at_exit.callback(self.clear)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._at_exit.__exit__(kind, error, trace)

    def is_due(self, view: RunView, now: float) -> bool:
        is_same = view.version == self._drawn_version and self._size(self._stream) == self._drawn_size
        return not 0 <= now - self._drawn_at < (LATEST if is_same else SOONEST)

    def show(self, view: RunView, now: float) -> bool:
        """Draw the run if it is time to; to be called often."""
        if not self.is_due(view, now):
            return False
        columns, lines = self._size(self._stream)
        # The last column stays free: terminals differ in what they do there. So does a line, for what was before.
        self.draw(screen(view, now, max(1, columns - 1), max(1, lines - 1), self._style))
        self._drawn_version, self._drawn_at = view.version, now
        return True

    def draw(self, lines: Sequence[str]) -> None:
        size = self._size(self._stream)
        before = self._wiped() if self._drawn and size != self._drawn_size else ""
        hide = "" if self._drawn else _HIDE
        self._write(_BEGIN + before + hide + _changes(self._drawn, lines) + _END)
        self._drawn, self._drawn_size = list(lines), size

    def say(self, lines: Sequence[str]) -> None:
        """Lines that stay, above the picture; it comes back below them when it is next shown."""
        self.clear()
        self._write("".join(f"{self._style.shown(line)}\r\n" for line in lines))

    def clear(self) -> None:
        """Take the picture away; the terminal is as it was before."""
        if self._drawn:
            self._write(self._wiped() + _SHOW)
            self._drawn_version, self._drawn_at = -1, float("-inf")

    def _wiped(self) -> str:
        """Goes to where the picture begins, and erases from there on.

        The cursor is at the beginning of its last line. In a terminal that has become narrower, a line may be two.
        """
        columns, height = self._size(self._stream)
        rows = sum(max(1, -(-cells(unpainted(line)) // columns)) for line in self._drawn[:-1])
        self._drawn = []
        return f"\r{_up(min(rows, height - 1))}\x1b[J"

    def _write(self, text: str) -> None:
        """Once nobody can look any more, the run goes on without."""
        if self._is_gone:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._is_gone = True


def _up(lines: int) -> str:
    return f"\x1b[{lines}A" if lines else ""


def _changes(old: Sequence[str], new: Sequence[str]) -> str:
    """From the last line of the old picture to the last of the new, and what has changed on the way.

    The last line is written always: what the user types appears there.
    """
    parts = ["\r", _up(len(old) - 1)] if old else ["\r"]
    last = len(new) - 1
    for number, (was, now) in enumerate(zip_longest(old[: len(new)], new)):
        if was != now or number == last:
            parts.append(f"{now}\x1b[K")
        if number != last:
            parts.append("\r\n")
    if len(old) > len(new):
        parts.append("\r\n\x1b[J\x1b[A")
    return "".join([*parts, "\r"])
