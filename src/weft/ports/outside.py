"""A look at a checkout that a step has no business in: which files differ from its commit."""

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct


class Look(Struct, frozen=True):
    """A checkout at one moment."""

    head: str
    """The commit."""
    files: Mapping[str, tuple[int, ...]]
    """The files that differ from the commit, each with numbers that change when the file does."""

    def changed_in(self, later: "Look") -> list[str]:
        """The files that have changed since.

        A file that is as in the commit again has changed, too: somebody's work in it is lost. If the commit is
        another one, that work has probably been committed.
        """
        changed = {path for path, stamp in later.files.items() if self.files.get(path) != stamp}
        if later.head == self.head:
            changed |= self.files.keys() - later.files.keys()
        return sorted(changed)


LookAt = Callable[[Path], Look | None]
"""Looks at a checkout; None if that is not possible, or takes too long."""
