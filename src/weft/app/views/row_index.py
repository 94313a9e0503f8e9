"""An index of a run's rows by what a view shows of them, so that the cost of a view depends only on its size.

Of ten thousand slices a view shows a few dozen. Each row of the plan is in at most one *list*; a list has its rows
in the order in which they entered it:

asking    a person has to answer a question
held      a person has to help with a merge
running   steps are running, or the slice waits for its next step
failed    the subplan failed by itself, or its group continued without it
waiting   the subplan has not started; a group that has not started stands for its contents
settled   the subplan has ended in another way; a group that has ended stands for its contents
"""

from collections.abc import Iterator, Sequence
from typing import Self

from weft.app.views.rows import RowView
from weft.engine.states import SubplanExecutionState as State
from weft.plan.order.outline import ROOT, Outline

_ENDS = frozenset({State.COMPLETED, State.FAILED})
RowList = dict[int, None]
"""An ordered set of rows."""


class RowIndex:
    def __init__(self, outline: Outline, rows: Sequence[RowView]) -> None:
        self.asking: RowList = {}
        self.held: RowList = {}
        self.running: RowList = {}
        self.failed: RowList = {}
        self.waiting: RowList = {}
        self.settled: RowList = {}
        self._outline = outline
        self._rows = rows
        self._opened: set[int] = set()
        self._list_of: list[RowList | None] = [None] * len(rows)
        """The present list of each row."""
        self._changed: dict[int, None] = {}
        """Rows that may be in the wrong list."""
        self._open(ROOT)

    def mark(self, view: RowView) -> None:
        """Marks a row for `update`, which moves it later: most rows change more often than a view is drawn."""
        if view.state in _ENDS:
            self._changed.pop(
                view.number, None
            )  # ended rows are in the order of their ends, not of their starts
        self._changed[view.number] = None

    def update(self) -> Self:
        """Moves all changed rows to their lists and returns the index."""
        for row in self._changed:
            self._put(row)
        self._changed.clear()
        return self

    def _put(self, row: int) -> None:
        """Moves a row to its list. A group that starts or ends also moves its contents."""
        is_leaf, state = self._outline.leaves[row], self._rows[row].state
        # Something in the group has started, so the group can no longer stand for all its contents.
        if state is not State.PENDING and row != ROOT:
            self._open(self._outline.parents[row] if is_leaf else row)
        self._move(row)
        # The children were in lists of their own while the group ran; now the group stands for them.
        if state.terminal and not is_leaf:
            for child in self._outline.children(row):
                self._move(child)

    def _open(self, group: int) -> None:
        """Lists the parts of a group separately, once something in it has started."""
        if group in self._opened:
            return
        # From the outside in, so that a list holds a group before its contents.
        for unopened in reversed(
            [unopened for unopened in self._up_from(group) if unopened not in self._opened]
        ):
            self._opened.add(unopened)
            self._move(unopened)
            for child in self._outline.children(unopened):
                if child not in self._changed:  # `update` moves the changed rows itself
                    self._move(child)

    def _up_from(self, row: int) -> Iterator[int]:
        while row >= ROOT:
            yield row
            row = self._outline.parents[row]

    def _move(self, row: int) -> None:
        old_list, new_list = self._list_of[row], self._list_for(row)
        if new_list is old_list:
            return
        if old_list is not None:
            del old_list[row]
        if new_list is not None:
            new_list[row] = None
        self._list_of[row] = new_list

    def _list_for(self, row: int) -> RowList | None:
        view, is_leaf = self._rows[row], self._outline.leaves[row]
        if view.questions:
            return self.asking
        if view.held is not None and view.held.needs_help:
            return self.held
        if view.steps or (is_leaf and view.state is State.RUNNING):
            return self.running
        if view.failed_by_itself or view.left_out is not None:
            return self.failed
        return None if row == ROOT else self._quiet_list(row)

    def _quiet_list(self, row: int) -> RowList | None:
        parent, state = self._outline.parents[row], self._rows[row].state
        if state.terminal:
            # Below a group that has ended, the group's own row is enough.
            return None if parent != ROOT and self._rows[parent].state.terminal else self.settled
        return self.waiting if state is State.PENDING and row not in self._opened else None
