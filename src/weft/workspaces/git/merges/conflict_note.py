"""A note in the git directory of a worktree: an agent is to resolve a conflict there, or was to.

It is written before the first file changes, so whoever finds a worktree with a conflict in it knows whether it is
ours, and where the worktree was before.
"""

from enum import StrEnum
from pathlib import Path

import msgspec
from msgspec import Struct

from weft.safe_files import open_folder
from weft.workspaces.contents import load, save

_NOTE = "weft-resolving"


class ConflictState(StrEnum):
    OPEN = "open"
    UNDOING = "undoing"
    """What was made of it has a name, and the worktree is being brought back to where it was."""
    CLOSED = "closed"


class ConflictSide(Struct, frozen=True, kw_only=True):
    """An entry of an index, of a file that is in conflict."""

    stage: int
    """1: what both began with; 2: the slice's own; 3: what came meanwhile."""
    mode: str
    oid: str
    place: bytes


class ConflictNote(Struct, frozen=True, kw_only=True):
    state: ConflictState = ConflictState.OPEN
    head: str
    """Where the branch of the slice was."""
    into: str
    """The commit that it is in conflict with."""
    tree: str
    """What was put into the worktree."""
    sides: tuple[ConflictSide, ...]
    message: str = ""
    """Once it is over: why it is not resolved; empty if it is."""
    kept: str = ""
    """What an agent made of it, where that was not taken."""

    @property
    def places(self) -> list[bytes]:
        return list(dict.fromkeys(side.place for side in self.sides))


def opened_in(git_dir: Path) -> ConflictNote | None:
    with open_folder(git_dir) as folder:
        note = load(folder.descriptor, _NOTE)
    return None if note is None else msgspec.json.decode(note, type=ConflictNote)


def note_opened(git_dir: Path, opened: ConflictNote) -> None:
    with open_folder(git_dir) as folder:
        save(folder.descriptor, _NOTE, msgspec.json.encode(opened))
