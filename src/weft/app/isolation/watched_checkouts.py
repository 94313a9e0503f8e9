"""Which checkouts are watched while agents run: see `weft.runtime.outside_watch`."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from weft.plan.model import Plan
from weft.plan.settings import BRANCHED
from weft.ports.workspaces import Workspaces
from weft.runtime.outside_watch import OutsideWatch


def outside_watch(
    plan: Plan, folder: Path, workspaces: Workspaces, environ: Mapping[str, str]
) -> OutsideWatch:
    """The watch for a run of the plan; of a plan without worktrees nothing is watched.

    Where slices work in the plan's own directory, the user's checkout changes as it should.
    """
    rows = (row for row in range(len(plan.subplans)) if plan.outline.is_leaf(row))
    kinds = {plan.scopes[row].settings.isolation for row in rows}
    if BRANCHED.isdisjoint(kinds):
        return OutsideWatch()
    from weft.workspaces.git.base.program import Git  # noqa: PLC0415 - the same
    from weft.workspaces.git.checkout import look_at  # noqa: PLC0415 - of no use without git

    look = partial(look_at, Git(folder, environ=environ))
    checkout = None if "none" in kinds else folder
    return OutsideWatch(look, checkout=checkout, worktree=workspaces.place)
