"""The screen of `weft top`, and the clock that keeps it up to date.

`RunSource` reads everything from the journal, in slices of a few milliseconds, so that a key is answered within a
frame while a long history is read. Only what has changed is drawn.
"""

import time
from typing import ClassVar

from textual import events, work
from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical

from weft.app.inspect.follower import RunFollower
from weft.app.inspect.log_tail import LogTail
from weft.app.views.needs import needs_of
from weft.app.views.wording.style import Style
from weft.tui.commands import KEYS
from weft.tui.details import diff_parts, log_parts
from weft.tui.line_list import FixedLines, LineList, TextLines
from weft.tui.parts import Part
from weft.tui.prompt import Prompt
from weft.tui.source import RunSource
from weft.tui.summary import heading, why_lines
from weft.tui.tree import NeedsList, SubplanTree

TICK = 0.25
"""Seconds between two looks at the journal."""
_AT_ONCE = 0.012
"""Seconds for which the journal is read before keys are handled again."""
_NARROW = 70
"""Columns; below that, the tree and the details take turns."""
TABS = {"L": "log", "W": "why", "D": "diff"}
_HINT = "j k move  Enter open  L log  W why  D diff  / filter  : go  ? help  q leave"

_SHORT_HINT = "Enter open  ? help  q leave"


