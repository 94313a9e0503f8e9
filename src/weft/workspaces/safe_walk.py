"""Walking trees of files that agents wrote, without ever leaving them.

A name in such a tree may be a symbolic link to anywhere, and the tree may be deeper than a path may be long or a
process may have files open. So nothing here works with paths. A *cursor* is one open directory; it moves down by a
single name, which must be a directory and no link, and up through `..`, and up must be where it came from.
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
    FILE = auto()
    LINK = auto()
    FOLDER = auto()
    SPECIAL = auto()
    """A fifo, a socket, a device."""


class WalkEntry(NamedTuple):
    path: bytes
    """From the top of the walk."""
    name: bytes
    kind: EntryKind


class Cursor:
    """An open directory below some top, that moves."""

    def __init__(self, top: int) -> None:
        """Takes over the open directory `top`, and closes it in the end."""
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
        """Open something in this directory; no link is followed, and nothing is waited for."""
        try:
            return os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, mode, dir_fd=self.fd)
        except OSError as error:
            error.filename = shown(self.path(name))
            raise

    def path(self, name: bytes) -> bytes:
        return b"/".join((*self._names, name))

    def down(self, name: bytes) -> None:
        self._enter(name, self.open(_checked(name), FOLDER_FLAGS))

    def down_unlocked(self, name: bytes) -> None:
        """Enter a directory whatever its mode is; from then on all of it may be read and changed."""
        handle = self.open(_checked(name), os.O_PATH | os.O_DIRECTORY)
        try:
            if os.fstat(handle).st_mode & _OWNER_MAY_ALL != _OWNER_MAY_ALL:
                # By what is open and not by its name, which could be another thing's by now.
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
        """Back to the directory above; the name of the one that was left."""
        above = os.open("..", FOLDER_FLAGS, dir_fd=self.fd)
        os.close(self.fd)
        self.fd = above
        if _identity(above) != self._above.pop():
            raise WorkspaceError(
                f"the directory {shown(b'/'.join(self._names))!r} was moved while its files were read; "
                "end what still works there, and try again"
            )
        return self._names.pop()

    def go(self, folders: Sequence[bytes], *, make: bool = False) -> None:
        """To this directory, counted from the top; with `make`, those on the way that it is not in are made."""
        same = 0
        while same < min(len(folders), len(self._names)) and folders[same] == self._names[same]:
            same += 1
        while len(self._names) > same:
            self.up()
        for name in folders[same:]:
            if make:
                os.mkdir(_checked(name), dir_fd=self.fd)
            self.down(name)

    def names(self) -> list[tuple[bytes, EntryKind]]:
        with os.scandir(self.fd) as found:
            return sorted(
                ((os.fsencode(entry.name), _kind(entry)) for entry in found), key=lambda one: one[0]
            )


def _identity(folder: int) -> tuple[int, int]:
    found = os.fstat(folder)
    return found.st_dev, found.st_ino


def _checked(name: bytes) -> bytes:
    if name in _NO_NAMES:
        raise WorkspaceError(f"a file name that is recorded leads out of its directory: {name!r}")
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
    """All that is below, save what has one of these names. The cursor is where the entry is, till the next one.

    Whether a directory is entered is asked after it was told, when the cursor is still above it.
    """
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
    """Remove what has this name, whatever it is, with all that is below it."""
    if not _is_folder(folder, name):
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        return
    waiting: list[list[bytes]] = []
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
    """Removes what is no directory; the directories."""
    folders: list[bytes] = []
    for name, kind in cursor.names():
        if kind is EntryKind.FOLDER:
            folders.append(name)
        else:
            os.unlink(name, dir_fd=cursor.fd)
    return folders
