"""Checks of git, the repository, and stale lock files."""

import os
import shlex
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from msgspec import Struct

from weft.app.doctor.context import DoctorContext
from weft.app.doctor.findings import Check, Finding, fine, problem, unknown
from weft.app.doctor.plan_refs import find_repository_refs
from weft.app.isolation.plan_repository import concerns_of, ends_of, repository_of
from weft.errors import InputError
from weft.plan.text.problems import PlanError
from weft.workspaces.git.base.child_records import LeftoverLocks
from weft.workspaces.git.base.damage import DOCTOR
from weft.workspaces.git.base.discovery import repository_around
from weft.workspaces.git.base.lock_files import is_stale
from weft.workspaces.git.base.program import Git, GitError
from weft.workspaces.git.base.repository import OLDEST, open_repository, version_in
from weft.workspaces.git.base.worktree_links import text_of
from weft.workspaces.git.preflight import uncommitted

_OF_A_CHECKOUT = ("index.lock", "HEAD.lock")
_SHARED = (*_OF_A_CHECKOUT, "packed-refs.lock", "config.lock")


# --- the program ---


class _Git(Struct, frozen=True):
    version: str
    is_new_enough: bool
    trouble: str = ""


def _git(context: DoctorContext) -> _Git:
    try:
        text = Git(context.directory, environ=context.environ).line("version")
    except (OSError, GitError) as error:
        return _Git("", is_new_enough=False, trouble=str(getattr(error, "strerror", None) or error))
    version = version_in(text)
    return _Git(text, is_new_enough=version is not None and version >= OLDEST)


def _is_wanted(context: DoctorContext) -> bool:
    return repository_around(context.places.project) is not None


def program(context: DoctorContext) -> Iterator[Finding]:
    git = context.once(_git)
    least = ".".join(map(str, OLDEST))
    if git.is_new_enough:
        yield fine(git.version)
    elif not _is_wanted(context):
        yield fine("this is not a repository, so git is not needed")
    elif git.trouble:
        yield problem(
            f"the program `git` cannot be started: {git.trouble}", advice="install git", subject="git"
        )
    else:
        yield problem(
            f"this is {git.version}, and Weft needs {least} or newer",
            advice=f"install git {least} or newer, or set `isolation: dir` in the plan",
            subject="git",
        )


# --- the repository ---


def repository(context: DoctorContext) -> Iterator[Finding]:
    if not _is_wanted(context):
        yield fine("this is not a repository: slices work in directories of their own")
        return
    if not context.once(_git).is_new_enough:
        yield unknown("cannot be checked without git")
        return
    try:
        opened = open_repository(context.places.project, environ=context.environ)
    except InputError as error:
        yield problem(str(error), command=_advice(str(error)), subject=str(context.places.project))
        return
    if opened.identity:
        yield fine("git has no name and e-mail address for you; Weft commits as Weft <weft@localhost>")
    if opened.git.line("rev-parse", "--is-shallow-repository") == "true":
        yield fine("this is a shallow clone; to fetch the whole history, type: git fetch --unshallow")
    yield from _of_the_plan(context)


def _advice(message: str) -> str:
    """Returns the command at the end of the message, or `git status` if it has none."""
    return message.rpartition("; type: ")[2] if "; type: " in message else "git status"


def _of_the_plan(context: DoctorContext) -> Iterator[Finding]:
    """Yields obstacles for the plan's slices, and notes that the user should read before a run."""
    try:
        plan = context.plan
    except (PlanError, InputError):
        return  # another check reports it
    if plan is None or not any(scope.settings.has_branch for scope in plan.scopes):
        return
    file = plan.document.file
    try:
        used = repository_of(plan, context.places.project, context.environ)
        concerns = concerns_of(plan, used, ends_of(plan, used))
    except InputError as error:
        yield problem(str(error), command=_advice(str(error)), subject=file)
        return
    for message in concerns.refusals:
        yield problem(message, command=f"weft check {shlex.quote(file)}", subject=message)
    for message in (*concerns.notes, *uncommitted(used)):
        yield fine(message)


# --- locks ---


class _Lock(Struct, frozen=True, kw_only=True):
    file: Path
    directory: Path
    """The checkout that it is about."""
    is_ours: bool


