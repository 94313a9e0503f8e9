"""A selection of rows of an outline, with everything that they need.

A selected subplan needs its parts, its dependencies, and the dependencies of the groups around it; so does every
subplan that is needed. A group around a selected subplan is included as the place where results are merged. If
some of its parts are missing, it is a partial group, and nothing that the plan says about the whole group
applies.
"""

from collections.abc import Iterable
from itertools import accumulate

from msgspec import Struct

from weft.plan.order.outline import Outline


class Selection(Struct, frozen=True):
    """Rows of an outline, and the groups among them that are incomplete."""

    rows: tuple[int, ...]
    """In plan order, the whole plan first."""
    parts: frozenset[int]
    """Groups with missing parts."""


def select(outline: Outline, chosen: Iterable[int]) -> Selection:
    """Returns the selection for the chosen rows, in time proportional to the rows and dependencies it has."""
    needed: set[int] = set()
    around: set[int] = set()
    waiting = list(chosen)
    while waiting:
        row = waiting.pop()
        fresh = (
            [member for member in (row, *outline.below(row)) if member not in needed]
            if row not in needed
            else []
        )
        needed.update(fresh)
        group = outline.parents[row]
        while group >= 0 and group not in around:
            around.add(group)
            # The dependencies of a group around a selected row are needed as well.
            fresh.append(group)
            group = outline.parents[group]
        waiting += [
            target for member in fresh for target in outline.depends_on[member] if target not in needed
        ]
    rows = sorted(needed | around)
    return Selection(tuple(rows), frozenset(_parts(outline, rows, around - needed)))


def _parts(outline: Outline, rows: Iterable[int], groups: Iterable[int]) -> Iterable[int]:
    """Returns the groups with rows that are not selected."""
    is_selected = [0] * len(outline.paths)
    for row in rows:
        is_selected[row] = 1
    before = [0, *accumulate(is_selected)]
    """The number of selected rows before each row."""
    return [
        group
        for group in groups
        # A difference of two sums counts the selected rows of a group without walking through them.
        if before[group + outline.sizes[group]] - before[group] < outline.sizes[group]
    ]


def cut(outline: Outline, rows: Iterable[int]) -> Outline:
    """Returns an outline of these rows only.

    The groups around each row and its dependencies must be among them.
    """
    numbers: dict[int, int] = {}
    result = Outline()
    for row in rows:
        parent = outline.parents[row]
        leaf = outline.leaves[row]
        numbers[row] = result.add(outline.paths[row], numbers.get(parent, parent), leaf=leaf)
    for row, number in numbers.items():
        result.depends_on[number] = tuple(numbers[target] for target in outline.depends_on[row])
    for number in range(len(result.paths) - 1, 0, -1):
        result.sizes[result.parents[number]] += result.sizes[number]
    return result
