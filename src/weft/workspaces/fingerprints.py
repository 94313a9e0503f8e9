"""What tells in a moment whether a file was changed: its inode, its kind and rights, its size and its time.

It proves nothing, since a program can set all of them; but no agent does that by chance, and it takes no reading.
Looked at is what may be work: see `weft.workspaces.comparison`.
"""

import os
from collections.abc import Collection

from msgspec import Struct
from msgspec.structs import replace

from weft.workspaces.comparison import NEVER_KEPT, Caches
from weft.workspaces.errors import WorkspaceError, shown
from weft.workspaces.safe_walk import Cursor, EntryKind, walk

MOST_FILES = 1_000_000

Print = tuple[int, int, int, int]
Prints = dict[bytes, Print]


def prints_in(cursor: Cursor) -> Prints:
    """Of all files and links; the cursor is at the top."""
    found: Prints = {}
    for entry in walk(cursor, without=NEVER_KEPT, enter=Caches(cursor).is_none):
        if entry.kind is not EntryKind.FOLDER:
            found[entry.path] = _print(entry.name, cursor.fd)
        if len(found) > MOST_FILES:
            raise WorkspaceError(
                f"there are more than {MOST_FILES:,} files, so it cannot be told whether a step changes one; use "
                "`isolation: worktree`, or have no step with `read_only`"
            )
    return found


def _print(name: bytes, folder: int) -> Print:
    one = os.stat(name, dir_fd=folder, follow_symlinks=False)
    return one.st_ino, one.st_mode, one.st_size, one.st_mtime_ns


class Readers(Struct, frozen=True, kw_only=True):
    """The steps that are watched in a directory, where they may only read."""

    before: Prints = {}
    """How it was when the first of them began; the others came when it was under way."""
    changed: dict[str, tuple[str, ...]] = {}
    """By job: the files for which it is to answer; none: it may be under way."""

    @property
    def are_none(self) -> bool:
        """Under way."""
        return all(self.changed.values())

    def joined(self, job: str, before: Prints) -> "Readers":
        return Readers(before=before, changed={**self.changed, job: ()})

    def parted(self, jobs: Collection[str], *, others_read: bool = False) -> "Readers":
        """Without those that are not among the jobs. If others may change files, nobody is watched any more."""
        kept = {job: files for job, files in self.changed.items() if job in jobs and (files or others_read)}
        return replace(self, changed=kept)

    def answering(self, job: str, now: Prints) -> "Readers":
        """One of them has ended, and answers for what is different; the others do not."""
        paths = [path for path in self.before.keys() | now.keys() if self.before.get(path) != now.get(path)]
        files = tuple(shown(path) for path in sorted(paths))
        return replace(self, before=now, changed={**self.changed, job: files})
