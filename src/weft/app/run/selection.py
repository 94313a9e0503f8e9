"""The part of a plan that the user selects to run."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from weft.errors import InputError
from weft.plan.model import Plan
from weft.plan.order.outline import ROOT
from weft.plan.order.selection import Selection, select
from weft.plan.part import part_of
from weft.plan.text.problems import suggestion

SEVERAL = 5
"""Number of names that a message lists."""


class SubplanChoice(Struct, frozen=True, kw_only=True):
    paths: tuple[str, ...] = ()
    """The selected subplans in plan order; empty for the whole plan."""
    parts: frozenset[str] = frozenset()
    """Groups that run only in part, the plan itself included."""
    notes: tuple[str, ...] = ()
    """Notes for the user, shown before anything starts."""


WHOLE = SubplanChoice()


def choose(plan: Plan, names: Sequence[str], completed: Collection[str] = ()) -> tuple[Plan, SubplanChoice]:
    """Returns the plan reduced to the named subplans and their dependencies; without a name, the whole plan.

    `completed` are subplans that earlier runs have completed. They cost nothing, so the selection includes those
    in partly selected groups: a group that becomes complete that way is verified before it lands.
    """
    rows = sorted({row_of(plan, name) for name in names})
    if not rows:
        return plan, WHOLE
    selection = select(plan.outline, rows)
    # A second pass: the first one finds the groups that are selected in part, and only in those does completed
    # work count.
    if completed:
        selection = select(plan.outline, [*rows, *_done_beside(plan, selection, completed)])
    # Every subplan is selected, by name or as a dependency. The run must then be recorded as one of the whole
    # plan, or the next run would look further back for results.
    if len(selection.rows) == len(plan.subplans):
        return plan, WHOLE
    paths = plan.outline.paths
    return part_of(plan, selection), SubplanChoice(
        paths=tuple(str(paths[row]) for row in rows),
        parts=frozenset(str(paths[row]) for row in selection.parts),
        notes=tuple(_notes(plan, rows, selection)),
    )


def _done_beside(plan: Plan, selection: Selection, completed: Collection[str]) -> Iterator[int]:
    """Yields the completed slices in partly selected groups."""
    outline = plan.outline
    for group in selection.parts - {ROOT}:
        for row in outline.below(group):
            if outline.is_leaf(row) and outline.paths[row] in completed:
                yield row


def row_of(plan: Plan, name: str) -> int:
    """Returns the row of the subplan with that path, or of the only path that ends so; `/` is the whole plan."""
    path = name.strip("/")
    if not path and name:
        return ROOT
    paths = plan.outline.paths
    rows = [row for row, full_path in enumerate(paths) if row and full_path == path]
    # An exact path wins over a path that merely ends so: `store` is the group even if there is an `app/store`.
    rows = rows or [
        row for row, full_path in enumerate(paths) if path and f"/{full_path}".endswith(f"/{path}")
    ]
    if len(rows) == 1:
        return rows[0]
    if not rows:
        raise InputError(f"the plan has no subplan {name!r}{suggestion(path, _names(plan))}")
    several = [str(paths[row]) for row in rows]
    raise InputError(f"several subplans are called {name!r}; name one of them in full: {few(several)}")


def _names(plan: Plan) -> list[str]:
    """Returns all paths, and the ids that occur once in the plan."""
    counts = Counter(subplan.id for subplan in plan.subplans[ROOT + 1 :])
    paths = map(str, plan.outline.paths[ROOT + 1 :])
    return list(dict.fromkeys([*paths, *(name for name, count in counts.items() if count == 1)]))


def _notes(plan: Plan, rows: Sequence[int], selection: Selection) -> list[str]:
    outline = plan.outline
    leaves = sum(outline.leaves)
    slices = sum(outline.leaves[row] for row in selection.rows)
    chosen = few([str(outline.paths[row]) for row in rows])
    needs = "it needs" if len(rows) == 1 else "they need"
    notes = [
        f"{slices:,} of {leaves:,} slices {'is' if slices == 1 else 'are'} run: {chosen}, with what {needs}"
    ]
    lands = plan.scopes[ROOT].settings.has_branch
    # With branches, the verify of the plan still runs before each landing; without them it would have run at the
    # end.
    groups_in_part = selection.parts - {ROOT} if lands else selection.parts
    unverified = [row for row in sorted(groups_in_part) if plan.subplans[row].verify]
    groups = [str(outline.paths[row]) or "the plan" for row in unverified]
    if len(groups) == 1:
        notes.append(f"only a part of {groups[0]} is run, so its verify is not run")
    elif groups:
        notes.append(f"only parts of these are run, so their verify is not run: {few(groups)}")
    return notes


def few(names: Sequence[str]) -> str:
    more = len(names) - SEVERAL
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:SEVERAL])} and {more:,} more"