class RunDisplay(App[None]):
    """What is on the screen. Subclasses add the keys."""

    CSS = """
    Screen { background: ansi_default; }
    #head { height: 2; } #tabs, #hint { height: 1; } #main { height: 1fr; }
    #tree { width: 1fr; } #right { width: 1fr; border-left: solid ansi_bright_black; padding-left: 1; }
    #prompt { display: none; height: 1; border: none; padding: 0; background: ansi_default; }
    .narrow #right { display: none; border-left: none; padding-left: 0; }
    .narrow.details #tree { display: none; } .narrow.details #right { display: block; }
    """
    BINDINGS: ClassVar = [("ctrl+c", "quit", "Leave")]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, source: RunSource, style: Style) -> None:
        super().__init__(ansi_color=True)
        self._source = source
        self._style = style
        self._tab = "log"
        self._tail: LogTail | None = None
        self._search = ""
        self._note = ""
        self._copies = False
        """Whether the next key is copied as a command."""
        self._diff: tuple[int, list[Part]] | None = None
        self._drawn = (-1, 0.0)
        self._asks = ""
        """What is typed into the prompt: `/` or `:`."""

    def compose(self) -> ComposeResult:
        yield FixedLines(self._style, id="head")
        yield NeedsList(self._style)
        with Horizontal(id="main"):
            yield SubplanTree(self._style)
            with Vertical(id="right"):
                yield FixedLines(self._style, id="tabs")
                yield TextLines(self._style, id="details")
        yield Prompt(id="prompt", compact=True)
        yield FixedLines(self._style, id="hint")

    # Parts of the screen

    @property
    def _tree(self) -> SubplanTree:
        return self.query_one(SubplanTree)

    @property
    def _needs(self) -> NeedsList:
        return self.query_one(NeedsList)

    @property
    def _details(self) -> TextLines:
        return self.query_one("#details", TextLines)

    @property
    def _follower(self) -> RunFollower | None:
        return self._source.follower

    def on_mount(self) -> None:
        self._needs.display = False
        self._details.follows = True
        self.set_interval(TICK, self._tick)
        if self._follower is not None:
            self._tree.show(self._follower.view, self._follower.now)
        self._tick()
        self._tree.focus()

    def on_resize(self, event: events.Resize) -> None:
        self.screen.set_class(event.size.width < _NARROW, "narrow")

    # The clock

    def _tick(self) -> None:
        if self._source.update(_AT_ONCE) and self._follower is not None:
            self._tree.show(self._follower.view, self._follower.now)
            self._tail = None
        follower = self._follower
        if follower is None:
            self._show_nothing()
            return
        if follower.is_reading:
            self.set_timer(0.001, self._tick)
        else:
            follower.look_around()
        is_news = follower.view.version != self._drawn[0]
        # While a long history is read, a picture for each slice of it would take longer than the reading.
        if (is_news and not follower.is_reading) or time.monotonic() - self._drawn[1] >= 4 * TICK:
            self._draw(follower)

    def _draw(self, follower: RunFollower) -> None:
        now = follower.now()
        is_news = follower.view.version != self._drawn[0]
        self._drawn = (follower.view.version, time.monotonic())
        self.query_one("#head", FixedLines).show(heading(follower, now))
        if is_news and not follower.is_reading:
            is_active = follower.attendance.pid is not None
            self._needs.show(needs_of(follower.view, now, is_active=is_active, state=follower.state))
        self._tree.update_rows(forced=False)
        self._show_details(follower, has_news=is_news)
        self._show_hint()

    def _show_nothing(self) -> None:
        lines = [[(self._source.problem, "yellow")], [("waiting for a run; q leaves", "dim")]]
        self.query_one("#head", FixedLines).show(lines)
        self._show_hint()

    def _show_hint(self) -> None:
        hint = _HINT if self.size.width >= _NARROW else _SHORT_HINT
        text, colour = hint, "dim"
        if self._copies:
            text, colour = f"copy the command of which key? {' '.join(KEYS)}", "yellow"
        elif self._note:
            text, colour = self._note, "cyan"
        elif self._tree.tree_rows is not None and self._tree.tree_rows.filter:
            text, colour = f"filter: {self._tree.tree_rows.filter}  (Esc ends it)", "yellow"
        elif self._tree.tree_rows is not None and self._tree.tree_rows.hidden:
            text = f"{self._tree.tree_rows.hidden:,} hidden: z  {hint}"
        self.query_one("#hint", FixedLines).show([[(text, colour)]])

    # The right side

    def _show_details(self, follower: RunFollower, *, has_news: bool) -> None:
        row = self._tree.row
        path = str(follower.view.outline.paths[row])
        tabs: list[Part] = [(f"{path or follower.view.plan.id} ", "bold")]
        for name in TABS.values():
            tabs += [(f" {name} ", "title" if name == self._tab else "dim")]
        self.query_one("#tabs", FixedLines).show([tabs])
        if self._tab == "log":
            self._show_log(path, has_news=has_news)
        elif self._tab == "why":
            parts = list(why_lines(follower.view, row, list(self._needs.needs), follower.now()))
            self._details.show(parts)
        elif self._diff is None or self._diff[0] != row:
            self._diff = (row, [("comparing", "dim")])
            self._details.show(self._diff[1])
            self._load_diff(row, path)
        else:
            self._details.show(self._diff[1])

    def _show_log(self, path: str, *, has_news: bool) -> None:
        if self._tail is None or self._tail.path != path:
            self._tail, has_news = self._source.log(path), True
            self._details.follows = True
            assert self._tail is not None
            self._tail.update()
            self._details.show(log_parts(self._tail))
        elif self._tail.update(has_news=has_news):
            self._details.show(log_parts(self._tail))

    @work(thread=True, exclusive=True, group="diff")
    def _load_diff(self, row: int, path: str) -> None:
        assert self._follower is not None
        parts = diff_parts(self._source.directory, self._follower.run, path)
        self.call_from_thread(self._take_diff, row, parts)

    def _take_diff(self, row: int, parts: list[Part]) -> None:
        self._diff = (row, parts)
        if self._tab == "diff" and self._tree.row == row:
            self._details.show(parts)

    def on_line_list_moved(self, message: LineList.Moved) -> None:
        if self._follower is None:
            return
        if message.lines is self._needs and self._needs.need is not None:
            self._tree.jump(self._needs.need.row)
        self._show_details(self._follower, has_news=False)
