"""The steps that Weft runs around those of the plan. Events, logs and commands show them by these names."""

from enum import StrEnum

from weft.plan.compile.actions import ActionKind

_MARK = "@"
"""No id in a plan can begin with it."""


class InternalStep(StrEnum):
    """A step that is not in the plan."""

    WORKSPACE = "@workspace"
    """The workspace of a slice is made."""
    VERIFY = "@verify"
    """The verify of a group."""
    MERGE = "@merge"
    RESOLVE = "@resolve"
    """An agent resolves the conflict of a merge."""
    LAND = "@land"


MERGES = frozenset({InternalStep.MERGE, InternalStep.LAND})
"""The steps that bring a result elsewhere. They start processes only to verify it."""


def is_internal(step: str) -> bool:
    return step.startswith(_MARK)


def internal_step(kind: ActionKind) -> InternalStep:
    """Returns the name of the step that an action of Weft itself is."""
    return InternalStep(f"{_MARK}{kind}")
