"""Reasons why a process cannot use the journal.

WeftError
├── BusyError       another process holds the lease
├── DamagedError    the file does not hold what was written to it
├── NotJournalError the file is no database, or not any more
└── LeaseLostError  this process has lost the lease
"""

from weft.errors import InputError, WeftError
from weft.ports.journal import Holder


class BusyError(WeftError):
    """Another process is writing to the journal."""

    def __init__(self, message: str, holder: Holder | None) -> None:
        super().__init__(message)
        self.holder = holder
        """None if that process has only just started."""


class DamagedError(WeftError):
    """The journal does not hold what was written to it; nothing more is read or written."""

    def __init__(self, path: object, damage: str) -> None:
        super().__init__(
            f"the journal {path} is damaged: {damage}; to keep all that can be read of it, type: weft doctor --fix"
        )
        self.damage = damage


class NotJournalError(InputError):
    """The file is no database, or its first bytes have changed."""


class LeaseLostError(WeftError):
    """Another process may write now; nothing of this write has been stored."""
