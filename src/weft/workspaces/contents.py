"""The contents of files, each stored once under its digest.

A content is stored completely or not at all: it is written to a temporary file, synced, and then renamed. Before a
reference to a content is stored, `sync` makes its name durable, too.
"""

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from hashlib import blake2b

from weft.workspaces.errors import START_OVER, WorkspaceError

_PIECE = 1 << 20
_DIGEST_SIZE = 32
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
# O_NONBLOCK, because opening a fifo that an agent has put there would block.
_OLD = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


class Contents:
    """A directory of contents."""

    def __init__(self, folder: int, owner: str) -> None:
        """Uses this open directory. No two writers with the same owner may run at the same time."""
        self._folder = folder
        self._aside = f"_{owner}"  # always the same name, so that crashes leave at most one file

    def put(self, source: int) -> bytes:
        """Stores the content of an open file; returns its digest."""
        with written_aside(self._folder, self._aside) as target:
            digest, size = copied(source, target)
            is_there = self._has(digest.hex(), size)
            # Only a new content is synced. An fsync for each unchanged file would dominate the cost of a merge.
            if not is_there:
                os.fsync(target)
        if is_there:
            os.unlink(self._aside, dir_fd=self._folder)
        else:
            os.rename(self._aside, digest.hex(), src_dir_fd=self._folder, dst_dir_fd=self._folder)
        return digest

    def _has(self, name: str, size: int) -> bool:
        try:
            status = os.stat(name, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        # The size guards against a file that a power loss has cut short.
        return stat.S_ISREG(status.st_mode) and status.st_size == size

    def give(self, digest: bytes, target: int) -> None:
        """Writes a content to an open file, and checks its digest on the way."""
        try:
            source = os.open(digest.hex(), _OLD, dir_fd=self._folder)
        except FileNotFoundError:
            raise _damage_error(digest, "is gone") from None
        try:
            actual, _ = copied(source, target)
        finally:
            os.close(source)
        if actual != digest:
            raise _damage_error(digest, "was changed")

    def sync(self) -> None:
        os.fsync(self._folder)


def _damage_error(digest: bytes, problem: str) -> WorkspaceError:
    return WorkspaceError(f"the content {digest.hex()} of a slice {problem}; {START_OVER}")


def copied(source: int, target: int) -> tuple[bytes, int]:
    """Copies the rest of an open file to another; returns its digest and size."""
    content_hash, size = blake2b(digest_size=_DIGEST_SIZE), 0
    while piece := os.read(source, _PIECE):
        content_hash.update(piece)
        size += len(piece)
        write(target, piece)
    return content_hash.digest(), size


def digest(source: int) -> bytes:
    content_hash = blake2b(digest_size=_DIGEST_SIZE)
    while piece := os.read(source, _PIECE):
        content_hash.update(piece)
    return content_hash.digest()


def write(target: int, data: bytes) -> None:
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[os.write(target, remaining) :]


# Small files


@contextmanager
def written_aside(folder: int, name: str) -> Generator[int]:
    """Yields a new file for writing, after removing one of this name that a crash has left."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
    target = os.open(name, NEW, 0o600, dir_fd=folder)
    try:
        yield target
    finally:
        os.close(target)


def save(folder: int, name: str, data: bytes) -> None:
    """Replaces a file durably. If it fails, the old file is still there."""
    aside = f"_new.{name}"
    with written_aside(folder, aside) as target:
        write(target, data)
        os.fsync(target)
    # The data is synced before the rename, and the directory after it. Without the first, a power loss can
    # leave an empty file under the final name; without the second, the old file.
    os.rename(aside, name, src_dir_fd=folder, dst_dir_fd=folder)
    os.fsync(folder)


def load(folder: int, name: str) -> bytes | None:
    try:
        source = os.open(name, _OLD, dir_fd=folder)
    except FileNotFoundError:
        return None
    with os.fdopen(source, "rb") as stream:
        return stream.read()


def remove(folder: int, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
    os.fsync(folder)
