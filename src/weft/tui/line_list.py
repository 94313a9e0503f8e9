"""A list of any number of lines, of which only the visible ones are made, by the Line API of Textual."""

from collections.abc import Iterator, Sequence
from typing import Any

from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from weft.app.views.wording.style import Style
from weft.cells import cells
from weft.tui.parts import Part, strip


class LineList(ScrollView, can_focus=True):
    """Lines with a cursor. Subclasses override `line`, and call `set_count` when the number of lines changes."""

    DEFAULT_CSS = (
        "LineList { height: 1fr; scrollbar-size-vertical: 1; overflow-x: hidden; background: ansi_default; }"
    )

    class Moved(Message):
        """The cursor has moved."""

        def __init__(self, lines: "LineList") -> None:
            super().__init__()
            self.lines = lines

        @property
        def control(self) -> "LineList":
            return self.lines

    def __init__(self, style: Style, *, has_cursor: bool = True, **more: Any) -> None:  # noqa: ANN401 - of a widget
        super().__init__(**more)
        self.abilities = style
        self.has_cursor = has_cursor
        self.cursor = 0
        self.count = 0

    def line(self, index: int, width: int) -> Sequence[Part]:
        raise NotImplementedError

    def set_count(self, count: int) -> None:
        """Sets the number of lines, keeps the cursor inside, and redraws."""
        self.count = count
        self.cursor = max(0, min(self.cursor, count - 1))
        self.virtual_size = Size(self.scrollable_content_region.width, count)
        self.refresh()

    def move(self, by: int) -> None:
        self.move_to(self.cursor + by)

    def move_to(self, index: int) -> None:
        if not self.has_cursor:
            self.scroll_to(y=self.scroll_offset.y + index - self.cursor, animate=False)
            return
        index = max(0, min(index, self.count - 1))
        self.cursor = index
        self.scroll_to_region(Region(0, index, 1, 1), animate=False, force=True)
        self.refresh()
        self.post_message(self.Moved(self))

    def page(self) -> int:
        return max(1, self.scrollable_content_region.height - 1)

    def on_resize(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, self.count)

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_click(self, event: Any) -> None:  # noqa: ANN401 - of Textual
        if self.has_cursor and self.scroll_offset.y + event.y < self.count:
            self.move_to(self.scroll_offset.y + event.y)

    def render_line(self, y: int) -> Strip:
        index = self.scroll_offset.y + y
        width = self.scrollable_content_region.width
        if not 0 <= index < self.count:
            return strip((), width, self.abilities)
        cursor = ""
        if self.has_cursor and index == self.cursor:
            cursor = "here" if self.has_focus else "away"
        return strip(self.line(index, width), width, self.abilities, cursor=cursor)


class FixedLines(LineList, can_focus=False):
    """A few lines that do not scroll."""

    def __init__(self, style: Style, **more: Any) -> None:  # noqa: ANN401 - of a widget
        super().__init__(style, has_cursor=False, **more)
        self.lines: Sequence[Sequence[Part]] = ()

    def show(self, lines: Sequence[Sequence[Part]]) -> None:
        if list(lines) != list(self.lines):
            self.lines = lines
            self.set_count(len(lines))

    def line(self, index: int, width: int) -> Sequence[Part]:  # noqa: ARG002 - lines are cut
        return self.lines[index]


class TextLines(LineList):
    """Text that scrolls, such as a log, with long lines broken; `follows` keeps its end visible."""

    def __init__(self, style: Style, **more: Any) -> None:  # noqa: ANN401 - of a widget
        super().__init__(style, has_cursor=False, **more)
        self._text: list[Part] = []
        self.lines: list[Part] = []
        self.follows = False
        self._wrapped_at = 0

    def show(self, text: list[Part]) -> None:
        width = max(10, self.scrollable_content_region.width)
        if text != self._text or width != self._wrapped_at:
            self._text, self._wrapped_at = text, width
            self.lines = [part for whole in text for part in broken(whole, width, self.abilities)]
            self.set_count(len(self.lines))
        self.follow(is_on=self.follows)

    def follow(self, *, is_on: bool) -> None:
        self.follows = is_on
        if is_on:
            self.scroll_end(animate=False)

    def on_resize(self) -> None:
        self.show(self._text)

    def line(self, index: int, width: int) -> Sequence[Part]:  # noqa: ARG002 - lines are broken already
        return [self.lines[index]]

    def move(self, by: int) -> None:
        self.follows = False
        self.scroll_to(y=self.scroll_offset.y + by, animate=False)

    def move_to(self, index: int) -> None:
        self.follows = False
        self.scroll_to(y=index, animate=False)


def broken(part: Part, width: int, style: Style) -> Iterator[Part]:
    """Yields the lines into which a long line is broken, each made safe for a terminal."""
    text, colour = style.shown(part[0]), part[1]
    indent = " " * min(len(text) - len(text.lstrip(" ")) + 2, width // 2)
    while cells(text) > width:
        # A cut at a blank, if there is one in the second half of the line.
        end = len(style.cut(text, width + 1)) - 1
        blank = text.rfind(" ", max(end // 2, len(indent)), end)
        end = blank if blank > 0 else max(1, end)
        yield text[:end], colour
        text = indent + text[end:].lstrip(" ")
    yield text, colour
