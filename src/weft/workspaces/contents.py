"""The contents of files, each kept once, under its digest.

A content is there as a whole or not at all: it is written aside, brought to the disk, and then gets its name. Who
refers to one calls `sync` before, so that the name is on the disk, too.
"""

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from hashlib import blake2b

from weft.workspaces.errors import ANEW, WorkspaceError

_PIECE = 1 << 20
_DIGEST_SIZE = 32
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_OLD = (
    os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
)  # should somebody have put a fifo there, it is not waited for


class Contents:
    def __init__(self, folder: int, owner: str) -> None:
        """In this open directory; no two may put at the same time that have the same owner."""
        self._folder = folder
        self._aside = f"_{owner}"  # always the same, so that a crash leaves one at most

    def put(self, source: int) -> bytes:
        """Take in the content of an open file; its digest."""
        with written_aside(self._folder, self._aside) as target:
            digest, size = copied(source, target)
            is_there = self._has(digest.hex(), size)
            if not is_there:
                os.fsync(target)
        if is_there:
            os.unlink(self._aside, dir_fd=self._folder)
        else:
            os.rename(self._aside, digest.hex(), src_dir_fd=self._folder, dst_dir_fd=self._folder)
        return digest

    def _has(self, name: str, size: int) -> bool:
        try:
            found = os.stat(name, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return stat.S_ISREG(found.st_mode) and found.st_size == size

    def give(self, digest: bytes, target: int) -> None:
        """Write a content to an open file; that it is the right one is seen on the way."""
        try:
            source = os.open(digest.hex(), _OLD, dir_fd=self._folder)
        except FileNotFoundError:
            raise _damaged(digest, "is gone") from None
        try:
            found, _ = copied(source, target)
        finally:
            os.close(source)
        if found != digest:
            raise _damaged(digest, "was changed")

    def sync(self) -> None:
        os.fsync(self._folder)


def _damaged(digest: bytes, how: str) -> WorkspaceError:
    return WorkspaceError(f"the content {digest.hex()} that was kept of a slice {how}; {ANEW}")


def copied(source: int, target: int) -> tuple[bytes, int]:
    """Copy what is left of one open file to another; the digest and the size of it."""
    hashing, size = blake2b(digest_size=_DIGEST_SIZE), 0
    while piece := os.read(source, _PIECE):
        hashing.update(piece)
        size += len(piece)
        write(target, piece)
    return hashing.digest(), size


def digest(source: int) -> bytes:
    hashing = blake2b(digest_size=_DIGEST_SIZE)
    while piece := os.read(source, _PIECE):
        hashing.update(piece)
    return hashing.digest()


def write(target: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(target, left) :]


# Small files, as a whole


@contextmanager
def written_aside(folder: int, name: str) -> Generator[int]:
    """A new file to write to, in place of one of this name that a crash may have left."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
    target = os.open(name, NEW, 0o600, dir_fd=folder)
    try:
        yield target
    finally:
        os.close(target)


def save(folder: int, name: str, data: bytes) -> None:
    """When this returns the file is on the disk; if it does not, what was there before is."""
    aside = f"_new.{name}"
    with written_aside(folder, aside) as target:
        write(target, data)
        os.fsync(target)
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
