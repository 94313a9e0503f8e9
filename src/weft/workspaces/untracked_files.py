"""Files of the plan's directory that a slice receives: copies, and links to files that are too large to copy.

A link stands for everything below it, so nothing is copied there. A link in the plan's directory itself is copied
as a link; none is followed. No slice receives Weft's own directory.
"""

import os
import re
from collections.abc import Sequence
from enum import Enum
from pathlib import Path

from weft.plan.order.globs import intersects, matches
from weft.workspaces.changes import FileVersion, Folded, VersionKind, folders_of
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.safe_walk import Cursor, EntryKind, walk

_WILDCARD = re.compile(r"[*?\[]")
_NEVER_GIVEN = frozenset({b".weft"})


class FileSource(Enum):
    """A file to copy from the plan's directory."""

    COPIED = "copied"


Part = FileVersion | FileSource


def open_plan_dir(plan_dir: Path) -> Cursor:
    try:
        return Cursor(os.open(plan_dir, os.O_RDONLY | os.O_DIRECTORY))
    except (FileNotFoundError, NotADirectoryError):
        raise WorkspaceError(
            f"the plan's directory is gone: {plan_dir}; put it back and run the plan again"
        ) from None


def select_files(plan_dir: Path, copy: Sequence[str], link: Sequence[str]) -> dict[bytes, Part]:
    """Returns the files of the plan's directory that match these patterns."""
    if not copy and not link:
        return {}

    def enter(folder: bytes) -> bool:
        name = os.fsdecode(folder)
        # The folder's own name is taken literally. A folder is entered only if some pattern can match a file in
        # it, so that `copy: .env` does not walk through all of node_modules.
        below = _WILDCARD.sub(r"[\g<0>]", name) + "/"
        return not _fits(link, name) and any(intersects(pattern, below) for pattern in (*copy, *link))

    parts: dict[bytes, Part] = {}
    with open_plan_dir(plan_dir) as cursor:
        for entry in walk(cursor, without=_NEVER_GIVEN, enter=enter):
            name = os.fsdecode(entry.path)
            if _fits(link, name):
                parts[entry.path] = _link_to(os.fsencode(plan_dir / name))
            elif entry.kind is EntryKind.LINK and _fits(copy, name):
                parts[entry.path] = _link_to(os.readlink(entry.name, dir_fd=cursor.fd))
            elif entry.kind is EntryKind.FILE and _fits(copy, name):
                parts[entry.path] = FileSource.COPIED
    return parts


def _fits(patterns: Sequence[str], name: str) -> bool:
    return any(matches(pattern, name) for pattern in patterns)


def _link_to(target: bytes) -> FileVersion:
    return FileVersion(kind=VersionKind.LINK, content=target)


def with_changes(received: dict[bytes, Part], folded: Folded) -> dict[bytes, Part]:
    """Returns the files that a slice starts with. Changes take precedence over received files."""
    changed: dict[bytes, Part] = {file: version for file, version in folded.items() if version is not None}
    folders = folders_of(changed)
    # A received file gives way to a change of the same path, to changes below it, and to a changed file in the
    # place of one of its folders.
    unaffected: dict[bytes, Part] = {
        file: part
        for file, part in received.items()
        if file not in folded and file not in folders and changed.keys().isdisjoint(folders_of((file,)))
    }
    return unaffected | changed
