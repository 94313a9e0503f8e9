"""Checks of worktrees: missing ones, unknown directories, and worktrees with uncommitted work.

Worktrees of an active run are not examined, because the run is changing them.
"""

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from weft.app.doctor.context import DoctorContext
from weft.app.doctor.findings import Check, Finding, Fix, problem, warning
from weft.app.doctor.plan_refs import RepositoryRefs, Worktree, find_repository_refs
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
"""How many worktrees are examined in parallel; each mostly waits for git and the disk."""
_ASIDE = "_old."


def _quiet(context: DoctorContext) -> tuple[RepositoryRefs | None, list[Worktree]]:
    """Returns the refs, and the worktrees that no active run is changing."""
    repository_refs = context.once(find_repository_refs)
    return repository_refs, [] if repository_refs is None else [
        worktree for worktree in repository_refs.worktrees if not worktree.is_at_work
    ]


def _quote(path: Path) -> str:
    return shlex.quote(shown(os.fsencode(path)))


# --- missing worktrees ---


def lost(context: DoctorContext) -> Iterator[Finding]:
    repository_refs, quiet = _quiet(context)
    for worktree in quiet:
        if repository_refs is None or worktree.is_there:
            continue
        name = (worktree.listed.branch or worktree.listed.head[:12]).removeprefix("refs/heads/")
        is_locked = worktree.listed.locked is not None
        yield problem(
            f"the worktree {worktree.path} is registered, but its directory does not exist; it had {name} "
            f"checked out",
            # Git removes a locked worktree only with --force given twice.
            command=f"git worktree remove --force{' --force' * is_locked} {_quote(worktree.path)}",
            subject=str(worktree.path),
            fix=_removal(context, repository_refs, worktree),
        )


def _removal(context: DoctorContext, repository_refs: RepositoryRefs, worktree: Worktree) -> Fix | None:
    """Returns the fix that removes the registration; None if more than the registration could be lost.

    That is so if a person locked the worktree, its disk may only be unmounted, or its index holds work.
    """
    entry = _worktrees(repository_refs).entry_of(worktree.path)
    is_ours = worktree.listed.locked in {None, MAKING}
    if (
        entry is None
        or not is_ours
        # If the directory around it is missing too, the disk may only be unmounted.
        or not worktree.path.parent.is_dir()
        or _holds_work(repository_refs, worktree, entry)
    ):
        return None
    return partial(_forget, context, worktree.path)


def _holds_work(repository_refs: RepositoryRefs, worktree: Worktree, entry: Path) -> bool:
    """Returns whether the registration has staged work, or a commit that no ref reaches."""
    if worktree.is_scratch:
        return False
    git = repository_refs.repository.git
    return (
        operation_in(entry) is not None
        or _has_staged(git, entry, worktree.listed.head)
        or _has_undone(git, entry)
    )


def _has_staged(git: Git, entry: Path, head: str) -> bool:
    index = entry / "index"
    if not index.exists():
        return False
    comparison = git.ask("diff-index", "--cached", "--quiet", head, "--", env={"GIT_INDEX_FILE": str(index)})
    return comparison.exit_code != 0


def _has_undone(git: Git, entry: Path) -> bool:
    """Returns whether the reflog of the worktree's HEAD has a commit that no ref reaches."""
    log = (text_of(entry / "logs" / "HEAD") or "").splitlines()
    commits = {line.split(" ", 2)[1] for line in log if line.count(" ") > 1}
    lines = os.fsencode("".join(f"{commit}\n" for commit in sorted(commits)))
    # `--single-worktree` keeps the HEADs of other worktrees out of `--all`; without it the lost worktree's own
    # HEAD would count as a ref that reaches its commits.
    options = ("--count", "--ignore-missing", "--single-worktree", "--stdin", "--not", "--all")
    result = git.ask("rev-list", *options, stdin=lines)
    return result.exit_code != 0 or result.text != "0"


def _forget(context: DoctorContext, path: Path) -> None:
    with context.alone():
        # A new context under the lock: the facts of the check may be out of date by now.
        repository_refs, quiet = _quiet(DoctorContext(context.directory, environ=context.environ))
        current = next(
            (worktree for worktree in quiet if worktree.path == path and not worktree.is_there), None
        )
        if repository_refs is None or current is None:
            return
        if _removal(context, repository_refs, current) is None:
            raise WeftError(f"the registration of {path} has changed")
        _worktrees(repository_refs).remove(path)


def _worktrees(repository_refs: RepositoryRefs) -> Worktrees:
    return Worktrees(repository_refs.repository.git, repository_refs.repository.common)


# --- unregistered directories ---


def ghosts(context: DoctorContext) -> Iterator[Finding]:
    repository_refs, _ = _quiet(context)
    for place in _strangers(repository_refs):
        if place.name.startswith(_ASIDE):
            continue
        is_empty = place.is_dir() and not place.is_symlink() and not any(place.iterdir())
        holds = "is empty" if is_empty else "holds files"
        away = context.places.weft / f"{place.name}.saved"
        yield problem(
            f"{place} is the path of a worktree, is not registered with git, and {holds}",
            command=f"rmdir {_quote(place)}" if is_empty else f"mv {_quote(place)} {_quote(away)}",
            subject=str(place),
            fix=partial(_holding_lock, context, place.rmdir) if is_empty else None,
        )


