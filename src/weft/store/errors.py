"""What keeps a process from writing to the journal.

WeftError
├── BusyError       another process holds the lease
├── DamagedError    the file does not hold what was written to it
├── NotJournalError the file is no database at all; perhaps it was one
└── LeaseLostError  this process held the lease, and does not any more
"""

from weft.errors import InputError, WeftError
from weft.ports.journal import Holder


class BusyError(WeftError):
    """Another process may write, so this one may not."""

    def __init__(self, message: str, holder: Holder | None) -> None:
        super().__init__(message)
        self.holder = holder
        """None: it has only just begun."""


class DamagedError(WeftError):
    """The journal does not hold what was written to it; nothing more is read from it or written to it."""

    def __init__(self, path: object, damage: str) -> None:
        super().__init__(
            f"the journal {path} is damaged: {damage}; to keep all that can be read of it, type: weft doctor --fix"
        )
        self.damage = damage


class NotJournalError(InputError):
    """The file is no database, or its first bytes have changed."""


class LeaseLostError(WeftError):
    """Somebody else may write now; nothing of what was to be written has been."""
