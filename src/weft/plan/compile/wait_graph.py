"""The graph of dependencies above the slices: which subplan starts when which others have ended.

A child that waits for another child of its group does not also wait for the group to open, and a child that
others of the group wait for does not also signal its end to the group: both are implied.
"""

from collections.abc import Sequence

from msgspec import Struct

from weft.plan.order.outline import ROOT, Outline


class Wiring(Struct, frozen=True):
    """The dependencies between subplans. Ends are numbered by row; landings follow after the last row."""

    opens: list[list[int]]
    """For each group, the children that start when it opens."""
    followers: list[list[int]]
    """For each row and landing, the rows that wait for its end."""
    closes: list[list[int]]
    """For each group, the rows and landings that must end before it closes."""
    landings: list[int]
    """The rows that land, in plan order."""


def wiring_of(outline: Outline, after: Sequence[Sequence[int]], landings: Sequence[int]) -> Wiring:
    """Returns the dependencies of a plan."""
    rows = len(outline.paths)
    opens: list[list[int]] = [[] for _ in range(rows)]
    followers: list[list[int]] = [[] for _ in range(rows + len(landings))]
    closes: list[list[int]] = [[] for _ in range(rows)]
    implied = bytearray(rows)  # another row of its group waits for it, or the plan waits for its landing
    parents, sizes = outline.parents, outline.sizes
    for number, row in enumerate(landings):
        # A landing can be held for days, so only the end of the whole plan waits for it.
        closes[ROOT].append(rows + number)
        implied[row] = implied[row] or parents[row] == ROOT
    for row in range(1, rows):
        parent = parents[row]
        first, last = parent, parent + sizes[parent]
        opened = False
        waits = outline.depends_on[row]
        for earlier in dict.fromkeys((*waits, *after[row])) if after[row] else waits:
            followers[earlier].append(row)
            # The dependency is in the same group, so it waits for the group's opening already.
            opened = opened or first < earlier < last
            group = parents[earlier]
            # The row that waits is in the same group, and its end implies that of the earlier row.
            if group < row < group + sizes[group]:
                implied[earlier] = 1
        if not opened:
            opens[parent].append(row)
    for row in range(1, rows):
        if not implied[row]:
            closes[parents[row]].append(row)
    return Wiring(opens, followers, closes, list(landings))
