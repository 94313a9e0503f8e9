"""Worktrees: those that are gone, those that nobody knows, those with work that is in no commit.

What a run that is under way does with its worktrees is its own affair; only those of others are looked at.
"""

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from weft.app.doctor.context import DoctorContext
from weft.app.doctor.findings import Check, Finding, Mend, problem, warning
from weft.app.doctor.plan_refs import RepositoryRefs, Worktree, find_remains
from weft.errors import WeftError
from weft.threads import map_in_threads
from weft.workspaces.errors import WorkspaceError, listed, shown
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.worktree_links import (
    MAKING,
    git_dir_of,
    operation_in,
    require_registered,
    text_of,
)
from weft.workspaces.git.worktrees.unsaved_work import unsaved
from weft.workspaces.git.worktrees.worktrees import Worktrees
from weft.workspaces.safe_walk import wipe

_AT_ONCE = 8
"""So many worktrees are looked through at the same time; each waits mostly for git and the disk."""
_ASIDE = "_old."


def _quiet(ground: DoctorContext) -> tuple[RepositoryRefs | None, list[Worktree]]:
    """Those that no run is changing."""
    remains = ground.once(find_remains)
    return remains, [] if remains is None else [one for one in remains.worktrees if not one.is_at_work]


def _quoted(path: Path) -> str:
    return shlex.quote(shown(os.fsencode(path)))


# --- gone ---


def lost(ground: DoctorContext) -> Iterator[Finding]:
    remains, quiet = _quiet(ground)
    for one in quiet:
        if remains is None or one.is_there:
            continue
        name = (one.listed.branch or one.listed.head[:12]).removeprefix("refs/heads/")
        is_locked = one.listed.locked is not None
        yield problem(
            f"the worktree {one.path} is registered, and its directory is gone; it had {name} checked out",
            # A worktree that is locked goes only if that is said twice.
            command=f"git worktree remove --force{' --force' * is_locked} {_quoted(one.path)}",
            subject=str(one.path),
            mend=_forgetting(ground, remains, one),
        )


def _forgetting(ground: DoctorContext, remains: RepositoryRefs, one: Worktree) -> Mend | None:
    """Only if nothing but the registration goes: no lock of a person, no disk that is just not there, no index."""
    entry = _worktrees(remains).entry_of(one.path)
    is_ours = one.listed.locked in {None, MAKING}
    if entry is None or not is_ours or not one.path.parent.is_dir() or _holds_work(remains, one, entry):
        return None
    return partial(_forget, ground, one.path)


def _holds_work(remains: RepositoryRefs, one: Worktree, entry: Path) -> bool:
    """Whether the registration itself leads to what is in no commit, or to one that nothing else leads to."""
    if one.is_scratch:
        return False
    git = remains.repository.git
    return (
        operation_in(entry) is not None or _has_staged(git, entry, one.listed.head) or _has_undone(git, entry)
    )


def _has_staged(git: Git, entry: Path, head: str) -> bool:
    index = entry / "index"
    if not index.exists():
        return False
    same = git.ask("diff-index", "--cached", "--quiet", head, "--", env={"GIT_INDEX_FILE": str(index)})
    return same.exit_code != 0


def _has_undone(git: Git, entry: Path) -> bool:
    """Whether a commit was checked out there once that no ref leads to: only the log of its head has it."""
    log = (text_of(entry / "logs" / "HEAD") or "").splitlines()
    commits = {line.split(" ", 2)[1] for line in log if line.count(" ") > 1}
    lines = os.fsencode("".join(f"{commit}\n" for commit in sorted(commits)))
    options = ("--count", "--ignore-missing", "--single-worktree", "--stdin", "--not", "--all")
    found = git.ask("rev-list", *options, stdin=lines)
    return found.exit_code != 0 or found.text != "0"


def _forget(ground: DoctorContext, path: Path) -> None:
    with ground.alone():
        remains, quiet = _quiet(DoctorContext(ground.directory, environ=ground.environ))
        again = next((one for one in quiet if one.path == path and not one.is_there), None)
        if remains is None or again is None:
            return
        if _forgetting(ground, remains, again) is None:
            raise WeftError(f"the registration of {path} is not what it was")
        _worktrees(remains).remove(path)


def _worktrees(remains: RepositoryRefs) -> Worktrees:
    return Worktrees(remains.repository.git, remains.repository.common)


# --- nobody knows them ---


def ghosts(ground: DoctorContext) -> Iterator[Finding]:
    remains, _ = _quiet(ground)
    for place in _strangers(remains):
        if place.name.startswith(_ASIDE):
            continue
        is_empty = place.is_dir() and not place.is_symlink() and not any(place.iterdir())
        holds = "is empty" if is_empty else "holds files"
        away = ground.places.weft / f"{place.name}.saved"
        yield problem(
            f"{place} is where a worktree is to be, is none that git knows, and {holds}",
            command=f"rmdir {_quoted(place)}" if is_empty else f"mv {_quoted(place)} {_quoted(away)}",
            subject=str(place),
            mend=partial(_with_nobody_there, ground, place.rmdir) if is_empty else None,
        )


