"""The differences between a worktree and its commit, without ignored files and files that Weft copied in."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from weft.workspaces.git.base.locks import explain_lock_errors
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.status import FileDifference, status
from weft.workspaces.git.base.worktree_links import git_dir_of
from weft.workspaces.git.checkouts.untracked_files import copied_into, is_in


class UnsavedWork(Struct, frozen=True, kw_only=True):
    """The uncommitted differences of a worktree."""

    git_dir: Path
    differences: tuple[FileDifference, ...]
    copied_in: tuple[bytes, ...]
    """Paths that differ as well, but that Weft copied or linked in."""

    @property
    def paths(self) -> Sequence[bytes]:
        """The differing paths, relative to the root of the worktree."""
        return [difference.path for difference in self.differences]

    @property
    def unknown(self) -> Sequence[bytes]:
        """The paths of untracked files."""
        return [
            difference.path for difference in self.differences if difference.is_new and not difference.staged
        ]


def unsaved(git: Git) -> UnsavedWork:
    """Returns the uncommitted differences of a worktree; `git` runs at its root."""
    git_dir = git_dir_of(git.directory)
    copied_in = copied_into(git_dir)
    with explain_lock_errors():
        differences = status(git, git_dir).differences
    return UnsavedWork(
        git_dir=git_dir,
        differences=tuple(difference for difference in differences if not is_in(copied_in, difference.path)),
        copied_in=tuple(difference.path for difference in differences if is_in(copied_in, difference.path)),
    )
