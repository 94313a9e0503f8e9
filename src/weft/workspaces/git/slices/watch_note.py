"""A note in the git directory of a worktree: which steps are watched there, and where it was before them.

It is written before such a step starts, so whoever finds the step ended knows what to compare with, and what was
found once stays found.
"""

from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from weft.safe_files import open_folder
from weft.workspaces.contents import load, save

_NOTE = "weft-watched"


class WatchNote(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An execution of a step."""

    job: str
    step: str
    reads: bool
    """Whether it may do nothing else."""
    head: str
    """Where the branch was, when all that was in the worktree was in that commit."""
    changed: bool | None = None
    """Whether it has changed files, or if it may only read, anything; None: that has not been found yet."""
    deeds: tuple[str, ...] = ()
    """What it did else, for people."""
    files: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    """The commits that hold what it did, where that is undone."""
    undone: bool = False
    """Whether it is; what is there after that is not its doing."""


def watched_in(git_dir: Path) -> tuple[WatchNote, ...]:
    with open_folder(git_dir) as folder:
        note = load(folder.descriptor, _NOTE)
    return () if note is None else msgspec.json.decode(note, type=tuple[WatchNote, ...])


def note_watched(git_dir: Path, watched: Iterable[WatchNote]) -> None:
    with open_folder(git_dir) as folder:
        save(folder.descriptor, _NOTE, msgspec.json.encode(tuple(watched)))
