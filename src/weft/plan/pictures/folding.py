"""A large plan, made small enough to be looked at: whole groups become one row each, then runs of siblings.

The largest groups that hold nothing but boxes go first, and groups that are alike go together: which of ten equal
groups is shown in full should not be an accident. What is left when no group can be folded is one level of
boxes; if that is still too many, neighbours in plan order are put together. A dependency of something folded
becomes one of the box it is in. So boxes may come to depend on each other in a circle; the plan does not.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from weft.plan.pictures.model import Row

MAX_ROWS = 60
RUNS = 12
"""How many boxes a level of too many siblings is made into; more of them are a tangle of lifted dependencies."""


def folded(rows: Sequence[Row], *, max_rows: int = MAX_ROWS) -> tuple[Row, ...]:
    """The rows, if there are at most so many; else with groups, and at last siblings, folded into one row each."""
    if max_rows < 2:  # noqa: PLR2004  the plan and one box
        raise ValueError(f"a plan cannot be folded into {max_rows} rows; it needs 2")
    if len(rows) <= max_rows:
        return tuple(rows)
    children = _children(rows)
    groups = _groups_to_fold(rows, children, max_rows)
    small = _merged(rows, _into_groups(rows, groups), lambda members: _as_group(rows, members))
    if len(small) <= max_rows:
        return small
    into = _into_runs(small, max_rows)
    return _merged(small, into, lambda members: _as_run(small, members))


def _children(rows: Sequence[Row]) -> list[list[int]]:
    children: list[list[int]] = [[] for _ in rows]
    for number, row in enumerate(rows[1:], 1):
        children[row.parent].append(number)
    return children


def _trunk(children: Sequence[Sequence[int]], max_rows: int) -> list[int]:
    """The plan and the groups that hold all of it: to fold one of them would leave nothing to see."""
    trunk = [0]
    while len(children[trunk[-1]]) == 1 and len(trunk) < max_rows - 1:
        trunk.append(children[trunk[-1]][0])
    return trunk


def _groups_to_fold(rows: Sequence[Row], children: Sequence[Sequence[int]], max_rows: int) -> set[int]:
    """Each time those groups of boxes only that hold the most; of these, the deepest."""
    depths = _depths(rows)
    open_groups = [sum(bool(children[child]) for child in below) for below in children]
    kept = set(_trunk(children, max_rows))
    ready: dict[tuple[int, int], list[int]] = {}

    def consider(group: int) -> None:
        if children[group] and not open_groups[group] and group not in kept:
            ready.setdefault((len(children[group]), depths[group]), []).append(group)

    for group in range(len(rows)):
        consider(group)
    chosen: set[int] = set()
    left = len(rows)
    while left > max_rows and ready:
        for group in ready.pop(max(ready)):
            chosen.add(group)
            left -= len(children[group])
            open_groups[rows[group].parent] -= 1
            consider(rows[group].parent)
    return chosen


def _depths(rows: Sequence[Row]) -> list[int]:
    depths = [0]
    for row in rows[1:]:
        depths.append(depths[row.parent] + 1)
    return depths


def _into_groups(rows: Sequence[Row], groups: set[int]) -> list[int]:
    """For each row the outermost folded group that it is in, or itself."""
    into = [0]
    for number, row in enumerate(rows[1:], 1):
        around = into[row.parent]
        into.append(around if around in groups else number)
    return into


def _into_runs(rows: Sequence[Row], max_rows: int) -> list[int]:
    """For each row the first of its run of siblings; all rows but those of the trunk are boxes of one level."""
    kept = len(_trunk(_children(rows), max_rows))
    boxes = len(rows) - kept
    runs = min(RUNS, max_rows - kept)
    starts = [kept + boxes * run // runs for run in range(runs + 1)]
    firsts = [start for start, end in pairwise(starts) for _ in range(start, end)]
    return [*range(kept), *firsts]


def _merged(
    rows: Sequence[Row], into: Sequence[int], combined: Callable[[Sequence[int]], Row]
) -> tuple[Row, ...]:
    """Those rows that stand for themselves or others, with what the others depended on."""
    members: dict[int, list[int]] = {}
    for number, leader in enumerate(into):
        members.setdefault(leader, []).append(number)
    numbers = {leader: number for number, leader in enumerate(members)}
    place = [numbers[leader] for leader in into]
    merged: list[Row] = []
    for leader, held in members.items():
        row = rows[leader] if len(held) == 1 else combined(held)
        parent = rows[leader].parent
        depends_on = _lifted(rows, held, place, lambda row: row.depends_on)
        after = _lifted(rows, held, place, lambda row: row.after)
        merged.append(
            replace(
                row,
                parent=parent if parent < 0 else place[parent],
                depends_on=depends_on,
                after=tuple(other for other in after if other not in set(depends_on)),
            )
        )
    return tuple(merged)


def _lifted(
    rows: Sequence[Row], held: Sequence[int], place: Sequence[int], named: Callable[[Row], tuple[int, ...]]
) -> tuple[int, ...]:
    found = dict.fromkeys(place[other] for number in held for other in named(rows[number]))
    found.pop(place[held[0]], None)
    return tuple(found)


def _as_group(rows: Sequence[Row], members: Sequence[int]) -> Row:
    return _folded_row(rows, members, path=rows[members[0]].path, title=rows[members[0]].title)


def _as_run(rows: Sequence[Row], members: Sequence[int]) -> Row:
    first, last = rows[members[0]].path, rows[members[-1]].path
    return _folded_row(rows, members, path=f"{first} … {last.rpartition('/')[2]}", title="")


def _folded_row(rows: Sequence[Row], members: Sequence[int], *, path: str, title: str) -> Row:
    slices = sum(rows[member].folded or rows[member].is_leaf for member in members)
    note = "1 slice" if slices == 1 else f"{slices:,} slices"
    own = rows[members[0]]
    return Row(path=path, title=title, parent=own.parent, is_leaf=True, note=note, folded=slices)
