"""Detect changes that a step makes outside its workspace: compare a checkout before and after it."""

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct


class CheckoutState(Struct, frozen=True):
    """The state of a checkout at one moment."""

    head: str
    """The commit."""
    files: Mapping[str, tuple[int, ...]]
    """The files that differ from the commit, each with numbers that change when the file does."""

    def changed_in(self, later: "CheckoutState") -> list[str]:
        """Returns the files that have changed since this look.

        A file that equals the commit again has changed, too: uncommitted work in it is lost. If the checkout is at
        another commit, that work has probably been committed.
        """
        changed = {path for path, stamp in later.files.items() if self.files.get(path) != stamp}
        if later.head == self.head:
            changed |= self.files.keys() - later.files.keys()
        return sorted(changed)


ReadCheckout = Callable[[Path], CheckoutState | None]
"""Returns the state of a checkout; None if that is not possible, or takes too long."""
