"""The subplans that a person has chosen to be run, and what of the plan that comes to."""

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
"""So many names are said."""


class SubplanChoice(Struct, frozen=True, kw_only=True):
    paths: tuple[str, ...] = ()
    """What was chosen, in plan order; nothing: the whole plan."""
    parts: frozenset[str] = frozenset()
    """Groups of which only a part is run; the whole plan is one of them."""
    notes: tuple[str, ...] = ()
    """What a person should know before anything starts."""


WHOLE = SubplanChoice()


def choose(plan: Plan, names: Sequence[str], completed: Collection[str] = ()) -> tuple[Plan, SubplanChoice]:
    """The plan with the subplans of these names and what they need; all of it without a name.

    `completed` are subplans that earlier runs have completed. They cost nothing, so those in a group of which
    something is chosen belong to it: a group that is then complete is verified before it lands.
    """
    rows = sorted({row_of(plan, name) for name in names})
    if not rows:
        return plan, WHOLE
    selection = select(plan.outline, rows)
    if completed:
        selection = select(plan.outline, [*rows, *_done_beside(plan, selection, completed)])
    if len(selection.rows) == len(plan.subplans):
        return plan, WHOLE
    paths = plan.outline.paths
    return part_of(plan, selection), SubplanChoice(
        paths=tuple(str(paths[row]) for row in rows),
        parts=frozenset(str(paths[row]) for row in selection.parts),
        notes=tuple(_notes(plan, rows, selection)),
    )


def _done_beside(plan: Plan, selection: Selection, completed: Collection[str]) -> Iterator[int]:
    """The completed slices in groups that are chosen in part."""
    outline = plan.outline
    for group in selection.parts - {ROOT}:
        for row in outline.below(group):
            if outline.is_leaf(row) and outline.paths[row] in completed:
                yield row


def row_of(plan: Plan, name: str) -> int:
    """The subplan of that path, or the only one whose path ends so; `/` is the whole plan."""
    path = name.strip("/")
    if not path and name:
        return ROOT
    paths = plan.outline.paths
    found = [row for row, one in enumerate(paths) if row and one == path]
    found = found or [row for row, one in enumerate(paths) if path and f"/{one}".endswith(f"/{path}")]
    if len(found) == 1:
        return found[0]
    if not found:
        raise InputError(f"the plan has no subplan {name!r}{suggestion(path, _names(plan))}")
    several = [str(paths[row]) for row in found]
    raise InputError(f"several subplans are called {name!r}; name one of them in full: {few(several)}")


def _names(plan: Plan) -> list[str]:
    """Paths, and the last parts that mean one subplan only."""
    times = Counter(one.id for one in plan.subplans[ROOT + 1 :])
    paths = map(str, plan.outline.paths[ROOT + 1 :])
    return list(dict.fromkeys([*paths, *(one for one in times if times[one] == 1)]))


def _notes(plan: Plan, rows: Sequence[int], selection: Selection) -> list[str]:
    outline = plan.outline
    leaves = sum(outline.leaves)
    run = sum(outline.leaves[row] for row in selection.rows)
    chosen = few([str(outline.paths[row]) for row in rows])
    needs = "it needs" if len(rows) == 1 else "they need"
    said = [f"{run:,} of {leaves:,} slices {'is' if run == 1 else 'are'} run: {chosen}, with what {needs}"]
    lands = plan.scopes[ROOT].settings.has_branch
    groups_in_part = selection.parts - {ROOT} if lands else selection.parts
    unverified = [row for row in sorted(groups_in_part) if plan.subplans[row].verify]
    groups = [str(outline.paths[row]) or "the plan" for row in unverified]
    if len(groups) == 1:
        said.append(f"only a part of {groups[0]} is run, so its verify is not run")
    elif groups:
        said.append(f"only parts of these are run, so their verify is not run: {few(groups)}")
    return said


def few(names: Sequence[str]) -> str:
    more = len(names) - SEVERAL
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:SEVERAL])} and {more:,} more"
