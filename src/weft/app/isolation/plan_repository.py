"""Open the repository of a plan with slices in worktrees or clones."""

from collections.abc import Collection, Mapping
from pathlib import Path

from weft.app.isolation.sandboxes import slices_in_sandboxes
from weft.app.project.places import Places
from weft.errors import InputError
from weft.plan.model import Plan
from weft.plan.order.outline import ROOT
from weft.plan.templates.render import render
from weft.workspaces.git.base.names import RefNames
from weft.workspaces.git.base.repository import Ends, Repository, open_repository, resolve_ends
from weft.workspaces.git.plan_repository import PlanRepository
from weft.workspaces.git.preflight import Concerns, concerns
from weft.workspaces.worktrees import WorktreeWorkspaces

_OF_THE_WHOLE_PLAN = ("branch_prefix", "merge.sign")


def repository_of(plan: Plan, folder: Path, environ: Mapping[str, str]) -> Repository:
    """Returns the repository of a plan with worktrees; raises `InputError` if it cannot be used."""
    rows = range(1, len(plan.subplans))
    if any(plan.scopes[row].settings.isolation == "dir" for row in rows if plan.outline.is_leaf(row)):
        raise InputError(
            f"{plan.document.file}: some slices have `isolation: worktree` or `clone`, others `isolation: dir`; "
            "their results cannot be combined: choose one for all"
        )
    for row in rows:
        for name in _OF_THE_WHOLE_PLAN:
            if name in plan.subplans[row].settings:
                raise InputError(
                    f"{plan.document.file}: {plan.outline.paths[row]} sets `{name}`, which is one for the "
                    "whole plan; write it at the top"
                )
    return open_repository(folder, environ=environ, sign=plan.scopes[ROOT].settings.merge_sign)


def ends_of(plan: Plan, repository: Repository) -> Ends:
    """Returns the base commit and the target branch of a new run."""
    prefix = plan.scopes[ROOT].settings.branch_prefix
    return resolve_ends(repository, base=plan.base, target=plan.target, prefix=prefix)


def concerns_of(plan: Plan, repository: Repository, ends: Ends) -> Concerns:
    """Returns the concerns about the repository, for the user to see before anything starts."""
    commands = plan.scopes[ROOT].settings.setup_commands
    setup = [command if isinstance(command, str) else " ".join(command) for command in commands]
    return concerns(repository, ends, setup=setup, names=names_of(plan))


def names_of(plan: Plan) -> RefNames:
    return RefNames(plan=plan.id, prefix=plan.scopes[ROOT].settings.branch_prefix)


def worktrees_of(
    plan: Plan, places: Places, repository: Repository, ends: Ends, landed: Collection[str]
) -> WorktreeWorkspaces:
    outline = plan.outline
    rows: dict[str, int] = {path: row for row, path in enumerate(outline.paths)}

    def folder(path: str, name: str) -> Path:
        template = plan.scopes[rows[path]].settings.worktrees
        return places.project / render(template, {"slice": {"path": name}, "plan": {"id": plan.id}})

    sandboxed = slices_in_sandboxes(plan)
    cloned = (row for row, scope in enumerate(plan.scopes) if scope.settings.isolation == "clone")
    # A worktree shares the git directory of the user's checkout: refs, configuration and hooks. A step in a
    # sandbox must not write those, so its slice gets a clone.
    clones = frozenset(outline.paths[row] for row in {*sandboxed, *cloned} if outline.is_leaf(row))
    return WorktreeWorkspaces(
        PlanRepository(
            repository=repository,
            ends=ends,
            names=names_of(plan),
            plan=plan.id,
            folder=folder,
            groups=frozenset(path for path, row in rows.items() if not outline.is_leaf(row)),
            landed=landed,
            clones=clones,
            # A sandbox mounts a link to the clone over the `.git` file; without one, the file itself has to lead
            # there.
            opened=clones - {outline.paths[row] for row in sandboxed},
        )
    )
