"""Choose the checkouts that are watched while agents run: see `weft.runtime.outside_watch`."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from weft.plan.model import Plan
from weft.plan.settings import BRANCHED
from weft.ports.workspaces import WorkspacePlaces
from weft.runtime.outside_watch import OutsideWatch


def outside_watch(
    plan: Plan, folder: Path, workspaces: WorkspacePlaces, environ: Mapping[str, str]
) -> OutsideWatch:
    """Returns the watch for a run of the plan; it watches nothing for a plan without worktrees.

    If slices work in the plan's own directory, the user's checkout is not watched: it is expected to change.
    """
    rows = (row for row in range(len(plan.subplans)) if plan.outline.is_leaf(row))
    kinds = {plan.scopes[row].settings.isolation for row in rows}
    if BRANCHED.isdisjoint(kinds):
        return OutsideWatch()
    from weft.workspaces.git.base.program import Git  # noqa: PLC0415 - the same
    from weft.workspaces.git.checkout import read_checkout  # noqa: PLC0415 - of no use without git

    look = partial(read_checkout, Git(folder, environ=environ))
    checkout = None if "none" in kinds else folder
    return OutsideWatch(look, checkout=checkout, worktree=workspaces.place)
