"""The changes of a directory since its start.

Not everything in it is work. Data that tools keep about the files is not: it cannot be merged as files, and each
slice that runs the tools creates its own. The files of git and Weft are therefore left out, and so is a directory
that declares itself a cache, by a CACHEDIR.TAG or by a `.gitignore` that ignores all its contents. Caches of test
runners and compilers do one or the other, and so do virtual environments.
"""

import errno
import os
import stat

from weft.workspaces.build import file_version
from weft.workspaces.changes import Change, FileVersion, SliceOrigin, VersionKind
from weft.workspaces.contents import Contents, digest
from weft.workspaces.errors import WorkspaceError, shown
from weft.workspaces.safe_walk import FOLDER_FLAGS, Cursor, EntryKind, WalkEntry, walk

NEVER_KEPT = frozenset({b".weft", b".git", b"__pycache__"})

_CACHE_TAG = b"Signature: 8a477f597d28d172789f06886806bc55"
"""The first bytes of a CACHEDIR.TAG file; see bford.info/cachedir."""


def changes_since(
    start: SliceOrigin, cursor: Cursor, contents: Contents
) -> tuple[dict[bytes, Change], tuple[bytes, ...]]:
    """Returns the changes, after storing new contents, and the entries that are neither files nor links."""
    changes: dict[bytes, Change] = {}
    left_out: list[bytes] = []
    missing = dict(start.files)
    caches = Caches(cursor)
    for entry in walk(cursor, without=NEVER_KEPT, enter=caches.is_none):
        if entry.kind is EntryKind.SPECIAL:
            left_out.append(entry.path)
        elif entry.kind is not EntryKind.FOLDER:
            before = missing.pop(entry.path, None)
            after = _version(entry, before, cursor, contents)
            if after != before:
                changes[entry.path] = Change(before=before, after=after)
    # A file that is gone counts as removed, unless its directory has become a cache meanwhile: the walk did not
    # enter it.
    for path, before in missing.items():
        if NEVER_KEPT.isdisjoint(path.split(b"/")) and not caches.hold(path):
            changes[path] = Change(before=before, after=None)
    return changes, tuple(left_out)


class Caches:
    """The cache directories that a walk skips."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._prefixes: tuple[bytes, ...] = ()

    def is_none(self, path: bytes) -> bool:
        """Returns whether a directory directly below the cursor is no cache."""
        folder = self._cursor.open(path.rpartition(b"/")[2], FOLDER_FLAGS)
        try:
            is_cache = _says_it_is_a_cache(folder)
        finally:
            os.close(folder)
        if is_cache:
            self._prefixes += (path + b"/",)
        return not is_cache

    def hold(self, path: bytes) -> bool:
        """Returns whether the path is in a cache."""
        return path.startswith(self._prefixes)


def _says_it_is_a_cache(folder: int) -> bool:
    if _beginning(folder, "CACHEDIR.TAG").startswith(_CACHE_TAG):
        return True
    lines = [line.strip() for line in _beginning(folder, ".gitignore").split(b"\n")]
    return {line for line in lines if line and not line.startswith(b"#")} == {b"*"}


def _beginning(folder: int, name: str) -> bytes:
    """Returns the first bytes of a file; empty if there is no such file."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ELOOP}:
            return b""
        raise
    try:
        return os.read(descriptor, 4096) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    finally:
        os.close(descriptor)


def _version(entry: WalkEntry, before: FileVersion | None, cursor: Cursor, contents: Contents) -> FileVersion:
    """Returns the version of a file. It reads every file, because sizes and times prove nothing."""
    if entry.kind is EntryKind.LINK:
        return FileVersion(kind=VersionKind.LINK, content=os.readlink(entry.name, dir_fd=cursor.fd))
    source = cursor.open(entry.name, os.O_RDONLY)
    try:
        mode = os.fstat(source).st_mode
        # The walk saw a regular file. A process that still runs there can have replaced it between the two
        # calls.
        if not stat.S_ISREG(mode):
            raise WorkspaceError(f"the file {shown(entry.path)!r} was replaced while it was read; try again")
        # Read twice if it has changed: the digest first, so that unchanged files, which are most, are never
        # copied.
        if before is not None and before == file_version(mode, digest(source)):
            return before
        os.lseek(source, 0, os.SEEK_SET)
        return file_version(mode, contents.put(source))
    finally:
        os.close(source)
