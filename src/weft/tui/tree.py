"""The widgets of `weft top` for the tree of subplans and for what needs a person."""

import time
from collections.abc import Callable, Sequence

from weft.app.views.needs_model import Need
from weft.app.views.run_view import RunView
from weft.app.views.wording.row_words import row_words
from weft.app.views.wording.signs import SIGNS
from weft.app.views.wording.style import Style
from weft.cells import cells
from weft.engine.states import SubplanExecutionState as State
from weft.plan.order.outline import ROOT
from weft.tui.line_list import LineList
from weft.tui.parts import Part
from weft.tui.summary import need_line
from weft.tui.tree_rows import TreeRows

_COST_FROM = 50
"""The least width for the cost of a subplan."""


class SubplanTree(LineList):
    def __init__(self, style: Style) -> None:
        super().__init__(style, id="tree")
        self._view: RunView | None = None
        self._clock: Callable[[], float] = time.time
        self.tree_rows: TreeRows | None = None
        self.rows: list[int] = []
        self._version: int = -1

    def show(self, view: RunView, clock: Callable[[], float]) -> None:
        """Shows another run. `clock` returns the time that its clocks show."""
        self._clock = clock
        self._view, self.tree_rows, self._version, self.cursor = view, TreeRows(view), -1, 0
        self.update_rows()

    @property
    def row(self) -> int:
        """The chosen subplan; the whole plan if there is none."""
        return self.rows[self.cursor] if self.cursor < len(self.rows) else ROOT

    def update_rows(self, *, forced: bool = True) -> None:
        """Finds the visible rows again if anything has changed, and keeps the cursor on its subplan."""
        if self._view is None or self.tree_rows is None:
            return
        if not forced and self._view.version == self._version:
            self.refresh()  # only the clocks have changed
            return
        chosen, self._version = self.row, self._view.version
        self.rows = self.tree_rows.rows()
        if chosen in self.rows:
            self.cursor = self.rows.index(chosen)
        self.set_count(len(self.rows))

    def jump(self, row: int) -> None:
        """Moves the cursor to a subplan, and makes it visible."""
        assert self.tree_rows is not None
        if row == ROOT:
            return
        self.tree_rows.reveal(row)
        self.update_rows()
        if row in self.rows:
            self.move_to(self.rows.index(row))

    def fold(self, *, is_open: bool) -> None:
        """Folds or unfolds the chosen group; on a slice, folding moves to its group."""
        if self._view is None or self.tree_rows is None or not self.rows:
            return
        row = self.row
        if self._view.outline.leaves[row] or (not is_open and not self.tree_rows.is_open(row)):
            if not is_open and self._view.outline.parents[row] != ROOT:
                self.jump(self._view.outline.parents[row])
            return
        self.tree_rows.set_open(row, is_open=is_open)
        self.update_rows()

    def find(self, states: Sequence[str]) -> bool:
        """Moves to the next visible subplan with one of these signs, and returns whether there is one."""
        assert self._view is not None
        now = self._clock()
        count = len(self.rows)
        around = [(self.cursor + 1 + number) % count for number in range(count)]
        for index in around:
            row_view = self._view.rows[self.rows[index]]
            # Most rows wait; the words about these need not be made.
            if row_view.state is State.PENDING:
                continue
            if row_words(self._view, self.rows[index], now, is_tree=True).sign in states:
                self.move_to(index)
                return True
        return False

    def line(self, index: int, width: int) -> Sequence[Part]:
        assert self._view is not None
        assert self.tree_rows is not None
        row = self.rows[index]
        words = row_words(self._view, row, self._clock(), is_tree=True)
        sign, style = SIGNS[words.sign], self.abilities
        marks = ("▾", "▸") if style.unicode else ("-", "+")
        is_group = not self._view.outline.leaves[row]
        mark = marks[0 if self.tree_rows.is_open(row) else 1] if is_group else " "
        depth = len(words.name) - len(words.name.lstrip(" "))
        name = " " * depth + f"{mark} " * is_group + words.name.lstrip(" ")
        right = "  ".join(filter(None, (words.step, words.time, words.cost if width >= _COST_FROM else "")))
        room = max(8, width - 2)
        name = style.cut(style.shown(name), room)
        parts: list[Part] = [(f"{sign.shape(unicode=style.unicode)} ", sign.colour)]
        parts.append((style.fit(name, min(room, max(18, width * 2 // 5))), "bold" if is_group else ""))
        parts.append((f"  {right}" if right else "", ""))
        used = sum(cells(text) for text, _ in parts)
        if words.detail and width - used > 8:  # noqa: PLR2004 - shorter would say nothing
            parts.append((f"  {words.detail}", words.style))
        return parts


class NeedsList(LineList):
    DEFAULT_CSS = "NeedsList { height: auto; max-height: 30%; }"

    def __init__(self, style: Style) -> None:
        super().__init__(style, id="needs")
        self.needs: Sequence[Need] = ()

    def show(self, needs: Sequence[Need]) -> None:
        if list(needs) != list(self.needs):
            self.needs = needs
            self.styles.height = min(len(needs), 6)
            self.display = bool(needs)
            self.set_count(len(needs))

    @property
    def need(self) -> Need | None:
        return self.needs[self.cursor] if self.cursor < len(self.needs) else None

    def line(self, index: int, width: int) -> Sequence[Part]:  # noqa: ARG002 - lines are cut
        return need_line(self.needs[index], unicode=self.abilities.unicode)
