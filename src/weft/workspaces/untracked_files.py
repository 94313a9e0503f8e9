"""Files of the plan's directory that a slice is given: copies, and links to what is too large to copy.

A link stands for all that is below it: nothing is copied there. What is linked in the plan's directory itself is
copied as a link; nothing is followed. Weft's own directory is given to nobody.
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
    """A file whose content is to be copied from the plan's directory."""

    COPIED = "copied"


Part = FileVersion | FileSource


def open_plan_dir(plan_dir: Path) -> Cursor:
    try:
        return Cursor(os.open(plan_dir, os.O_RDONLY | os.O_DIRECTORY))
    except (FileNotFoundError, NotADirectoryError):
        raise WorkspaceError(
            f"the plan's directory is gone: {plan_dir}; put it back and run the plan again"
        ) from None


def given(plan_dir: Path, copy: Sequence[str], link: Sequence[str]) -> dict[bytes, Part]:
    if not copy and not link:
        return {}

    def enter(folder: bytes) -> bool:
        name = os.fsdecode(folder)
        below = _WILDCARD.sub(r"[\g<0>]", name) + "/"
        return not _fits(link, name) and any(intersects(pattern, below) for pattern in (*copy, *link))

    found: dict[bytes, Part] = {}
    with open_plan_dir(plan_dir) as cursor:
        for entry in walk(cursor, without=_NEVER_GIVEN, enter=enter):
            name = os.fsdecode(entry.path)
            if _fits(link, name):
                found[entry.path] = _link_to(os.fsencode(plan_dir / name))
            elif entry.kind is EntryKind.LINK and _fits(copy, name):
                found[entry.path] = _link_to(os.readlink(entry.name, dir_fd=cursor.fd))
            elif entry.kind is EntryKind.FILE and _fits(copy, name):
                found[entry.path] = FileSource.COPIED
    return found


def _fits(patterns: Sequence[str], name: str) -> bool:
    return any(matches(pattern, name) for pattern in patterns)


def _link_to(target: bytes) -> FileVersion:
    return FileVersion(kind=VersionKind.LINK, content=target)


def with_changes(given: dict[bytes, Part], folded: Folded) -> dict[bytes, Part]:
    """What a slice starts with. Where a change and something given are in each other's way, it is the change."""
    changed: dict[bytes, Part] = {file: version for file, version in folded.items() if version is not None}
    folders = folders_of(changed)
    kept: dict[bytes, Part] = {
        file: part
        for file, part in given.items()
        if file not in folded and file not in folders and changed.keys().isdisjoint(folders_of((file,)))
    }
    return kept | changed
