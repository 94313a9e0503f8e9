"""Walking file trees that agents wrote, without ever leaving them.

A name in such a tree may be a symbolic link to anywhere, and the tree may be deeper than the limits for paths and
open files. This module therefore never uses paths. A *cursor* is one open directory. It moves down by a single
name, which must be a directory and no link, and up through `..`, which must be the directory it came from.
"""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from weft.workspaces.errors import WorkspaceError, shown

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_NO_NAMES = frozenset({b"", b".", b".."})
_OWNER_MAY_ALL = 0o700


class EntryKind(Enum):
    """The kind of a directory entry."""

    FILE = auto()
    LINK = auto()
    FOLDER = auto()
    SPECIAL = auto()
    """A fifo, a socket, a device."""


class WalkEntry(NamedTuple):
    """An entry that a walk visits."""

    path: bytes
    """Relative to the top of the walk."""
    name: bytes
    kind: EntryKind


class Cursor:
    """An open directory that moves within a tree."""

    def __init__(self, top: int) -> None:
        """Takes over the open directory `top`, and closes it at the end."""
        self.fd = top
        self._names: list[bytes] = []
        self._above: list[tuple[int, int]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.fd)

    def open(self, name: bytes, flags: int, mode: int = 0o777) -> int:
        """Opens an entry of this directory without following links or blocking."""
        try:
            return os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, mode, dir_fd=self.fd)
        except OSError as error:
            error.filename = shown(self.path(name))
            raise

    def path(self, name: bytes) -> bytes:
        return b"/".join((*self._names, name))

    def down(self, name: bytes) -> None:
        self._enter(name, self.open(_check_name(name), FOLDER_FLAGS))

    def down_unlocked(self, name: bytes) -> None:
        """Enters a directory whatever its mode, and makes it readable and writable."""
        # O_PATH opens a directory even without any permission on it, as left by `chmod 0`.
        handle = self.open(_check_name(name), os.O_PATH | os.O_DIRECTORY)
        try:
            if os.fstat(handle).st_mode & _OWNER_MAY_ALL != _OWNER_MAY_ALL:
                # Through the open descriptor, because the name could belong to another file by now.
                Path(f"/proc/self/fd/{handle}").chmod(_OWNER_MAY_ALL)
            inside = os.open(".", FOLDER_FLAGS, dir_fd=handle)
        finally:
            os.close(handle)
        self._enter(name, inside)

    def _enter(self, name: bytes, inside: int) -> None:
        self._above.append(_identity(self.fd))
        self._names.append(name)
        os.close(self.fd)
        self.fd = inside

    def up(self) -> bytes:
        """Moves to the directory above; returns the name of the one it left."""
        above = os.open("..", FOLDER_FLAGS, dir_fd=self.fd)
        os.close(self.fd)
        self.fd = above
        # `..` of a directory that a process has just moved leads to its new parent, which may be anywhere on
        # the disk.
        if _identity(above) != self._above.pop():
            raise WorkspaceError(
                f"the directory {shown(b'/'.join(self._names))!r} was moved while its files were read; "
                "end the processes that still work there, and try again"
            )
        return self._names.pop()

    def go(self, folders: Sequence[bytes], *, make: bool = False) -> None:
        """Moves to this directory, given from the top; with `make`, creates the directories on the way."""
        # Files come sorted, so the next one is usually in the same directory or a neighbour of it.
        same = 0
        while same < min(len(folders), len(self._names)) and folders[same] == self._names[same]:
            same += 1
        while len(self._names) > same:
            self.up()
        for name in folders[same:]:
            if make:
                os.mkdir(_check_name(name), dir_fd=self.fd)
            self.down(name)

    def names(self) -> list[tuple[bytes, EntryKind]]:
        with os.scandir(self.fd) as entries:
            return sorted(
                ((os.fsencode(entry.name), _kind(entry)) for entry in entries), key=lambda item: item[0]
            )


def _identity(folder: int) -> tuple[int, int]:
    status = os.fstat(folder)
    return status.st_dev, status.st_ino


def _check_name(name: bytes) -> bytes:
    if name in _NO_NAMES:
        raise WorkspaceError(f"a recorded file name leads out of its directory: {name!r}")
    return name


def _kind(entry: "os.DirEntry[str]") -> EntryKind:
    if entry.is_symlink():
        return EntryKind.LINK
    if entry.is_dir(follow_symlinks=False):
        return EntryKind.FOLDER
    return EntryKind.FILE if entry.is_file(follow_symlinks=False) else EntryKind.SPECIAL


def walk(
    cursor: Cursor, *, without: frozenset[bytes], enter: Callable[[bytes], bool] = lambda _: True
) -> Iterator[WalkEntry]:
    """Yields everything below the cursor except these names. The cursor is at the entry until the next one.

    `enter` decides about a directory after it was yielded, while the cursor is still above it.
    """
    # An explicit stack instead of recursion: a step can create a tree deeper than Python's recursion limit, and
    # deeper than the longest path that the kernel accepts.
    waiting: list[list[bytes]] = []
    while True:
        folders: list[bytes] = []
        for name, kind in cursor.names():
            if name in without:
                continue
            entry = WalkEntry(cursor.path(name), name, kind)
            yield entry
            if kind is EntryKind.FOLDER and enter(entry.path):
                folders.append(name)
        waiting.append(folders)
        while not waiting[-1]:
            waiting.pop()
            if not waiting:
                return
            cursor.up()
        cursor.down(waiting[-1].pop())


def wipe(folder: int, name: str) -> None:
    """Removes the entry of this name, with everything below it."""
    if not _is_folder(folder, name):
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        return
    waiting: list[list[bytes]] = []
    # A copy, because the cursor closes each directory that it leaves.
    with Cursor(os.dup(folder)) as cursor:
        cursor.down_unlocked(os.fsencode(name))
        while True:
            waiting.append(_without_files(cursor))
            while not waiting[-1]:
                waiting.pop()
                os.rmdir(cursor.up(), dir_fd=cursor.fd)
                if not waiting:
                    return
            cursor.down_unlocked(waiting[-1].pop())


def _is_folder(folder: int, name: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _without_files(cursor: Cursor) -> list[bytes]:
    """Removes everything but directories; returns the directories."""
    folders: list[bytes] = []
    for name, kind in cursor.names():
        if kind is EntryKind.FOLDER:
            folders.append(name)
        else:
            os.unlink(name, dir_fd=cursor.fd)
    return folders
