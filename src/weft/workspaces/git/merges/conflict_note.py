"""A note in the git directory of a worktree about a conflict that an agent should resolve there.

It is written before the first file changes. A later coordinator that meets a conflict in a worktree therefore
knows whether Weft put it there, and the state of the worktree before.
"""

from enum import StrEnum
from pathlib import Path

import msgspec
from msgspec import Struct

from weft.safe_files import open_folder
from weft.workspaces.contents import load, save

_NOTE = "weft-resolving"


class ConflictState(StrEnum):
    """The progress of a conflict."""

    OPEN = "open"
    UNDOING = "undoing"
    """The agent's result is kept, and the worktree is being reset."""
    CLOSED = "closed"


class ConflictSide(Struct, frozen=True, kw_only=True):
    """An index entry of a file in conflict."""

    stage: int
    """1: the common ancestor; 2: the slice's own version; 3: the version of the branch around it."""
    mode: str
    oid: str
    place: bytes


class ConflictNote(Struct, frozen=True, kw_only=True):
    """A conflict in the worktree of a slice."""

    state: ConflictState = ConflictState.OPEN
    head: str
    """The tip of the slice's branch before."""
    into: str
    """The commit that it conflicts with."""
    tree: str
    """The tree that was put into the worktree."""
    sides: tuple[ConflictSide, ...]
    message: str = ""
    """After the end: why it is not resolved; empty if it is."""
    kept: str = ""
    """The commit with the agent's result, if that was rejected."""

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
