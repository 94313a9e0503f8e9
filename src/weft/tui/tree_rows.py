"""The rows of the tree: which subplans are visible, in plan order.

Completed work that has landed is hidden, and so is everything in a folded group. A group that has not started is
folded until the user opens it. A filter shows the subplans with a text in their path, and the groups around them.
"""

from weft.app.views.run_view import RunView
from weft.engine.states import SubplanExecutionState as State
from weft.plan.order.outline import ROOT

_SETTLED = frozenset({"", "merged"})


class TreeRows:
    def __init__(self, view: RunView) -> None:
        self._view = view
        self._opened: dict[int, bool] = {}
        """Groups that the user has opened or folded."""
        self.shows_all = False
        self.filter = ""
        self.hidden = 0
        """Slices that are not shown because they are completed and have landed."""

    def is_open(self, row: int) -> bool:
        return self._opened.get(row, self._view.rows[row].state is not State.PENDING)

    def set_open(self, row: int, *, is_open: bool) -> None:
        self._opened[row] = is_open

    def reveal(self, row: int) -> None:
        """Opens the groups around a subplan, and shows everything if it would be hidden otherwise."""
        parents = self._view.outline.parents
        self.shows_all |= self._is_settled(row)
        group = parents[row] if row != ROOT else ROOT
        while group != ROOT:
            self._opened[group] = True
            self.shows_all |= self._is_settled(group)
            group = parents[group]

    def rows(self) -> list[int]:
        if self.filter:
            return self._matching()
        outline, visible = self._view.outline, list[int]()
        leaves, sizes = outline.leaves, outline.sizes
        hidden, row, end = 0, 1, len(leaves)
        while row < end:
            if not self.shows_all and self._is_settled(row):
                hidden += 1 if leaves[row] else self._view.tallies[row][State.COMPLETED]
                row += sizes[row]
                continue
            visible.append(row)
            row += 1 if leaves[row] or self.is_open(row) else sizes[row]
        self.hidden = hidden
        return visible

    def _matching(self) -> list[int]:
        outline, text = self._view.outline, self.filter.lower()
        shown: set[int] = set()
        for row, path in enumerate(outline.paths):
            if row != ROOT and text in path.lower():
                while row not in shown and row != ROOT:
                    shown.add(row)
                    row = outline.parents[row]  # noqa: PLW2901 - from the match up to the plan
        self.hidden = 0
        return sorted(shown)

    def _is_settled(self, row: int) -> bool:
        view = self._view.rows[row]
        return view.state is State.COMPLETED and view.landing in _SETTLED and view.left_out is None
