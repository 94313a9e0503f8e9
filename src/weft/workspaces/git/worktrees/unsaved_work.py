"""What is in a worktree and in no commit; not counted is what git ignores, and what was brought there."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from weft.workspaces.git.base.locks import locks_explained
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.status import FileDifference, status
from weft.workspaces.git.base.worktree_links import git_dir_of
from weft.workspaces.git.checkouts.untracked_files import brought_into, is_in


class UnsavedWork(Struct, frozen=True, kw_only=True):
    git_dir: Path
    differences: tuple[FileDifference, ...]
    brought: tuple[bytes, ...]
    """What differs, too, but was brought."""

    @property
    def paths(self) -> Sequence[bytes]:
        """From the root of the worktree."""
        return [one.path for one in self.differences]

    @property
    def unknown(self) -> Sequence[bytes]:
        """Files that git has never been told of."""
        return [one.path for one in self.differences if one.is_new and not one.staged]


def unsaved(git: Git) -> UnsavedWork:
    """`git` is at the root of the worktree."""
    git_dir = git_dir_of(git.directory)
    brought = brought_into(git_dir)
    with locks_explained():
        found = status(git, git_dir).differences
    return UnsavedWork(
        git_dir=git_dir,
        differences=tuple(one for one in found if not is_in(brought, one.path)),
        brought=tuple(one.path for one in found if is_in(brought, one.path)),
    )
