"""The checkouts that have a branch, including those that only return to it later.

A rebase or a bisection detaches the checkout from its branch for a while and returns to it later. A branch that
waits for one of these therefore counts as checked out: moving it would spoil the person's operation.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from weft.safe_files import UnsafeFileError, read_file
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.ref_files import UnusualRefError, read_head
from weft.workspaces.git.checkouts.registrations import Registrations

_HEADS = "refs/heads/"
_CLAIMS = ("rebase-merge/head-name", "rebase-apply/head-name", "rebase-merge/update-refs", "BISECT_START")
"""Files in which git records the branches that it will return to."""
_ELSEWHERE = "refs/heads/.invalid"
"""The placeholder for a HEAD that git does not store in a file."""
_SMALL = 1 << 20
"""The most bytes of a file that names a commit or a branch."""


def checkout_of(git: Git, ref: str) -> Path | None:
    """Returns the worktree that has a branch checked out, or will when its rebase or bisection ends."""
    return next(iter(checkouts_of(git, ref)), None)


def checkouts_of(git: Git, ref: str) -> list[Path]:
    """Returns the worktrees that have the branch. A missing directory counts only if its worktree is locked."""
    holders = _possible_holders(git.common, ref)
    if not holders:
        return []
    # Most often only the user's own checkout has the branch, and its place follows from the git directory.
    if holders == [git.common] and git.common.name == ".git" and _is_plainly_at(git.common, ref):
        return [git.common.parent]
    worktrees = Registrations(git, git.common).listed()
    # A worktree that git would prune is gone, and its branch is free again.
    paths = [worktree.path for worktree in worktrees if worktree.branch == ref and worktree.prunable is None]
    return paths or list(_claiming_worktrees(git.common, ref, worktrees[0].path))


def _possible_holders(common: Path, ref: str) -> list[Path]:
    """Returns the git directories of checkouts that may have the branch.

    It reads files, because most branches are checked out nowhere, and starting git would dominate the cost.
    """
    folders = (common, *common.glob("worktrees/*"))
    return [
        folder for folder in folders if _may_lead_to(common, folder / "HEAD", ref) or _claims(folder, ref)
    ]


def _is_plainly_at(common: Path, ref: str) -> bool:
    """Returns whether the main checkout has the branch and no unfinished operation that concerns it."""
    try:
        head = read_head(common, common)
    except UnusualRefError:
        return False
    config = _lines(common / "config")
    is_bare = any(line.split("=")[0].strip().lower() == "bare" and "false" not in line for line in config)
    return head == ref and not is_bare and not _claims(common, ref)


def _may_lead_to(common: Path, head: Path, ref: str) -> bool:
    """Returns whether a HEAD may lead to the branch, possibly through a symbolic ref."""
    head_ref = _symbolic_target(head)
    # Old gits made HEAD a symbolic link, and with reftables HEAD holds a placeholder. git has to be asked then.
    is_elsewhere = head.is_symlink() or head_ref == _ELSEWHERE
    return (
        is_elsewhere
        or head_ref == ref
        or (head_ref is not None and _symbolic_target(common / head_ref) is not None)
    )


def _symbolic_target(file: Path) -> str | None:
    """Returns the ref that a symbolic ref names; None if the file names a commit."""
    first = next(iter(_lines(file)), "")
    return first.removeprefix("ref:").strip() if first.startswith("ref:") else None


def _claiming_worktrees(common: Path, ref: str, first: Path) -> Iterator[Path]:
    """Yields worktrees that return to the branch after a rebase or a bisection; `first` is the main checkout."""
    for folder in (common, *sorted(common.glob("worktrees/*"))):
        if _claims(folder, ref):
            linked = _lines(folder / "gitdir")
            place = Path(linked[0]).parent if linked else first
            # A locked worktree may be on a disk that is not mounted at the moment.
            if place.is_dir() or (folder / "locked").exists():
                yield place


def _claims(folder: Path, ref: str) -> bool:
    names = {ref, ref.removeprefix(_HEADS)}
    return any(names.intersection(_lines(folder / claim)) for claim in _CLAIMS)


def _lines(file: Path) -> list[str]:
    """Returns the lines of a small file of git; none if it does not exist."""
    try:
        return os.fsdecode(read_file(file, most=_SMALL)).splitlines()
    except (FileNotFoundError, NotADirectoryError, UnsafeFileError):
        return []
