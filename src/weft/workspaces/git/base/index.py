"""The index of a worktree, which can be made again: all that matters in it is in the commit and in the files.

git refuses to do anything with an index that it cannot read. What was staged in it is in the files, too, so
nothing is lost if it is made from the commit again. The damaged one is kept beside it.
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
_BEGINS = b"DIRC"
_HASHES = ((20, "sha1"), (32, "sha256"))
"""How long the hash at the end of an index is, by the object format of the repository."""


def is_damaged(git_dir: Path) -> bool:
    """Whether git wrote another index than the one that is there. git itself does not always notice."""
    try:
        data = read_file(git_dir / "index", most=_MOST)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return not (data.startswith(_BEGINS) and any(_fits(data, *kind) for kind in _HASHES))


def _fits(data: bytes, size: int, name: str) -> bool:
    # With index.skipHash git leaves zeros there.
    return (
        not any(data[-size:])
        or hashlib.new(name, data[:-size], usedforsecurity=False).digest() == data[-size:]
    )


def rebuild_index(git: Git, git_dir: Path) -> None:
    """Makes it from the commit that is checked out; the files stay as they are."""
    if settings(git_dir):  # which files are left out on purpose stands only in the index
        raise WorkspaceError(
            f"the index of the worktree {git.directory} is damaged; to make it again, type: "
            f"rm -f {git_dir / 'index'} && git -C {git.directory} sparse-checkout reapply"
        )
    index = git_dir / "index"
    aside = git_dir / KEPT
    with suppress(OSError):
        aside.unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        index.rename(aside)
    git.do("read-tree", "HEAD")
