"""The size of a change."""

from msgspec import Struct


class ChangeCount(Struct, frozen=True):
    """How much a slice has changed. Binary files count as files, and have no lines."""

    files: int = 0
    added: int = 0
    removed: int = 0
