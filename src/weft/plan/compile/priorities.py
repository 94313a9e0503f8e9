"""Priorities: the subplan with the longest path behind it goes first.

In a serial group, all parts have the priority of the group, so that the order of the plan decides.
"""

from collections.abc import Sequence

from weft.plan.model import Plan, Subplan
from weft.plan.order.points import Points


def weight(subplan: Subplan) -> float:
    """Returns the expected minutes of a slice; 1 if it has no estimate."""
    estimate = subplan.estimate
    return sum(estimate.minutes) / 2 if estimate is not None and estimate.minutes is not None else 1.0


def priorities(plan: Plan, after: Sequence[Sequence[int]]) -> list[int]:
    """Returns a number for each row; the higher goes first."""
    outline = plan.outline
    points = Points(outline, after if any(after) else ())
    later, leaves = points.later, outline.leaves
    lengths = [0.0] * len(later)
    weights = [weight(subplan) if leaf else 0.0 for subplan, leaf in zip(plan.subplans, leaves, strict=True)]
    # Backwards, so that the length behind each point is known when it is needed: the critical path.
    for point in reversed(points.topological_order()):
        beyond = max([lengths[following] for following in later[point]], default=0.0)
        lengths[point] = beyond + weights[point // 2]
    rows = lengths[::2]
    for row in range(1, len(rows)):
        parent = outline.parents[row]
        if plan.scopes[parent].settings.policy == "serial":
            rows[row] = rows[parent]
    # The net needs integers; only the order of the lengths matters.
    levels = {length: level for level, length in enumerate(sorted(set(rows)))}
    return [levels[length] for length in rows]
