"""The choice of subplans that the live view shows when there is no room for all.

Subplans that need a person come first, then failed and running ones, then those that have just ended, those that
are next, and the rest. A row in a tree also needs the rows of the groups around it. Where the most urgent rows do
not fit together with their groups, the view is a flat list of rows with full paths.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from msgspec import Struct

from weft.app.views.run_view import RunView, Tally
from weft.engine.states import SubplanExecutionState as State
from weft.plan.order.outline import ROOT

JUST_ENDED = 3
"""How many subplans that have just ended are shown before those that have not started."""


class VisibleRows(Struct, frozen=True, kw_only=True):
    """The rows of the table, and the number of slices that it does not show."""

    rows: list[int]
    """In plan order."""
    is_tree: bool
    hidden: Tally
    """Slices by state that are neither shown nor in a group that is shown as one."""


def choose(view: RunView, room: int) -> VisibleRows:
    """Returns the rows for a table of at most `room` lines; at least one row."""
    choice = _choose(view, room)
    # A line that counts the hidden slices takes the room of one row.
    return _choose(view, room - 1) if any(choice.hidden.values()) else choice


def _choose(view: RunView, room: int) -> VisibleRows:
    urgent = list(_urgent(view, room))
    whole = _fill(view, urgent, room, is_tree=True)
    # If the groups around the urgent rows push some of them out, indentation is not worth it.
    is_tree = whole.issuperset(urgent)
    rows = sorted(_fill(view, chain(urgent, _others(view, room)), room, is_tree=is_tree))
    return VisibleRows(rows=rows, is_tree=is_tree, hidden=_hidden(view, rows))


def _urgent(view: RunView, room: int) -> Iterator[int]:
    """Yields the urgent rows. Each kind has a share of the room, so that running rows are never pushed out."""
    row_index, share = view.row_index, max(1, room // 3)
    yield from islice(row_index.asking, share)
    yield from islice(row_index.held, share)
    yield from islice(reversed(row_index.failed), share)
    yield from islice(row_index.running, room)


def _others(view: RunView, room: int) -> Iterator[int]:
    row_index, most = view.row_index, room
    yield from islice(row_index.asking, most)
    yield from islice(row_index.held, most)
    yield from islice(reversed(row_index.failed), most)
    yield from islice(reversed(row_index.settled), JUST_ENDED)
    yield from islice(row_index.waiting, most)
    yield from islice(reversed(row_index.settled), most)


def _fill(view: RunView, rows: Iterable[int], room: int, *, is_tree: bool) -> set[int]:
    parents = view.outline.parents
    chosen: set[int] = set()
    for row in rows:
        needed: list[int] = []
        ancestor = row
        while ancestor not in chosen and (ancestor != ROOT or row == ROOT):
            needed.append(ancestor)
            if not is_tree or ancestor == ROOT:
                break
            ancestor = parents[ancestor]
        if len(chosen) + len(needed) <= room:
            chosen.update(needed)
    return chosen


def _hidden(view: RunView, rows: Iterable[int]) -> Tally:
    hidden = dict(view.counts)
    covered = 0
    for row in rows:
        if row < covered or row == ROOT:
            continue
        if view.outline.leaves[row]:
            hidden[view.rows[row].state] -= 1
        elif view.rows[row].state is not State.RUNNING:
            for state, number in view.tallies[row].items():
                hidden[state] -= number
            # A group that is shown as one line stands for all slices in it, so the rows below must not be
            # subtracted again.
            covered = row + view.outline.sizes[row]
    return hidden
