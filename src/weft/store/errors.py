"""What keeps a process from writing to the journal.

WeftError
├── BusyError       another process holds the lease
└── LeaseLostError  this process held the lease, and does not any more
"""

from weft.errors import WeftError
from weft.ports.journal import Holder


class BusyError(WeftError):
    """Another process may write, so this one may not."""

    def __init__(self, message: str, holder: Holder | None) -> None:
        super().__init__(message)
        self.holder = holder
        """None: it has only just begun."""


class LeaseLostError(WeftError):
    """Somebody else may write now; nothing of what was to be written has been."""
