"""The `max_parallel` of groups: which of them are worth a question."""

from weft.engine.state.pool_numbers import PoolNumbers
from weft.plan.order.outline import Outline

MOST = 8
"""The most groups that are watched: to watch a limit takes time at each fact, and a plan may have many groups."""


def watched_caps(outline: Outline, limits: PoolNumbers) -> set[str]:
    """Returns the names of the limits on slices that are watched: the plan's, and the tightest ones of groups."""
    if len(limits.caps) == 1:
        return set(limits.caps)
    slices: dict[str, int] = dict(zip(outline.paths, _slices(outline), strict=True))
    loads: list[tuple[float, str]] = []
    for name, number in limits.caps.items():
        path = name.partition(":")[2]
        load = slices[path] / limits.sizes[number] if path else 0.0
        # A group with no more slices than its limit never waits for it.
        if load > 1.0:
            loads.append((-load, name))
    return {"slots", *(name for _, name in sorted(loads)[:MOST])}


def _slices(outline: Outline) -> list[int]:
    """Returns the number of slices below each row."""
    slices = [int(is_leaf) for is_leaf in outline.leaves]
    for row in range(len(slices) - 1, 0, -1):
        slices[outline.parents[row]] += slices[row]
    return slices
