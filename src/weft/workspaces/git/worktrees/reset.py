"""Snapshot a worktree, then reset it to a known commit.

A reset destroys uncommitted work. Callers therefore take a snapshot first and store its tree under
`refs/weft/kept`.
"""

from pathlib import Path

from msgspec import Struct

from weft.engine.messages.facts import RefMove
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.base.locks import explain_lock_errors, remove_stale_locks
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.refs import move, tip, tree_of
from weft.workspaces.git.base.sparse import settings
from weft.workspaces.git.base.status import Status, status
from weft.workspaces.git.base.worktree_links import own_operation_in
from weft.workspaces.git.checkouts.commits import index_aside, refuse_repositories, stage
from weft.workspaces.git.clones.clone import quit_in_clone

_MOST_OPERATIONS = 6
"""The most operations that can be unfinished in one worktree, such as a cherry-pick within a rebase."""


class WorktreeSnapshot(Struct, frozen=True, kw_only=True):
    """The complete contents of a worktree at one moment, uncommitted files included."""

    status: Status
    head: str
    tree: str
    """Tree object with every tracked and untracked file that git does not ignore."""


def snapshot_worktree(git: Git, git_dir: Path, *, fallback_head: str) -> WorktreeSnapshot:
    """Writes the worktree's contents to a tree object and returns it with the current status.

    No process may be running in the worktree. `fallback_head` is used when the branch has been deleted.
    """
    remove_stale_locks(git.directory, git_dir)
    with explain_lock_errors():
        worktree_status = status(git, git_dir)
        refuse_repositories(git.directory, git_dir, worktree_status)
        # The worktree's own index stays as the step left it: files are staged in a copy.
        with index_aside(git_dir) as index:
            tree = stage(git, git_dir, worktree_status, index)
        head = worktree_status.head or fallback_head
        return WorktreeSnapshot(status=worktree_status, head=head, tree=tree or tree_of(git, head))


def reset_worktree(
    git: Git, git_dir: Path, snapshot: WorktreeSnapshot, *, ref: str, commit: str, reason: str
) -> None:
    """Checks out `ref` at `commit`. Keeps ignored files and files copied in by Weft; removes everything else."""
    # Each step leaves a state from which the same reset can be repeated after a kill.
    abort_operations(git, git_dir)
    if snapshot.status.branch != ref:
        git.do("symbolic-ref", "-m", reason, "HEAD", ref)
    current = tip(git, ref) or ""
    if current != commit and not move(git, [RefMove(ref=ref, before=current, after=commit)], reason=reason):
        raise WorkspaceError(f"branch {ref.removeprefix('refs/heads/')} was moved by another process")
    with explain_lock_errors():
        # read-tree only removes files that the index knows, so untracked files are staged first.
        stage(git, git_dir, snapshot.status, {})
        git.do("read-tree", "--reset", "-u", commit, env=settings(git_dir))


def abort_operations(git: Git, git_dir: Path) -> None:
    """Ends every unfinished merge, rebase and similar operation in the worktree. Its files stay as they are."""
    for _ in range(_MOST_OPERATIONS):
        operation = own_operation_in(git_dir)
        if operation is None:
            break
        # `--abort` would restore the files, and with them overwrite the step's work; `--quit` only ends the state.
        git.do(operation, "--quit")
    quit_in_clone(git_dir)
