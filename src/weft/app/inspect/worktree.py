"""The work of `weft open`: finds the worktree of a slice, and creates it again if it was removed."""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from weft.app.inspect.diffs import Diff, find_diff
from weft.app.isolation.plan_repository import ends_of, worktrees_of
from weft.app.record.journal import RecordedRun
from weft.app.record.run_plan import plan_of
from weft.errors import InputError
from weft.plan.model import Plan
from weft.plan.settings import Settings
from weft.ports.workspaces import WorkspaceRequest
from weft.workspaces.git.base.refs import tip
from weft.workspaces.git.base.repository import open_repository


class OpenedWorktree(Struct, frozen=True, kw_only=True):
    """The worktree of a slice."""

    run: str
    subplan: str
    branch: str
    worktree: str
    """Its directory."""
    made: bool
    """Whether this call created it."""

    def to_json(self) -> dict[str, object]:
        return {
            "run": self.run,
            "subplan": self.subplan,
            "branch": self.branch,
            "worktree": self.worktree,
            "made": self.made,
        }


def open_worktree(
    recorded_run: RecordedRun, name: str, *, environ: Mapping[str, str] = os.environ
) -> OpenedWorktree:
    """Returns the worktree. Raises `InputError` if the slice has no branch that could be checked out."""
    diff = find_diff(recorded_run, name, environ=environ)
    plan = plan_of(recorded_run)
    row = next(row for row, path in enumerate(plan.outline.paths) if path == diff.subplan)
    if not plan.outline.is_leaf(row):
        raise InputError(
            f"{diff.subplan or 'the plan'} consists of several slices and has no worktree of its own; to see what "
            f"it changed, type: weft diff {diff.subplan or '/'}"
        )
    if diff.has_worktree:
        return _result_of(diff, diff.git.directory, made=False)
    # Checking out a branch that has moved would show the work of another run under the name of this one.
    if tip(diff.git, f"refs/heads/{diff.branch}") != diff.head:
        raise InputError(
            f"the branch {diff.branch} is gone, or belongs to a later run; to see what {diff.subplan} changed, "
            f"type: weft diff {diff.subplan} --run {diff.run}"
        )
    return _result_of(
        diff, _create_worktree(recorded_run, plan, diff, plan.scopes[row].settings, environ), made=True
    )


def _create_worktree(
    recorded_run: RecordedRun, plan: Plan, diff: Diff, settings: Settings, environ: Mapping[str, str]
) -> Path:
    repository = open_repository(Path(recorded_run.run.directory), environ=environ)
    workspaces = worktrees_of(plan, recorded_run.places, repository, ends_of(plan, repository), ())
    workspaces.reopen(
        WorkspaceRequest(path=diff.subplan, copy=settings.copy, link=settings.link, sparse=settings.sparse)
    )
    return workspaces.place(diff.subplan)


def _result_of(diff: Diff, worktree: Path, *, made: bool) -> OpenedWorktree:
    return OpenedWorktree(
        run=diff.run, subplan=diff.subplan, branch=diff.branch, worktree=str(worktree), made=made
    )
