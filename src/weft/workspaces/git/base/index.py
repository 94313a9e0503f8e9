"""The index of a worktree, and its reconstruction if it is damaged.

git refuses to work with an index that it cannot read. Everything staged in it is also in the files, so a new index
from the commit loses nothing. The damaged index stays beside the new one.
"""

import hashlib
from contextlib import suppress
from pathlib import Path

from weft.safe_files import read_file
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.sparse import settings

KEPT = "index.damaged"
_MOST = 1 << 32
"""Bytes; git writes no larger index."""
_MAGIC = b"DIRC"
_HASHES = ((20, "sha1"), (32, "sha256"))
"""The length of the hash at the end of an index, by the object format of the repository."""


def is_damaged(git_dir: Path) -> bool:
    """Returns whether the index is not as git wrote it. git itself does not always notice."""
    try:
        data = read_file(git_dir / "index", most=_MOST)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return not (data.startswith(_MAGIC) and any(_fits(data, *kind) for kind in _HASHES))


def _fits(data: bytes, size: int, name: str) -> bool:
    # With index.skipHash, git writes zeros instead of a hash.
    return (
        not any(data[-size:])
        or hashlib.new(name, data[:-size], usedforsecurity=False).digest() == data[-size:]
    )


def rebuild_index(git: Git, git_dir: Path) -> None:
    """Creates the index from the commit that is checked out. The files stay as they are."""
    if settings(git_dir):  # only the index records which files a sparse checkout leaves out
        raise WorkspaceError(
            f"the index of the worktree {git.directory} is damaged; to recreate it, type: rm -f "
            f"{git_dir / 'index'} && git -C {git.directory} sparse-checkout reapply"
        )
    index = git_dir / "index"
    aside = git_dir / KEPT
    with suppress(OSError):
        aside.unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        index.rename(aside)
    git.do("read-tree", "HEAD")
