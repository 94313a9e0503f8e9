"""Fingerprints of files: inode, mode, size and time, which show changes without reading the files.

They prove nothing, because a program can set all of them, but no agent does that by accident. Only files that may
be work are considered: see `weft.workspaces.comparison`.
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
    """Returns the fingerprints of all files and links below the cursor."""
    prints: Prints = {}
    for entry in walk(cursor, without=NEVER_KEPT, enter=Caches(cursor).is_none):
        if entry.kind is not EntryKind.FOLDER:
            prints[entry.path] = _print(entry.name, cursor.fd)
        if len(prints) > MOST_FILES:
            raise WorkspaceError(
                f"there are more than {MOST_FILES:,} files, so changes by a step cannot be detected; use "
                "`isolation: worktree`, or have no step with `read_only`"
            )
    return prints


def _print(name: bytes, folder: int) -> Print:
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    # The inode catches editors that write a new file and rename it with the old times.
    return status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns


class Readers(Struct, frozen=True, kw_only=True):
    """The watched steps in a directory that may only read."""

    before: Prints = {}
    """The state when the first of them started; the others started while it was running."""
    changed: dict[str, tuple[str, ...]] = {}
    """By job, the files for which it is responsible; none while it may be running."""

    @property
    def are_none(self) -> bool:
        """Whether none of them is running."""
        return all(self.changed.values())

    def with_job(self, job: str, before: Prints) -> "Readers":
        """Returns the readers with another one."""
        return Readers(before=before, changed={**self.changed, job: ()})

    def limited_to(self, jobs: Collection[str], *, others_read: bool = False) -> "Readers":
        """Returns the readers among these jobs. If other steps may change files, the watch ends."""
        remaining = {
            job: files for job, files in self.changed.items() if job in jobs and (files or others_read)
        }
        return replace(self, changed=remaining)

    def after_end(self, job: str, current: Prints) -> "Readers":
        """Returns the readers after a job has ended, which is responsible for all differences."""
        paths = [
            path for path in self.before.keys() | current.keys() if self.before.get(path) != current.get(path)
        ]
        files = tuple(shown(path) for path in sorted(paths))
        return replace(self, before=current, changed={**self.changed, job: files})