def locks(context: DoctorContext) -> Iterator[Finding]:
    if not _is_wanted(context) or not context.once(_git).is_new_enough:
        return
    # Weft keeps a record of each git that it starts, so it knows the locks of a killed one without waiting for
    # their age.
    own_locks = LeftoverLocks(Git(context.places.project, environ=context.environ).common).locks()
    for file in own_locks:
        yield problem(
            f"{file} is the lock of a git that Weft started and that was killed",
            command=DOCTOR,
            subject=str(file),
            fix=partial(_remove_own_locks, context),
        )
    for lock in _lock_files(context):
        if (
            lock.file in own_locks
            or not _is_old(lock.file, context)
            or not is_stale(lock.file, lock.directory)
        ):
            continue
        yield problem(
            f"{lock.file} is a stale lock: no process has it open, and no git runs in {lock.directory}",
            command=f"rm {shlex.quote(str(lock.file))}",
            subject=str(lock.file),
            # A lock in the user's own checkout may belong to an editor or a script that Weft cannot see, so only
            # the user removes it.
            fix=partial(_remove, context, lock) if lock.is_ours else None,
        )


def _lock_files(context: DoctorContext) -> Iterator[_Lock]:
    common = Git(context.places.project, environ=context.environ).common
    # For a bare repository, or one with a separate git directory, the directory itself stands for the checkout.
    top = common.parent if common.name == ".git" else common
    own = _own_prefixes(context)
    for name in _SHARED:
        yield _Lock(file=common / name, directory=top, is_ours=False)
    for file in (common / "refs").rglob("*.lock"):
        is_ours = file.relative_to(common).as_posix().startswith(own)
        yield _Lock(file=file, directory=top, is_ours=is_ours)
    yield from _of_worktrees(context, common)


def _of_worktrees(context: DoctorContext, common: Path) -> Iterator[_Lock]:
    """Yields locks of worktrees, except those of an active run, which handles its locks itself."""
    repository_refs = context.once(find_repository_refs)
    ours = (
        {}
        if repository_refs is None
        else {os.path.realpath(worktree.path): worktree for worktree in repository_refs.worktrees}
    )
    for entry in (common / "worktrees").glob("*"):
        directory = Path(text_of(entry / "gitdir") or entry).parent
        worktree = ours.get(os.path.realpath(directory))
        for name in _OF_A_CHECKOUT if worktree is None or not worktree.is_at_work else ():
            yield _Lock(file=entry / name, directory=directory, is_ours=worktree is not None)


def _own_prefixes(context: DoctorContext) -> tuple[str, ...]:
    repository_refs = context.once(find_repository_refs)
    heads = (
        ()
        if repository_refs is None
        else (branch.ref for plan in repository_refs.plans for branch in plan.branches)
    )
    return ("refs/weft/", *heads)


def _is_old(file: Path, context: DoctorContext) -> bool:
    try:
        return time.time() - file.lstat().st_mtime > context.bounds.lock_age
    except FileNotFoundError:
        return False


def _remove_own_locks(context: DoctorContext) -> None:
    with context.alone():
        LeftoverLocks(Git(context.places.project, environ=context.environ).common).remove()


def _remove(context: DoctorContext, lock: _Lock) -> None:
    with context.alone():
        if is_stale(lock.file, lock.directory):
            lock.file.unlink(missing_ok=True)


CHECKS = (
    Check(
        id="git",
        covers=f"the program `git` is there, and is {'.'.join(map(str, OLDEST))} or newer",
        why="slices work in git worktrees, and their results are merged by git without touching your files",
        examine=program,
    ),
    Check(
        id="repository",
        covers="git can read the repository; it is not bare and has a commit; submodules, branch names, base "
        "and target of the plan allow slices to start",
        why="slices start from a commit and land on a branch",
        examine=repository,
    ),
    Check(
        id="git-locks",
        covers="stale lock files of git: no process has them open, no git runs there, and they are older than "
        "10 s or were left by a git that Weft started",
        why="git cannot write while they exist",
        fix_description="removes those in worktrees and on branches of plans, and all that a git of Weft has "
        "left; it "
        "does not touch others in your own checkout",
        examine=locks,
    ),
)
