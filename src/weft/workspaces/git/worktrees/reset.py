"""What was left in a worktree is looked at as a whole, and the worktree is brought back to where it was.

To be brought back is to lose what is there, so whoever asks for it gives a name to that before.
"""

from pathlib import Path

from msgspec import Struct

from weft.engine.messages.facts import RefMove
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.base.locks import free, locks_explained
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.refs import move, tip, tree_of
from weft.workspaces.git.base.sparse import settings
from weft.workspaces.git.base.status import Status, status
from weft.workspaces.git.base.worktree_links import own_operation_in
from weft.workspaces.git.checkouts.commits import index_aside, refuse_repositories, stage
from weft.workspaces.git.clones.clone import quit_in_clone

_MOST_OPERATIONS = 6
"""That can be under way in one worktree."""


class WorktreeSnapshot(Struct, frozen=True, kw_only=True):
    """What is in a worktree."""

    status: Status
    head: str
    tree: str
    """Of all of it."""


def look_at(git: Git, git_dir: Path, *, head: str) -> WorktreeSnapshot:
    """`git` is at the worktree, in which nothing may work any more; `head` is its commit if its branch is gone."""
    free(git.directory, git_dir)
    with locks_explained():
        found = status(git, git_dir)
        refuse_repositories(git.directory, git_dir, found)
        with index_aside(git_dir) as index:
            tree = stage(git, git_dir, found, index)
        head = found.head or head
        return WorktreeSnapshot(status=found, head=head, tree=tree or tree_of(git, head))


def bring_back(git: Git, git_dir: Path, look: WorktreeSnapshot, *, ref: str, head: str, reason: str) -> None:
    """To its branch, that to this commit, and nothing else is there but what is ignored, or was brought."""
    quit_operations(git, git_dir)
    if look.status.branch != ref:
        git.do("symbolic-ref", "-m", reason, "HEAD", ref)
    now = tip(git, ref) or ""
    if now != head and not move(git, [RefMove(ref=ref, before=now, after=head)], reason=reason):
        raise WorkspaceError(f"the branch {ref.removeprefix('refs/heads/')} was moved by somebody else")
    with locks_explained():
        stage(git, git_dir, look.status, {})  # what is in the index goes
        git.do("read-tree", "--reset", "-u", head, env=settings(git_dir))


def quit_operations(git: Git, git_dir: Path) -> None:
    """Whatever was begun there is not under way any more; files stay as they are."""
    for _ in range(_MOST_OPERATIONS):
        operation = own_operation_in(git_dir)
        if operation is None:
            break
        git.do(operation, "--quit")
    quit_in_clone(git_dir)
