"""Facts: all that the engine of a run ever hears.

The engine is a function of the facts, in their order: fed the same ones it comes to the same state, gives the same
orders and tells the same events. So the journal holds the facts, and to recover is to feed them in again. Times
are part of the facts: the engine has no clock. They are seconds since 1970, UTC.
"""

from enum import StrEnum

from msgspec import Struct, field


class How(StrEnum):
    """How the doing of something ended, as far as whoever did it can tell."""

    DONE = "done"
    FAILED = "failed"
    """It ran and did not succeed: any exit code but 0, an agent's error, a merge that was refused."""
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    """It was ended because the engine ordered so."""
    STOPPED = "stopped"
    """It was ended because the whole run is to stop; it is done again when the run goes on."""
    LOST = "lost"
    """Nobody knows what became of it, and nothing of it is alive."""
    INFRA = "infra"
    """It could not be done for a reason that has nothing to do with the work: no such program, no disk space."""
    LIMITED = "limited"
    """An agent's usage limit was met; it is done again at `until`."""
    CONFLICT = "conflict"
    """Two subplans changed the same file in different ways."""
    HELD = "held"
    """It cannot go on before a person has done something, and nothing has changed; it is done again then."""


class RefMove(Struct, frozen=True, kw_only=True):
    """A name of git's that leads elsewhere now."""

    ref: str
    before: str
    """A commit; empty for a name that was not there."""
    after: str
    """Empty for one that is gone."""


class Fact(Struct, frozen=True, kw_only=True, tag_field="fact", omit_defaults=True):
    at: float


class RunStarted(Fact, frozen=True, kw_only=True, tag="run_started", omit_defaults=True):
    run: str
    """The id of the run."""
    env: dict[str, str] = field(default_factory=dict[str, str])
    """What templates may read as `env.NAME`."""
    carried: tuple[str, ...] = ()
    """Paths of subplans that an earlier run has completed; they count as completed here."""
    landed: tuple[str, ...] = ()
    """Those among them whose results that run has landed on the same branch."""
    target: str = ""
    """The branch that results land on, if there is one."""
    base: str = ""
    """The commit that slices start from."""
    moves: tuple[RefMove, ...] = ()
    """What was put aside in git, to begin anew."""
    chosen: tuple[str, ...] = ()
    """Paths of the subplans that it is for, with what they need; none: for the whole plan."""
    fresh: bool = False
    """Whether all is done anew, also what an earlier run has completed."""


class Ended(Fact, frozen=True, kw_only=True, tag="ended", omit_defaults=True):
    """An execution of a firing has ended, and nothing of it is alive any more."""

    firing: int
    execution: int
    how: How
    exit_code: int | None = None
    signal: int | None = None
    command: int = 0
    """Of several commands, the number of the one that was the last to run."""
    result: str = ""
    """What a command wrote to its standard output; the final text of an agent."""
    errors: str = ""
    """The end of what was written to standard error."""
    message: str = ""
    """For people: what went wrong."""
    files: tuple[str, ...] = ()
    """In conflict, or in the way; or changed by an agent that may only read."""
    changed: bool | None = None
    """Of an agent that was to change files: whether it has changed any; None is unknown."""
    conflict: bool = False
    """Of what is held: whether it is for a conflict."""
    waits_for: tuple[str, ...] = ()
    """Of what is held: the subplans that must land first."""
    asks: bool = False
    """Of what is held: whether nothing is in the way, and a person is only to agree."""
    culprits: tuple[str, ...] = ()
    """Of a group's verify that failed: the subplans in the group that are to blame, as far as was found."""
    left_out: tuple[str, ...] = ()
    """These and what is built on them, if it passed on the others."""
    moves: tuple[RefMove, ...] = ()
    """What it changed in git, in order."""
    cost: int | None = None
    """In micro-dollars; None is unknown."""
    tokens: int | None = None
    session: str | None = None
    """The agent's conversation, for a step that resumes it."""
    until: float | None = None
    """When a usage limit ends."""
    seconds: float = 0.0
    stdout_bytes: int = 0
    """How much it wrote, where that is more than a few lines: not all of it may have been kept."""
    stderr_bytes: int = 0


class Spent(Fact, frozen=True, kw_only=True, tag="spent", omit_defaults=True):
    """What an execution under way has spent so far, all in all."""

    firing: int
    execution: int
    cost: int | None = None
    """In micro-dollars; None is unknown."""
    tokens: int | None = None


class Answered(Fact, frozen=True, kw_only=True, tag="answered", omit_defaults=True):
    """A person has answered a question."""

    subplan: str
    step: str
    accepted: bool
    text: str = ""


class MergeAsked(Fact, frozen=True, kw_only=True, tag="merge_asked", omit_defaults=True):
    """A person wants what is held to be merged, or to land."""

    subplan: str
    """Its path; empty for all."""


class Foreseen(Fact, frozen=True, kw_only=True, tag="foreseen", omit_defaults=True):
    """Two subplans that are under way have changed the same files in different ways."""

    subplan: str
    other: str
    files: tuple[str, ...]
    """None: not any more."""


class StopAsked(Fact, frozen=True, kw_only=True, tag="stop_asked", omit_defaults=True):
    """The run is to end in a way that it can go on later; `now`: without grace."""

    now: bool = False


class Wanted(StrEnum):
    """What people want of a subplan, and of all that is in it."""

    GO = "go"
    PAUSE = "pause"
    """What runs comes to the end of its step, and nothing new begins."""
    FREEZE = "freeze"
    """The same, and the processes of what runs stand still."""
    STOP = "stop"
    """What runs ends, and is done again when it is to go on."""


class Controlled(Fact, frozen=True, kw_only=True, tag="controlled", omit_defaults=True):
    """A person has said what is to become of a subplan; the last word about it counts."""

    subplan: str
    """Its path; empty for all."""
    wanted: Wanted
    now: bool = False
    """Of what is to stop: without grace."""


class Resumed(Fact, frozen=True, kw_only=True, tag="resumed", omit_defaults=True):
    """A new coordinator has taken over, after a stop or after the death of the last one."""

    epoch: int
    merges_only: bool = False
    """Whether it is there to merge and to land, and begins nothing else."""


class Woke(Fact, frozen=True, kw_only=True, tag="woke", omit_defaults=True):
    """A time has come that the engine asked to be woken at."""


AnyFact = (
    RunStarted | Ended | Spent | Answered | MergeAsked | Foreseen | Controlled | StopAsked | Resumed | Woke
)
