"""Creating a directory from given files."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from weft.workspaces.changes import FileVersion, VersionKind
from weft.workspaces.contents import NEW, Contents, copied
from weft.workspaces.safe_walk import Cursor
from weft.workspaces.untracked_files import FileSource, Part, open_plan_dir

_EXECUTABLE = 0o100


def build(
    top: int, parts: Mapping[bytes, Part], contents: Contents, plan_dir: Path
) -> dict[bytes, FileVersion]:
    """Fills and closes an empty directory; returns the files in it."""
    versions: dict[bytes, FileVersion] = {}
    with Cursor(top) as target, open_plan_dir(plan_dir) as source:
        for path in sorted(parts):  # sorted, so that each directory is created and left only once
            part = parts[path]
            *folders, name = path.split(b"/")
            target.go(folders, make=True)
            if isinstance(part, FileSource):
                source.go(folders)
                part = _copy(name, source, target)
            else:
                _make(part, name, target, contents)
            versions[path] = part
    return versions


def _make(version: FileVersion, name: bytes, target: Cursor, contents: Contents) -> None:
    if version.kind is VersionKind.LINK:
        os.symlink(version.content, name, dir_fd=target.fd)
        return
    new = target.open(name, NEW, 0o777 if version.kind is VersionKind.PROGRAM else 0o666)
    try:
        contents.give(version.content, new)
    finally:
        os.close(new)


def _copy(name: bytes, source: Cursor, target: Cursor) -> FileVersion:
    """Copies a file with its permissions, so that the copy is as private as the original."""
    old = source.open(name, os.O_RDONLY)
    try:
        mode = os.fstat(old).st_mode
        new = target.open(name, NEW, 0o600)
        try:
            content_digest, _ = copied(old, new)
            os.fchmod(new, stat.S_IMODE(mode) & 0o777)
        finally:
            os.close(new)
    finally:
        os.close(old)
    return file_version(mode, content_digest)


def file_version(mode: int, content: bytes) -> FileVersion:
    kind = VersionKind.PROGRAM if mode & _EXECUTABLE else VersionKind.FILE
    return FileVersion(kind=kind, content=content)
