"""The states of a run, and the sets of them that the program asks about.

The engine computes all states but `abandoned`: that one marks a run that a newer run has replaced. A run is
*unfinished* while the next coordinator continues it. It is *at rest* when no coordinator works on it. The two
overlap in `stopped`: such a run is at rest and unfinished. Every part of the program takes these sets from here.
"""

from enum import StrEnum


class RunState(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"
    """A person has paused all that is left, and no step is in progress."""
    WAITING = "waiting"
    """Only questions and held merges are left; a coordinator may or may not stay for them."""
    STOPPED = "stopped"
    COMPLETED = "completed"
    FAILED = "failed"
    ABANDONED = "abandoned"


FINISHED = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.ABANDONED})
"""No coordinator continues such a run."""
UNFINISHED = frozenset(RunState) - FINISHED
"""The next coordinator continues such a run where it was."""
AT_REST = FINISHED | {RunState.STOPPED}
"""No coordinator works on such a run."""
NEEDS_COORDINATOR = frozenset({RunState.RUNNING, RunState.PAUSED})
"""A coordinator sets these states and leaves them before it ends; without one, its coordinator died."""
