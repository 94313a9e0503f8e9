"""What matters most in a run, kept at hand, so that a picture of it costs what it shows.

Of ten thousand slices a few dozen lines are shown. Each row of the plan lies on at most one *shelf*, in the order
in which it came there:

asking    somebody has to answer a question
held      somebody has to help with a merge
running   steps are under way, or it waits for its next one
failed    it failed by itself, not because of another; or the group around it has gone on without it
waiting   it has not begun; of a group in which nothing has begun, only the group
settled   it has ended in some other way; of a group that has ended, only the group
"""

from collections.abc import Iterator, Sequence
from typing import Self

from weft.app.views.rows import RowView
from weft.engine.states import SubplanExecutionState as State
from weft.plan.order.outline import ROOT, Outline

Shelf = dict[int, None]
"""Rows, in order."""


class RowIndex:
    def __init__(self, outline: Outline, rows: Sequence[RowView]) -> None:
        self.asking: Shelf = {}
        self.held: Shelf = {}
        self.running: Shelf = {}
        self.failed: Shelf = {}
        self.waiting: Shelf = {}
        self.settled: Shelf = {}
        self._outline = outline
        self._rows = rows
        self._opened: set[int] = set()
        self._where: list[Shelf | None] = [None] * len(rows)
        """By row, the shelf it lies on."""
        self._changed: dict[int, None] = {}
        """Rows that may lie on the wrong one."""
        self._open(ROOT)

    def changed(self, row: int) -> None:
        """It is put where it belongs when somebody looks: many rows change more often than they are looked at."""
        if self._rows[row].state.terminal:
            self._changed.pop(row, None)  # it comes in the order of ends, not of beginnings
        self._changed[row] = None

    def tidied(self) -> Self:
        for row in self._changed:
            self._put(row)
        self._changed.clear()
        return self

    def _put(self, row: int) -> None:
        """Where it belongs now. A group that begins or ends moves what is in it, too."""
        is_leaf, state = self._outline.leaves[row], self._rows[row].state
        if state is not State.PENDING and row != ROOT:
            self._open(self._outline.parents[row] if is_leaf else row)
        self._shelve(row)
        if state.terminal and not is_leaf:
            for child in self._outline.children(row):
                self._shelve(child)

    def _open(self, group: int) -> None:
        """Something in a group has begun: from now on its parts are shown one by one."""
        if group in self._opened:
            return
        for one in reversed([one for one in self._up_from(group) if one not in self._opened]):
            self._opened.add(one)
            self._shelve(one)
            for child in self._outline.children(one):
                if child not in self._changed:  # those have a turn of their own
                    self._shelve(child)

    def _up_from(self, row: int) -> Iterator[int]:
        while row >= ROOT:
            yield row
            row = self._outline.parents[row]

    def _shelve(self, row: int) -> None:
        before, right = self._where[row], self._shelf(row)
        if right is before:
            return
        if before is not None:
            del before[row]
        if right is not None:
            right[row] = None
        self._where[row] = right

    def _shelf(self, row: int) -> Shelf | None:
        one, is_leaf = self._rows[row], self._outline.leaves[row]
        if one.questions:
            return self.asking
        if one.held is not None and one.held.needs_help:
            return self.held
        if one.steps or (is_leaf and one.state is State.RUNNING):
            return self.running
        if one.failed_by_itself or one.left_out is not None:
            return self.failed
        return None if row == ROOT else self._quiet_shelf(row)

    def _quiet_shelf(self, row: int) -> Shelf | None:
        parent, state = self._outline.parents[row], self._rows[row].state
        if state.terminal:
            return None if parent != ROOT and self._rows[parent].state.terminal else self.settled
        return self.waiting if state is State.PENDING and row not in self._opened else None
