"""The lower bound of a run: the longest chain of dependencies, or the work divided by the slots for it."""

from collections.abc import Mapping

from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.order.outline import ROOT
from weft.plan.order.points import Points
from weft.plan.report.counts import slot_caps


class LowerBounds:
    """Finds the seconds below which no schedule of a replication is, given the work that it turned out to have."""

    def __init__(self, compiled: CompiledPlan) -> None:
        points = Points(compiled.plan.outline, compiled.after if any(compiled.after) else ())
        self._later = points.later
        self._order = points.topological_order()[::-1]
        outline = compiled.plan.outline
        self._slots = [
            (range(row, row + outline.sizes[row]), cap)
            for row, cap in enumerate(slot_caps(compiled))
            if cap is not None
        ]

    def of(self, chains: Mapping[int, float]) -> float:
        """Returns the bound; `chains` has, by row of a slice, the seconds of its steps that follow each other."""
        later, lengths = self._later, [0.0] * len(self._later)
        for point in self._order:
            beyond = max([lengths[following] for following in later[point]], default=0.0)
            # Only slices have work, and a slice has no closing, so the point is its start.
            lengths[point] = beyond + chains.get(point >> 1, 0.0)
        work = (sum(chains.get(row, 0.0) for row in rows) / cap for rows, cap in self._slots)
        return max(lengths[2 * ROOT], *work)
