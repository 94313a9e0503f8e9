"""Kinds of ids. Each is a string that the type checker distinguishes from the others."""

from typing import NewType

PlaceId = NewType("PlaceId", str)
TransitionId = NewType("TransitionId", str)
OutcomeName = NewType("OutcomeName", str)
SubplanPath = NewType("SubplanPath", str)
"""The place of a subplan in its tree: the ids from the root, joined by `/`."""

_LONGEST_FILE_NAME = 200  # of the 255 bytes that file systems allow, with room for suffixes


def file_name(path: str) -> str:
    """Returns the name for files and directories of a subplan: its path with dots. No two subplans share it.

    The whole plan is `_plan`, and no other name begins with `_`. A name that is too long for a file system is cut,
    and a digest is appended after `._`, which is in no path.
    """
    if not path:
        return "_plan"
    name = path.replace("/", ".")
    if len(name) <= _LONGEST_FILE_NAME:
        return name
    from hashlib import blake2b  # noqa: PLC0415 - takes longer to load than all of this, and is seldom needed

    return f"{name[:160]}._{blake2b(path.encode(), digest_size=16).hexdigest()}"
