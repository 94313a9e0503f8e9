"""Words that all layers share, each defined once: outcomes, ref moves, states of a run, money.

The engine computes all states of a run but `abandoned`: that one marks a run that a newer run has replaced. A run
is *unfinished* while the next coordinator continues it. It is *at rest* when no coordinator works on it. The two
overlap in `stopped`: such a run is at rest and unfinished. Every part of the program takes these sets from here.
"""

from enum import StrEnum

from msgspec import Struct

MICRO = 1_000_000
"""Micro-dollars in a dollar; money is counted in whole micro-dollars."""


class StepOutcome(StrEnum):
    """The outcome of an execution, as far as the runtime knows it."""

    DONE = "done"
    FAILED = "failed"
    """It ran and did not succeed: any exit code but 0, an agent's error, a merge that was refused."""
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    """It was ended by an order of the engine."""
    STOPPED = "stopped"
    """It was ended because the run stops; it is executed again when the run is resumed."""
    LOST = "lost"
    """Its end is unknown, and none of its processes is alive."""
    INFRA = "infra"
    """It could not be executed for a reason unrelated to the work: no such program, no disk space."""
    LIMITED = "limited"
    """An agent met a usage limit; it is executed again at `until`."""
    CONFLICT = "conflict"
    """Two subplans changed the same file in different ways."""
    HELD = "held"
    """It needs a person and has changed nothing; it is executed again after the person has acted."""


class RefMove(Struct, frozen=True, kw_only=True):
    """A change of a git ref."""

    ref: str
    before: str
    """The commit; empty for a new ref."""
    after: str
    """The commit; empty for a deleted ref."""


class MachineState(StrEnum):
    """How a machine looks from the coordinator."""

    CONNECTING = "connecting"
    """It has not been reached yet."""
    REACHABLE = "reachable"
    UNREACHABLE = "unreachable"
    """The carrier broke; the machine may be well. The coordinator tries again and again."""
    LOST = "lost"
    """It was unreachable for too long, or has gone: what ran there counts as lost."""


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
