"""The graph of waiting above the slices: which subplan begins when which others have ended.

A child that waits for something in its own group does not also wait for the group to open, and one for which
something in the group waits does not also tell the group that it ended: both follow.
"""

from collections.abc import Sequence

from msgspec import Struct

from weft.plan.order.outline import ROOT, Outline


class Wiring(Struct, frozen=True):
    """Who waits for whom. Ends are subplans' rows; a landing has the number of its subplan, beyond the rows."""

    opens: list[list[int]]
    """For each group, the rows in it that begin when it opens."""
    hears: list[list[int]]
    """For each row and landing, the rows that begin when it has ended."""
    closes: list[list[int]]
    """For each group, the rows and landings whose end it waits for."""
    landings: list[int]
    """The rows whose results land, in plan order."""


def wiring(outline: Outline, after: Sequence[Sequence[int]], landings: Sequence[int]) -> Wiring:
    rows = len(outline.paths)
    opens: list[list[int]] = [[] for _ in range(rows)]
    hears: list[list[int]] = [[] for _ in range(rows + len(landings))]
    closes: list[list[int]] = [[] for _ in range(rows)]
    follows = bytearray(rows)  # something in its own group waits for it, or its landing tells the plan
    parents, sizes = outline.parents, outline.sizes
    for number, row in enumerate(landings):
        closes[ROOT].append(rows + number)
        follows[row] = follows[row] or parents[row] == ROOT
    for row in range(1, rows):
        parent = parents[row]
        first, last = parent, parent + sizes[parent]
        opened = False
        waits = outline.depends_on[row]
        for other in dict.fromkeys((*waits, *after[row])) if after[row] else waits:
            hears[other].append(row)
            opened = opened or first < other < last
            around = parents[other]
            if around < row < around + sizes[around]:
                follows[other] = 1
        if not opened:
            opens[parent].append(row)
    for row in range(1, rows):
        if not follows[row]:
            closes[parents[row]].append(row)
    return Wiring(opens, hears, closes, list(landings))
