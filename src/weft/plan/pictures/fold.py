"""Folds a large plan so that it can be drawn: whole groups become one row each, then runs of siblings.

The largest groups that contain only boxes are folded first, and equal groups are folded together: it should not
be an accident which of ten equal groups is shown in full. When no group can be folded any more, one level of
boxes remains; if that is still too many, neighbours in plan order are combined. A dependency of a folded row
becomes one of its box. So boxes can depend on each other in a cycle, although the plan does not.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from weft.plan.pictures.model import PictureRow

MAX_ROWS = 60
RUNS = 12
"""The number of boxes for a level with too many siblings; more would be a tangle of lifted dependencies."""


def fold_rows(rows: Sequence[PictureRow], *, max_rows: int = MAX_ROWS) -> tuple[PictureRow, ...]:
    """Returns the rows, folded if there are more than `max_rows`."""
    if max_rows < 2:  # noqa: PLR2004  the plan and one box
        raise ValueError(f"a plan cannot be folded into {max_rows} rows; it needs 2")
    if len(rows) <= max_rows:
        return tuple(rows)
    children = _children(rows)
    groups = _groups_to_fold(rows, children, max_rows)
    small = _merge_rows(rows, _into_groups(rows, groups), lambda members: _as_group(rows, members))
    # Folding groups was enough; otherwise one level of boxes is left.
    if len(small) <= max_rows:
        return small
    into = _into_runs(small, max_rows)
    return _merge_rows(small, into, lambda members: _as_run(small, members))


def _children(rows: Sequence[PictureRow]) -> list[list[int]]:
    children: list[list[int]] = [[] for _ in rows]
    for number, row in enumerate(rows[1:], 1):
        children[row.parent].append(number)
    return children


def _trunk(children: Sequence[Sequence[int]], max_rows: int) -> list[int]:
    """Returns the plan and the groups that contain all of it; folding one of them would leave nothing to see."""
    trunk = [0]
    while len(children[trunk[-1]]) == 1 and len(trunk) < max_rows - 1:
        trunk.append(children[trunk[-1]][0])
    return trunk


def _groups_to_fold(rows: Sequence[PictureRow], children: Sequence[Sequence[int]], max_rows: int) -> set[int]:
    """Returns the groups to fold: repeatedly the largest groups of boxes, and of these the deepest."""
    depths = _depths(rows)
    open_groups = [sum(bool(children[child]) for child in below) for below in children]
    trunk = set(_trunk(children, max_rows))
    ready: dict[tuple[int, int], list[int]] = {}

    def consider(group: int) -> None:
        if children[group] and not open_groups[group] and group not in trunk:
            ready.setdefault((len(children[group]), depths[group]), []).append(group)

    for group in range(len(rows)):
        consider(group)
    chosen: set[int] = set()
    remaining = len(rows)
    while remaining > max_rows and ready:
        # All groups of this size and depth are folded together.
        for group in ready.pop(max(ready)):
            chosen.add(group)
            remaining -= len(children[group])
            open_groups[rows[group].parent] -= 1
            consider(rows[group].parent)
    return chosen


def _depths(rows: Sequence[PictureRow]) -> list[int]:
    depths = [0]
    for row in rows[1:]:
        depths.append(depths[row.parent] + 1)
    return depths


def _into_groups(rows: Sequence[PictureRow], groups: set[int]) -> list[int]:
    """Returns, for each row, the outermost folded group around it, or the row itself."""
    into = [0]
    for number, row in enumerate(rows[1:], 1):
        outer = into[row.parent]
        into.append(outer if outer in groups else number)
    return into


def _into_runs(rows: Sequence[PictureRow], max_rows: int) -> list[int]:
    """Returns, for each row, the first row of its run of siblings.

    All rows but the trunk are boxes of one level.
    """
    trunk_size = len(_trunk(_children(rows), max_rows))
    boxes = len(rows) - trunk_size
    runs = min(RUNS, max_rows - trunk_size)
    starts = [trunk_size + boxes * run // runs for run in range(runs + 1)]
    firsts = [start for start, end in pairwise(starts) for _ in range(start, end)]
    return [*range(trunk_size), *firsts]


def _merge_rows(
    rows: Sequence[PictureRow], into: Sequence[int], combined: Callable[[Sequence[int]], PictureRow]
) -> tuple[PictureRow, ...]:
    """Returns the rows that stand for themselves or others, with the dependencies of the others."""
    members: dict[int, list[int]] = {}
    for number, leader in enumerate(into):
        members.setdefault(leader, []).append(number)
    numbers = {leader: number for number, leader in enumerate(members)}
    new_number = [numbers[leader] for leader in into]
    merged: list[PictureRow] = []
    for leader, folded_rows in members.items():
        row = rows[leader] if len(folded_rows) == 1 else combined(folded_rows)
        parent = rows[leader].parent
        depends_on = _lift_targets(rows, folded_rows, new_number, lambda row: row.depends_on)
        after = _lift_targets(rows, folded_rows, new_number, lambda row: row.after)
        merged.append(
            replace(
                row,
                parent=parent if parent < 0 else new_number[parent],
                depends_on=depends_on,
                after=tuple(target for target in after if target not in set(depends_on)),
            )
        )
    return tuple(merged)


def _lift_targets(
    rows: Sequence[PictureRow],
    folded_rows: Sequence[int],
    new_number: Sequence[int],
    targets_of: Callable[[PictureRow], tuple[int, ...]],
) -> tuple[int, ...]:
    lifted = dict.fromkeys(
        new_number[target] for number in folded_rows for target in targets_of(rows[number])
    )
    lifted.pop(new_number[folded_rows[0]], None)
    return tuple(lifted)


def _as_group(rows: Sequence[PictureRow], members: Sequence[int]) -> PictureRow:
    return _folded_row(rows, members, path=rows[members[0]].path, title=rows[members[0]].title)


def _as_run(rows: Sequence[PictureRow], members: Sequence[int]) -> PictureRow:
    first, last = rows[members[0]].path, rows[members[-1]].path
    return _folded_row(rows, members, path=f"{first} … {last.rpartition('/')[2]}", title="")


def _folded_row(rows: Sequence[PictureRow], members: Sequence[int], *, path: str, title: str) -> PictureRow:
    slices = sum(rows[member].folded or rows[member].is_leaf for member in members)
    note = "1 slice" if slices == 1 else f"{slices:,} slices"
    own = rows[members[0]]
    # A group is followed by its parts, and a run of siblings is one part of the plan, so nothing lies between.
    span = own.span[0], rows[members[-1]].span[1]
    return PictureRow(
        path=path, title=title, parent=own.parent, is_leaf=True, note=note, folded=slices, span=span
    )
