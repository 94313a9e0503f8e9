"""The order of subplans in a quick run: which slices may start, which groups close, which results land.

Copies the rules of `engine.rules.scopes` for a run in which nothing fails.
"""

from collections import deque

from weft.engine.state.landing_order import LandingOrder
from weft.forecast.quick.quick_state import QuickSubplan
from weft.forecast.quick.quick_tables import QuickTables
from weft.forecast.start import Start
from weft.plan.order.outline import ROOT


class QuickTree:
    """The subplans that wait for the ends of others."""

    def __init__(self, tables: QuickTables, start: Start) -> None:
        compiled = tables.compiled
        self._tables = tables
        self._compiled = compiled
        self._wiring = wiring = compiled.wiring
        self._outline = outline = compiled.plan.outline
        self._rows = len(outline.paths)
        self._carried = frozenset(start.carried)
        self._landed = frozenset(start.landed)
        self._missing = tables.missing.copy()
        self._to_close = [len(nodes) for nodes in wiring.closes]
        self._landing_order = LandingOrder([tables.in_order[row] for row in wiring.landings])
        self.is_over = False
        self.ready: deque[int] = deque()
        """Rows whose dependencies have all ended."""
        self.starting: deque[QuickSubplan] = deque()
        """Subplans that start without slots: landings, groups, and slices that earlier runs completed."""
        self._pass_token(ROOT)

    def _pass_token(self, row: int) -> None:
        self._missing[row] -= 1
        if not self._missing[row]:
            self.ready.append(row)

    def begin(self, row: int) -> bool:
        """Starts a row whose dependencies have ended; returns whether it is a slice that needs its slots first."""
        if not self._outline.leaves[row]:
            for child in self._wiring.opens[row]:
                self._pass_token(child)
            return False
        if self._carried and self._outline.paths[row] in self._carried:
            self.starting.append(self.subplan(row, self._compiled.shape_of[row]))
            return False
        return True

    def subplan(self, node: int, shape: int) -> QuickSubplan:
        """Returns the state of a subplan that starts."""
        is_landing = node >= self._rows
        row = self._wiring.landings[node - self._rows] if is_landing else node
        return QuickSubplan(
            node=node,
            row=row,
            is_slice=not is_landing and self._outline.leaves[row],
            is_carried=bool(self._carried) and self._is_carried(row, is_landing=is_landing),
            moves=self._tables.moves[shape],
            works=self._tables.works[node],
        )

    def _is_carried(self, row: int, *, is_landing: bool) -> bool:
        path = self._outline.paths[row]
        if path not in self._carried:
            return False
        # What an earlier run completed may still have to land.
        has_branch = self._compiled.plan.scopes[row].settings.has_branch
        return not (is_landing and path not in self._landed and has_branch)

    def end(self, subplan: QuickSubplan) -> None:
        """Handles the end of a slice, a group or a landing."""
        if subplan.node < self._rows:
            self._end_row(subplan.row)
        else:
            self._notify(subplan.node)

    def _end_row(self, row: int) -> None:
        if row == ROOT:
            self.is_over = True
        self._notify(row)
        number = self._tables.landings.get(row)
        if number is not None and self._landing_order.ready(number):
            self._land(number)

    def _land(self, number: int) -> None:
        """Lets a result join the landing queue, and then those that waited for it."""
        joining = deque([number])
        while joining:
            number = joining.popleft()
            shape = self._compiled.landing_shapes[number]
            self.starting.append(self.subplan(self._rows + number, shape))
            joining.extend(self._landing_order.passed(number))

    def _notify(self, node: int) -> None:
        for follower in self._wiring.followers[node]:
            self._pass_token(follower)
        group = self._tables.closes.get(node)
        if group is not None:
            self._to_close[group] -= 1
            if not self._to_close[group]:
                self._close(group)

    def _close(self, group: int) -> None:
        shape = self._compiled.shape_of[group]
        if shape < 0:
            self._end_row(group)
        else:
            self.starting.append(self.subplan(group, shape))
