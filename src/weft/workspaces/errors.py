"""What can be wrong with a workspace, and how file names are shown in messages."""

from collections.abc import Sequence

from weft.errors import WeftError

ANEW = "to do everything once more, run the plan with --fresh"
"""What helps where something that was kept is gone."""

_MOST_LISTED = 5


class WorkspaceError(WeftError):
    """A workspace, or what is recorded of it, is not as it was left."""


def shown(path: bytes) -> str:
    """A file name for people: on one line, and text whatever bytes it has."""
    text = path.decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def listed(names: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return ", ".join(names[:_MOST_LISTED]) + more
