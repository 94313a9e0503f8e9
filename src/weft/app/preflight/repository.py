"""Checks of the repository: whether slices can start from it, and which files they will have."""

import posixpath
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from weft.app.isolation import plan_repository
from weft.app.preflight.findings import PreflightFinding, refusal, warning
from weft.app.preflight.programs import Files
from weft.errors import InputError
from weft.plan.model import Plan
from weft.plan.order.outline import ROOT
from weft.workspaces.git.base.repository import Ends, Repository
from weft.workspaces.git.target.remote import UPSTREAM, missing_remote

_FILE, _EXECUTABLE = "100644", "100755"


class RepositoryState(Struct, frozen=True, kw_only=True):
    """The repository of a plan with worktrees, as a run would use it."""

    findings: tuple[PreflightFinding, ...]
    repository: Repository | None = None
    """None if it cannot be used."""
    ends: Ends | None = None
    """None if base and target could not be resolved."""


def examine_repository(plan: Plan, folder: Path, environ: Mapping[str, str]) -> RepositoryState:
    """Returns the repository with all reasons for a refusal and all notes for the user."""
    try:
        repository = plan_repository.repository_of(plan, folder, environ)
        ends = plan_repository.ends_of(plan, repository)
        concerns = plan_repository.concerns_of(plan, repository, ends)
    # The preflight reports everything together, so a repository that cannot be used is one finding among others.
    except InputError as error:
        return RepositoryState(findings=(refusal("repository", str(error)),))
    findings = (
        *(refusal("repository", message) for message in concerns.refusals),
        *(warning("repository", message) for message in concerns.notes),
        *_push_findings(plan, repository, ends),
    )
    return RepositoryState(findings=findings, repository=repository, ends=ends)


def _push_findings(plan: Plan, repository: Repository, ends: Ends) -> Iterator[PreflightFinding]:
    push = plan.scopes[ROOT].settings.merge_push
    if push:
        message = missing_remote(repository.git, ends.target, UPSTREAM if push is True else str(push))
        if message:
            yield refusal("repository", message)


def files_of_commit(repository: Repository, commit: str) -> Files:
    """Returns a judge of paths in a worktree of the commit; they are relative to the plan's directory."""

    def judge(path: str) -> str:
        place = posixpath.normpath((repository.inside / path).as_posix())
        if place.startswith(".."):
            return ""  # a path outside the worktree cannot be judged
        return _problem_of(repository, commit, place)

    return judge


def _problem_of(repository: Repository, commit: str, place: str) -> str:
    # The commit is asked and not the checkout: slices start from commits and see neither uncommitted files nor
    # modes.
    listed = repository.git.ask("ls-tree", "-z", "--full-tree", commit, "--", f":(literal){place}")
    mode = listed.text.partition(" ")[0]
    if mode == _EXECUTABLE:
        return ""
    if mode == _FILE:
        return "" if _ignores_modes(repository) else _not_executable(repository.top, place)
    # A link, or a path below a link or a submodule, leads to files that the commit does not list.
    return "" if mode or _is_below_another(repository, commit, place) else _missing(repository, place)


def _not_executable(top: Path, place: str) -> str:
    git, name = f"git -C {shlex.quote(str(top))}", shlex.quote(place)
    return (
        "is not executable in the commit that slices start from; to commit it as executable, type: "
        f"chmod +x {shlex.quote(str(top / place))} && {git} add --chmod=+x {name} && {_commit(git, place)}"
    )


def _missing(repository: Repository, place: str) -> str:
    if not (repository.top / place).exists():
        return "is not among the files that slices start with; add and commit it, or write another command"
    inside = posixpath.relpath(place, repository.inside.as_posix())
    git = f"git -C {shlex.quote(str(repository.top))}"
    # git adds an ignored file only with --force.
    return (
        "is not among the files that slices start with, although it is in your checkout; to commit it, type: "
        f"{git} add --force {shlex.quote(place)} && {_commit(git, place)}"
        + (
            ""
            if inside.startswith("..")
            else f"; to leave it out of git, write `copy: [{inside}]` in the plan"
        )
    )


def _commit(git: str, place: str) -> str:
    return f"{git} commit -m {shlex.quote(f'add {place}')} {shlex.quote(place)}"


def _is_below_another(repository: Repository, commit: str, place: str) -> bool:
    folders = [parent.as_posix() for parent in Path(place).parents][:-1]
    if not folders:
        return False
    listed = repository.git.fields("ls-tree", "-z", "--full-tree", commit, "--", *folders)
    return any(not entry.startswith("040000 ") for entry in listed)


def _ignores_modes(repository: Repository) -> bool:
    return repository.git.ask("config", "--type=bool", "--get", "core.fileMode").text == "false"