def _strangers(repository_refs: RepositoryRefs | None) -> Iterator[Path]:
    """Yields unregistered directories in the places of worktrees."""
    if repository_refs is None:
        return
    places = [place for plan in repository_refs.plans if not plan.is_at_work for place, _ in plan.places()]
    inside = [
        place for folder in repository_refs.folders if folder.is_dir() for place in sorted(folder.iterdir())
    ]
    existing = {os.path.realpath(place): place for place in (*places, *inside) if os.path.lexists(place)}
    yield from (place for real, place in existing.items() if real not in repository_refs.registered)


def _holding_lock(context: DoctorContext, fix: Callable[[], None]) -> None:
    with context.alone():
        fix()


def asides(context: DoctorContext) -> Iterator[Finding]:
    repository_refs, _ = _quiet(context)
    for place in _strangers(repository_refs):
        # Removal renames a worktree first and then deletes it, so such a directory holds nothing that is still
        # needed.
        if place.name.startswith(_ASIDE):
            yield warning(
                f"{place} is the rest of a worktree whose removal was interrupted",
                command=f"rm -rf {_quote(place)}",
                subject=str(place),
                fix=partial(_holding_lock, context, partial(_wipe, place)),
            )


def _wipe(place: Path) -> None:
    folder = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        wipe(folder, place.name)
    finally:
        os.close(folder)


# --- broken, locked and dirty worktrees ---


def broken(context: DoctorContext) -> Iterator[Finding]:
    repository_refs, quiet = _quiet(context)
    for worktree in quiet:
        if repository_refs is None or not worktree.is_there or worktree.listed.locked == MAKING:
            continue
        try:
            require_registered(worktree.path, git_dir_of(worktree.path), repository_refs.repository.common)
        except WorkspaceError as error:
            yield problem(str(error), command=_repair(context, worktree.path), subject=str(worktree.path))


def _repair(context: DoctorContext, place: Path) -> str:
    """Returns the command.

    Without a path git repairs the links of all worktrees, even ones that have lost theirs.
    """
    repair = "git worktree repair"
    if not (place / ".git").is_dir():
        return repair
    saved = context.places.weft / f"{place.name}.git.saved"
    return f"mv {_quote(place / '.git')} {_quote(saved)} && {repair}"


def locked(context: DoctorContext) -> Iterator[Finding]:
    _, quiet = _quiet(context)
    for worktree in quiet:
        reason = worktree.listed.locked
        if reason == MAKING:
            yield warning(
                f"the worktree {worktree.path} was not created completely; no step has run there",
                command="weft clean",
                subject=str(worktree.path),
            )
        elif reason is not None:
            because = f": {reason}" if reason else ""
            yield warning(
                f"the worktree {worktree.path} is locked{because}",
                command=f"git worktree unlock {_quote(worktree.path)}",
                subject=str(worktree.path),
            )


def dirty(context: DoctorContext) -> Iterator[Finding]:
    repository_refs, quiet = _quiet(context)
    if repository_refs is None:
        return
    candidates = [
        worktree
        for worktree in quiet
        if worktree.is_there
        and worktree.listed.prunable is None
        and not worktree.is_scratch
        and worktree.listed.locked != MAKING
    ]
    results = map_in_threads(partial(_dirt, repository_refs), candidates, most=_AT_ONCE)
    for worktree, dirt in zip(candidates, results, strict=True):
        if dirt:
            yield warning(
                f"the worktree {worktree.path} has uncommitted changes: {listed(dirt)}",
                command=f"git -C {_quote(worktree.path)} status",
                subject=str(worktree.path),
            )


def _dirt(repository_refs: RepositoryRefs, worktree: Worktree) -> Sequence[str]:
    try:
        unsaved_work = unsaved(repository_refs.repository.git.at(worktree.path))
    except WorkspaceError:
        return []  # the check `worktree-broken` reports it
    operation = operation_in(unsaved_work.git_dir)
    files = [shown(path) for path in unsaved_work.paths]
    return files if operation is None else [*files, f"an unfinished `git {operation}`"]


CHECKS = (
    Check(
        id="worktree-lost",
        covers="registered worktrees of plans that have no directory",
        why="git keeps their branches from being checked out anywhere else",
        fix_description="removes the registration if a branch or a tag contains its commit, nothing is staged in "
        "it, and "
        "it is not locked",
        examine=lost,
    ),
    Check(
        id="worktree-ghost",
        covers="directories at the paths of worktrees that git has not registered",
        why="a slice refuses to work there, because git would not see its changes",
        fix_description="removes those that are empty",
        examine=ghosts,
    ),
    Check(
        id="worktree-leftover",
        covers="directories `_old.…`: the rest of a worktree whose removal was interrupted (a warning)",
        why="they only take space",
        fix_description="removes them",
        examine=asides,
    ),
    Check(
        id="worktree-broken",
        covers="worktrees with a broken link to the repository, or from it",
        why="git would treat their files as part of the directory around them",
        examine=broken,
    ),
    Check(
        id="worktree-locked",
        covers="worktrees that are locked, or that git did not finish creating (a warning)",
        why="Weft neither removes nor recreates them",
        examine=locked,
    ),
    Check(
        id="worktree-dirty",
        covers="worktrees with changes that are in no commit, or an unfinished merge or rebase (a warning)",
        why="uncommitted changes never land, and exist nowhere else",
        examine=dirty,
    ),
)
