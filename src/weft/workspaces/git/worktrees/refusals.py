"""Errors for a directory or a branch that is not as a worktree needs it, with the command that helps."""

import os
from pathlib import Path

from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.base.program import GitOutput
from weft.workspaces.git.base.worktree_links import text_of
from weft.workspaces.git.checkouts.registrations import ListedWorktree

_HEADS = "refs/heads/"


def branch_name(ref: str) -> str:
    return ref.removeprefix(_HEADS)


def checked_out_elsewhere(worktree: ListedWorktree, branch: str) -> WorkspaceError:
    name = branch_name(branch)
    problem = f"the branch {name} is checked out in {worktree.path}, and cannot be in two worktrees"
    if worktree.prunable is not None:
        return WorkspaceError(f"{problem}; that directory is gone: put it back, or type `git worktree prune`")
    return WorkspaceError(f"{problem}; type: git -C {worktree.path} switch --detach")


def refuse_locked(worktree: ListedWorktree) -> None:
    if worktree.locked is None:
        return
    reason = f": {worktree.locked}" if worktree.locked else ""
    raise WorkspaceError(
        f"the worktree {worktree.path} is gone, but it was locked{reason}; put it back, or let Weft recreate it "
        f"by typing: git worktree unlock {worktree.path}"
    )


def wrong_branch_error(directory: Path, branch: str, answer: GitOutput, git_dir: Path) -> WorkspaceError:
    top, _, head = answer.text.rpartition("\n")
    name = branch_name(branch)
    if top != os.path.realpath(directory):
        return WorkspaceError(
            f"git takes {top or 'nothing'} for the root of {directory}: {answer.message or 'so it is set'}; "
            f"look for `core.worktree` in: git -C {directory} config --list --show-origin"
        )
    if answer.exit_code and text_of(git_dir / "HEAD") == f"ref: {branch}":
        last = (text_of(git_dir / "logs" / "HEAD") or "").rpartition("\n")[2].split(" ")
        commit = last[1][:12] if len(last) > 1 else "COMMIT"
        return WorkspaceError(
            f"the branch {name} of the worktree {directory} is gone; to restore it, type: git branch {name} "
            f"{commit}"
        )
    actual = f"the branch {branch_name(head)}" if head.startswith(_HEADS) else "no branch"
    return WorkspaceError(
        f"the worktree {directory} has {actual} checked out; it must have {name}; type: git -C {directory} switch "
        f"{name}"
    )


def is_empty(directory: Path) -> bool:
    """Returns whether the directory is empty or does not exist."""
    try:
        return not any(directory.iterdir())
    except FileNotFoundError:
        return True
    except NotADirectoryError:
        return False


def refuse_unknown(directory: Path) -> None:
    if directory.is_symlink() or not is_empty(directory):
        raise WorkspaceError(
            f"{directory} exists and is not a worktree of this repository, so Weft does not touch it; save what "
            f"you need, move it away, and try again"
        )
