"""The errors of workspaces, and the display of file names in messages."""

from collections.abc import Sequence

from weft.errors import WeftError

START_OVER = "to repeat everything, run the plan with --fresh"
"""The advice if stored data is gone."""

_MOST_LISTED = 5


class WorkspaceError(WeftError):
    """A workspace, or its record, is not in the expected state."""


def shown(path: bytes) -> str:
    """Returns a file name as printable text on one line, whatever bytes it has."""
    text = path.decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def listed(names: Sequence[str]) -> str:
    """Returns the first names and the number of the others."""
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return ", ".join(names[:_MOST_LISTED]) + more


class MovingBranchesError(WorkspaceError):
    """Another program moves branches of the plan, faster than Weft can follow."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"the branches around {path or 'the plan'} keep moving; find the other program that moves them"
        )
