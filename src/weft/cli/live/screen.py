"""The live view of a run: a few lines at the bottom of a terminal that are kept up to date.

Watching 32 steps must cost far less than running one. So a picture is computed from the rows that it shows and not
from the whole plan, at most four times a second, and only changed lines are written. Earlier output on the
terminal stays, and the picture is erased at the end.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import zip_longest
from types import TracebackType
from typing import Self, TextIO

from weft.app.views.run_view import RunView
from weft.app.views.wording.style import Style
from weft.cells import cells, strip_escapes
from weft.cli.live.choice import choose
from weft.cli.live.footer import footer
from weft.cli.live.keyboard import no_echo
from weft.cli.live.table import table
from weft.cli.terminal import terminal_size

SOONEST, LATEST = 0.25, 1.0
"""Seconds from one picture to the next: if something has changed, and if only time has passed."""
SPACIOUS = 12
"""The least height for a blank line between the table and the footer."""
_SOME_SIZE = (80, 24)

_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"
# Within one picture the terminal need not show anything, and a line that turns out too long is cut, not wrapped.
_BEGIN, _END = "\x1b[?2026h\x1b[?7l", "\x1b[?7h\x1b[?2026l"


Size = tuple[int, int]
"""Columns and lines."""
Compose = Callable[[RunView, float, Size, Style], list[str]]
"""Returns the lines of a picture of at most this size."""


def screen(view: RunView, now: float, size: Size, style: Style) -> list[str]:
    """Returns the picture of a run: at most as many lines, each of at most as many cells."""
    width, height = size
    below = footer(view, now, width, min(height, max(2, height // 3)), style)
    room = height - len(below)
    space = [""] if height >= SPACIOUS else []
    above = table(view, now, choose(view, room - len(space)), width, style) if room > 0 else []
    return [*above, *space, *below] if above else below


def size_of(stream: TextIO) -> tuple[int, int]:
    """Returns the columns and lines of the terminal."""
    return terminal_size(stream) or _SOME_SIZE


class Screen:
    """Draws on a terminal. Used with `with`, so that the terminal is restored in any case."""

    def __init__(
        self,
        stream: TextIO,
        style: Style,
        *,
        size: Callable[[TextIO], Size] = size_of,
        compose: Compose = screen,
        has_keys: bool = False,
    ) -> None:
        """`has_keys` says whether keys do something, and are read one by one."""
        self._stream = stream
        self._compose = compose
        self._has_keys = has_keys
        self._is_suspended = False
        self._unsaid: list[str] = []
        """Lines to print when the terminal is free again."""
        self._style = style
        self._size = size
        self._drawn: list[str] = []
        self._drawn_size = (0, 0)
        self._drawn_version = -1
        self._drawn_at = float("-inf")
        self._is_gone = False
        self._at_exit = ExitStack()

    def __enter__(self) -> Self:
        self._take_terminal()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._at_exit.__exit__(kind, error, trace)

    def _take_terminal(self) -> None:
        self._at_exit.enter_context(no_echo(self._stream, single_keys=self._has_keys))
        self._at_exit.callback(self.clear)

    def suspend(self) -> None:
        """Gives the terminal to another program, until `resume`."""
        self._at_exit.close()
        self._is_suspended = True

    def resume(self) -> None:
        """Takes the terminal back, and prints what was said meanwhile."""
        self._is_suspended = False
        self._at_exit = ExitStack()
        self._take_terminal()
        unsaid, self._unsaid = self._unsaid, []
        if unsaid:
            self.say(unsaid)

    def invalidate(self) -> None:
        """Makes the next picture due at once."""
        self._drawn_version, self._drawn_at = -1, float("-inf")

    def is_due(self, view: RunView, now: float) -> bool:
        # Without news only the clocks on the screen change, and once a second is enough for those.
        is_same = view.version == self._drawn_version and self._size(self._stream) == self._drawn_size
        return not 0 <= now - self._drawn_at < (LATEST if is_same else SOONEST)

    def show(self, view: RunView, now: float) -> bool:
        """Draws the run if a new picture is due, and returns whether it did. Callers may call this often."""
        if self._is_suspended or not self.is_due(view, now):
            return False
        columns, lines = self._size(self._stream)
        # The last column stays free, because terminals treat it differently; one line stays for earlier output.
        self.draw(self._compose(view, now, (max(1, columns - 1), max(1, lines - 1)), self._style))
        self._drawn_version, self._drawn_at = view.version, now
        return True

    def draw(self, lines: Sequence[str]) -> None:
        size = self._size(self._stream)
        # After a change of the size, lines of the old picture may be wrapped, and their positions are not known
        # any more.
        before = self._erase_codes() if self._drawn and size != self._drawn_size else ""
        hide = "" if self._drawn else _HIDE
        self._write(_BEGIN + before + hide + _changes(self._drawn, lines) + _END)
        self._drawn, self._drawn_size = list(lines), size

    def say(self, lines: Sequence[str]) -> None:
        """Prints lines above the picture. The picture comes back below them when it is next drawn."""
        if self._is_suspended:
            self._unsaid += lines
            return
        self.clear()
        self._write("".join(f"{self._style.shown(line)}\r\n" for line in lines))

    def clear(self) -> None:
        """Erases the picture; the terminal is as it was before."""
        if self._drawn:
            self._write(self._erase_codes() + _SHOW)
            self.invalidate()

    def _erase_codes(self) -> str:
        """Returns the escape codes that move to the start of the picture and erase it.

        The cursor is at the beginning of its last line. In a terminal that has become narrower, one line may take
        two rows.
        """
        columns, height = self._size(self._stream)
        rows = sum(max(1, -(-cells(strip_escapes(line)) // columns)) for line in self._drawn[:-1])
        self._drawn = []
        return f"\r{_up(min(rows, height - 1))}\x1b[J"

    def _write(self, text: str) -> None:
        """Writes to the terminal. If that fails, the run continues without a picture."""
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
    """Returns the text that turns the old picture into the new one; the cursor starts and ends in the last line.

    The last line is always written, because text that the user types appears there.
    """
    parts = ["\r", _up(len(old) - 1)] if old else ["\r"]
    last = len(new) - 1
    for number, (old_line, new_line) in enumerate(zip_longest(old[: len(new)], new)):
        if old_line != new_line or number == last:
            parts.append(f"{new_line}\x1b[K")
        if number != last:
            parts.append("\r\n")
    if len(old) > len(new):
        parts.append("\r\n\x1b[J\x1b[A")
    return "".join([*parts, "\r"])
