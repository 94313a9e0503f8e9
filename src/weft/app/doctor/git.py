"""git itself, the repository, and locks that a git which died has left."""

import os
import shlex
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from msgspec import Struct

from weft.app.doctor.context import DoctorContext
from weft.app.doctor.findings import Check, Finding, fine, problem, unknown
from weft.app.doctor.plan_refs import find_remains
from weft.app.isolation.plan_repository import ends_of, repository_of, worries
from weft.errors import InputError
from weft.plan.text.problems import PlanError
from weft.workspaces.git.base.children import Leavings
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
    said: str
    is_new_enough: bool
    trouble: str = ""


def _git(ground: DoctorContext) -> _Git:
    try:
        said = Git(ground.directory, environ=ground.environ).line("version")
    except (OSError, GitError) as error:
        return _Git("", is_new_enough=False, trouble=str(getattr(error, "strerror", None) or error))
    version = version_in(said)
    return _Git(said, is_new_enough=version is not None and version >= OLDEST)


def _is_wanted(ground: DoctorContext) -> bool:
    return repository_around(ground.places.project) is not None


def program(ground: DoctorContext) -> Iterator[Finding]:
    git = ground.once(_git)
    least = ".".join(map(str, OLDEST))
    if git.is_new_enough:
        yield fine(git.said)
    elif not _is_wanted(ground):
        yield fine("this is no repository, so git is not needed")
    elif git.trouble:
        yield problem(
            f"the program `git` cannot be started: {git.trouble}", advice="install git", subject="git"
        )
    else:
        yield problem(
            f"this is {git.said}, and Weft needs {least} or newer",
            advice=f"install git {least} or newer, or set `isolation: dir` in the plan",
            subject="git",
        )


# --- the repository ---


def repository(ground: DoctorContext) -> Iterator[Finding]:
    if not _is_wanted(ground):
        yield fine("this is no repository: slices work in directories of their own")
        return
    if not ground.once(_git).is_new_enough:
        yield unknown("cannot be checked without git")
        return
    try:
        found = open_repository(ground.places.project, environ=ground.environ)
    except InputError as error:
        yield problem(str(error), command=_advice(str(error)), subject=str(ground.places.project))
        return
    if found.identity:
        yield fine("git knows no name and address of yours; commits are made as Weft <weft@localhost>")
    if found.git.line("rev-parse", "--is-shallow-repository") == "true":
        yield fine("the history is cut off (a shallow clone); to have all of it, type: git fetch --unshallow")
    yield from _of_the_plan(ground)


def _advice(said: str) -> str:
    """The command that a message ends with, if it does."""
    return said.rpartition("; type: ")[2] if "; type: " in said else "git status"


def _of_the_plan(ground: DoctorContext) -> Iterator[Finding]:
    """What keeps its slices from starting, and what a person should know before they do."""
    try:
        plan = ground.plan
    except (PlanError, InputError):
        return  # another check tells
    if plan is None or not any(scope.settings.has_branch for scope in plan.scopes):
        return
    file = plan.document.file
    try:
        used = repository_of(plan, ground.places.project, ground.environ)
        found = worries(plan, used, ends_of(plan, used))
    except InputError as error:
        yield problem(str(error), command=_advice(str(error)), subject=file)
        return
    for words in found.refusals:
        yield problem(words, command=f"weft check {shlex.quote(file)}", subject=words)
    for words in (*found.notes, *uncommitted(used)):
        yield fine(words)


# --- locks ---


class _Lock(Struct, frozen=True, kw_only=True):
    file: Path
    directory: Path
    """The checkout that it is about."""
    is_ours: bool


def locks(ground: DoctorContext) -> Iterator[Finding]:
    if not _is_wanted(ground) or not ground.once(_git).is_new_enough:
        return
    left = Leavings(Git(ground.places.project, environ=ground.environ).common).locks()
    for file in left:
        yield problem(
            f"{file} is the lock of a git that Weft has started, and that was killed",
            command=DOCTOR,
            subject=str(file),
            mend=partial(_remove_left, ground),
        )
    for lock in _found(ground):
        if lock.file in left or not _is_old(lock.file, ground) or not is_stale(lock.file, lock.directory):
            continue
        yield problem(
            f"{lock.file} is the lock of a git that has gone: no process has it, and no git works in "
            f"{lock.directory}",
            command=f"rm {shlex.quote(str(lock.file))}",
            subject=str(lock.file),
            mend=partial(_remove, ground, lock) if lock.is_ours else None,
        )


def _found(ground: DoctorContext) -> Iterator[_Lock]:
    common = Git(ground.places.project, environ=ground.environ).common
    top = common.parent if common.name == ".git" else common
    own = _own_prefixes(ground)
    for name in _SHARED:
        yield _Lock(file=common / name, directory=top, is_ours=False)
    for file in (common / "refs").rglob("*.lock"):
        is_ours = file.relative_to(common).as_posix().startswith(own)
        yield _Lock(file=file, directory=top, is_ours=is_ours)
    yield from _of_worktrees(ground, common)


def _of_worktrees(ground: DoctorContext, common: Path) -> Iterator[_Lock]:
    """Not of those that a run is at work in: it has its own way with locks."""
    remains = ground.once(find_remains)
    ours = {} if remains is None else {os.path.realpath(one.path): one for one in remains.worktrees}
    for entry in (common / "worktrees").glob("*"):
        directory = Path(text_of(entry / "gitdir") or entry).parent
        one = ours.get(os.path.realpath(directory))
        for name in _OF_A_CHECKOUT if one is None or not one.is_at_work else ():
            yield _Lock(file=entry / name, directory=directory, is_ours=one is not None)


def _own_prefixes(ground: DoctorContext) -> tuple[str, ...]:
    remains = ground.once(find_remains)
    heads = () if remains is None else (branch.ref for plan in remains.plans for branch in plan.branches)
    return ("refs/weft/", *heads)


def _is_old(file: Path, ground: DoctorContext) -> bool:
    try:
        return time.time() - file.lstat().st_mtime > ground.bounds.lock_age
    except FileNotFoundError:
        return False


def _remove_left(ground: DoctorContext) -> None:
    with ground.alone():
        Leavings(Git(ground.places.project, environ=ground.environ).common).remove()


def _remove(ground: DoctorContext, lock: _Lock) -> None:
    with ground.alone():
        if is_stale(lock.file, lock.directory):
            lock.file.unlink(missing_ok=True)


CHECKS = (
    Check(
        id="git",
        looks_at=f"the program `git` is there, and is {'.'.join(map(str, OLDEST))} or newer",
        why="slices work in git worktrees, and their results are merged by git without touching your files",
        examine=program,
    ),
    Check(
        id="repository",
        looks_at="git can read the repository, it is not bare and has a commit; submodules, names and ends of "
        "the plan are such that slices can start",
        why="slices start from a commit, and land on a branch",
        examine=repository,
    ),
    Check(
        id="git-locks",
        looks_at="lock files of git that nobody has: no process has them open, no git is at work there, and "
        "they are older than 10 s, or were left by a git that Weft had started",
        why="as long as they are there no git can write",
        mends="removes those in worktrees and on branches of plans, and all that gits of Weft have left; of "
        "others in your own checkout you decide",
        examine=locks,
    ),
)