def _strangers(remains: RepositoryRefs | None) -> Iterator[Path]:
    """What is in our places, or in directories of ours, and is not registered."""
    if remains is None:
        return
    places = [place for plan in remains.plans if not plan.is_at_work for place, _ in plan.places()]
    inside = [place for folder in remains.folders if folder.is_dir() for place in sorted(folder.iterdir())]
    there = {os.path.realpath(place): place for place in (*places, *inside) if os.path.lexists(place)}
    yield from (place for real, place in there.items() if real not in remains.registered)


def _with_nobody_there(ground: DoctorContext, act: Callable[[], None]) -> None:
    with ground.alone():
        act()


def asides(ground: DoctorContext) -> Iterator[Finding]:
    remains, _ = _quiet(ground)
    for place in _strangers(remains):
        if place.name.startswith(_ASIDE):
            yield warning(
                f"{place} is what is left of a worktree whose removal was cut off",
                command=f"rm -rf {_quoted(place)}",
                subject=str(place),
                mend=partial(_with_nobody_there, ground, partial(_wipe, place)),
            )


def _wipe(place: Path) -> None:
    folder = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        wipe(folder, place.name)
    finally:
        os.close(folder)


# --- not as they should be ---


def broken(ground: DoctorContext) -> Iterator[Finding]:
    remains, quiet = _quiet(ground)
    for one in quiet:
        if remains is None or not one.is_there or one.listed.locked == MAKING:
            continue
        try:
            require_registered(one.path, git_dir_of(one.path), remains.repository.common)
        except WorkspaceError as error:
            yield problem(str(error), command=_repair(ground, one.path), subject=str(one.path))


def _repair(ground: DoctorContext, place: Path) -> str:
    """Without a path git writes the links of all worktrees that it knows; named ones must have theirs."""
    repair = "git worktree repair"
    if not (place / ".git").is_dir():
        return repair
    saved = ground.places.weft / f"{place.name}.git.saved"
    return f"mv {_quoted(place / '.git')} {_quoted(saved)} && {repair}"


def locked(ground: DoctorContext) -> Iterator[Finding]:
    _, quiet = _quiet(ground)
    for one in quiet:
        reason = one.listed.locked
        if reason == MAKING:
            yield warning(
                f"the worktree {one.path} was not made to its end; nobody has worked there",
                command="weft clean",
                subject=str(one.path),
            )
        elif reason is not None:
            because = f": {reason}" if reason else ""
            yield warning(
                f"the worktree {one.path} is locked{because}",
                command=f"git worktree unlock {_quoted(one.path)}",
                subject=str(one.path),
            )


def dirty(ground: DoctorContext) -> Iterator[Finding]:
    remains, quiet = _quiet(ground)
    if remains is None:
        return
    to_look_at = [
        one for one in quiet if one.is_there and one.listed.prunable is None and not one.is_scratch
        and one.listed.locked != MAKING
    ]  # fmt: skip
    looks = map_in_threads(partial(_dirt, remains), to_look_at, most=_AT_ONCE)
    for one, dirt in zip(to_look_at, looks, strict=True):
        if dirt:
            yield warning(
                f"the worktree {one.path} holds what is in no commit: {listed(dirt)}",
                command=f"git -C {_quoted(one.path)} status",
                subject=str(one.path),
            )


def _dirt(remains: RepositoryRefs, one: Worktree) -> Sequence[str]:
    try:
        found = unsaved(remains.repository.git.at(one.path))
    except WorkspaceError:
        return []  # it is none: see `worktree-broken`
    operation = operation_in(found.git_dir)
    files = [shown(path) for path in found.paths]
    return files if operation is None else [*files, f"an unfinished `git {operation}`"]


CHECKS = (
    Check(
        id="worktree-lost",
        looks_at="worktrees of plans that git has registered and whose directories are gone",
        why="git keeps their branches from being checked out anywhere else",
        mends="removes the registration, if all that it led to has a branch or a tag, nothing is staged in it, "
        "and nobody has locked it",
        examine=lost,
    ),
    Check(
        id="worktree-ghost",
        looks_at="directories in the places of worktrees that git does not know",
        why="a slice refuses to work there, for nothing of it would be seen by git",
        mends="removes those that are empty",
        examine=ghosts,
    ),
    Check(
        id="worktree-leftover",
        looks_at="directories `_old.…`: what is left of a worktree that was being removed (a warning)",
        why="they take space, and nobody wants them any more",
        mends="removes them",
        examine=asides,
    ),
    Check(
        id="worktree-broken",
        looks_at="worktrees whose link to the repository, or back, is broken",
        why="git would take their files for a part of what is around them",
        examine=broken,
    ),
    Check(
        id="worktree-locked",
        looks_at="worktrees that somebody has locked, or that were not made to their end (a warning)",
        why="they are not removed or made anew by themselves",
        examine=locked,
    ),
    Check(
        id="worktree-dirty",
        looks_at="worktrees with changes that are in no commit, or an unfinished merge or rebase (a warning)",
        why="what is in no commit never lands, and is nowhere else",
        examine=dirty,
    ),
)
