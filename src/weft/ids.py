"""Names of things. Each is a string that the type checker keeps apart from the others."""

from typing import NewType

PlaceId = NewType("PlaceId", str)
TransitionId = NewType("TransitionId", str)
OutcomeName = NewType("OutcomeName", str)
SubplanPath = NewType("SubplanPath", str)
"""Where a subplan stands in its tree: the ids from the root, joined by `/`."""

_LONGEST_FILE_NAME = 200  # of 255 bytes that file systems allow: there are endings, too


def file_name(path: str) -> str:
    """What files and directories of a subplan are called: its path with dots, which no two subplans share.

    The whole plan is `_plan`, and no other name begins with `_`. What would be too long for a file system is cut
    and ends in a digest; it comes after `._`, which is in no path.
    """
    if not path:
        return "_plan"
    name = path.replace("/", ".")
    if len(name) <= _LONGEST_FILE_NAME:
        return name
    from hashlib import blake2b  # noqa: PLC0415 - takes longer to load than all of this, and is seldom needed

    return f"{name[:160]}._{blake2b(path.encode(), digest_size=16).hexdigest()}"
