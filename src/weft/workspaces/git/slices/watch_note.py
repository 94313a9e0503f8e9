"""A note in the git directory of a worktree about the steps that are watched there.

It is written before such a step starts, so that even a later coordinator has the state to compare with. A result
in it is final.
"""

from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from weft.safe_files import open_folder
from weft.workspaces.contents import load, save

_NOTE = "weft-watched"


class WatchNote(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A watched execution of a step."""

    job: str
    step: str
    reads: bool
    """Whether it may only read."""
    head: str
    """The tip of the branch before the step, when the worktree had no uncommitted work."""
    changed: bool | None = None
    """Whether it changed files or, if it may only read, anything; None as long as that is unknown."""
    deeds: tuple[str, ...] = ()
    """Other things that it did, as text."""
    files: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    """The commits that hold its changes, if these are undone."""
    undone: bool = False
    """Whether its changes are undone; later changes are not its own."""


def watched_in(git_dir: Path) -> tuple[WatchNote, ...]:
    with open_folder(git_dir) as folder:
        note = load(folder.descriptor, _NOTE)
    return () if note is None else msgspec.json.decode(note, type=tuple[WatchNote, ...])


def note_watched(git_dir: Path, watched: Iterable[WatchNote]) -> None:
    with open_folder(git_dir) as folder:
        save(folder.descriptor, _NOTE, msgspec.json.encode(tuple(watched)))
