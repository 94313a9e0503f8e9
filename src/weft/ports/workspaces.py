"""Workspaces: where slices work, and how what they did comes together.

Everything here may be done again after a crash in the middle of it: what is asked for twice is the same as once.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from weft.errors import WeftError


class WorkspaceRequest(Struct, frozen=True, kw_only=True):
    path: str
    """Of the slice."""
    after: tuple[str, ...] = ()
    """The slices whose work it starts with, in plan order: all that it depends on, near and far."""
    copy: tuple[str, ...] = ()
    """Globs of files of the plan's directory that are copied in."""
    link: tuple[str, ...] = ()
    """Globs of files and directories of the plan's directory that are linked in."""


class ConflictError(WeftError):
    """Subplans changed the same files in different ways."""

    def __init__(self, message: str, files: Sequence[str]) -> None:
        super().__init__(message)
        self.files = tuple(files)


class Workspaces(Protocol):
    def place(self, path: str) -> Path:
        """Where the subplan works; the directory need not be there yet."""
        ...

    def prepare(self, request: WorkspaceRequest) -> Path:
        """A fresh workspace; what an earlier, unfinished try left there goes."""
        ...

    def accept(self, path: str) -> None:
        """What is in a workspace now is what its slice starts with: commands that set it up have been run."""
        ...

    def keep(self, path: str) -> None:
        """Record what a slice did, so that others can start with it, and nothing that happens later changes it."""
        ...

    def check(self, slices: Sequence[str]) -> None:
        """Raises ConflictError if what these slices did does not go together."""
        ...

    def gather(
        self, path: str, slices: Sequence[str], *, copy: Sequence[str] = (), link: Sequence[str] = ()
    ) -> Path:
        """A directory with what these slices did; for a group's verify, and as its result."""
        ...
