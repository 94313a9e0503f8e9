"""Some rows of an outline, and all that they need.

A chosen subplan needs all that is in it, all that it depends on, and all that the groups around it depend on; and
so does each that is needed. A group around stays as the place where it all comes together. If not all that is in
it is there, it is there in part, and nothing that is said of it as a whole holds.
"""

from collections.abc import Iterable
from itertools import accumulate

from msgspec import Struct

from weft.plan.order.outline import Outline


class Selection(Struct, frozen=True):
    rows: tuple[int, ...]
    """In plan order, the whole first."""
    parts: frozenset[int]
    """Groups that are there in part."""


def select(outline: Outline, chosen: Iterable[int]) -> Selection:
    """In time that grows with the rows and dependencies that are found."""
    needed: set[int] = set()
    around: set[int] = set()
    waiting = list(chosen)
    while waiting:
        row = waiting.pop()
        fresh = [one for one in (row, *outline.below(row)) if one not in needed] if row not in needed else []
        needed.update(fresh)
        group = outline.parents[row]
        while group >= 0 and group not in around:
            around.add(group)
            fresh.append(group)
            group = outline.parents[group]
        waiting += [other for one in fresh for other in outline.depends_on[one] if other not in needed]
    rows = sorted(needed | around)
    return Selection(tuple(rows), frozenset(_parts(outline, rows, around - needed)))


def _parts(outline: Outline, rows: Iterable[int], groups: Iterable[int]) -> Iterable[int]:
    there = [0] * len(outline.paths)
    for row in rows:
        there[row] = 1
    before = [0, *accumulate(there)]
    """How many rows are there before each."""
    return [one for one in groups if before[one + outline.sizes[one]] - before[one] < outline.sizes[one]]


def cut(outline: Outline, rows: Iterable[int]) -> Outline:
    """An outline of these rows: with each, the groups around it and what it depends on."""
    numbers: dict[int, int] = {}
    found = Outline()
    for row in rows:
        parent = outline.parents[row]
        leaf = outline.leaves[row]
        numbers[row] = found.add(outline.paths[row], numbers.get(parent, parent), leaf=leaf)
    for row, number in numbers.items():
        found.depends_on[number] = tuple(numbers[other] for other in outline.depends_on[row])
    for number in range(len(found.paths) - 1, 0, -1):
        found.sizes[found.parents[number]] += found.sizes[number]
    return found
