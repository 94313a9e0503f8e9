"""Facts: the only input of the engine.

The engine is a function of the facts in their order: the same facts give the same state, orders and events.
The journal stores the facts, and a new coordinator recovers a run by applying them again. Times are part of
the facts, since the engine has no clock. They are seconds since 1970, UTC.
"""

from enum import StrEnum

from msgspec import Struct, field

from weft.engine.messages.step_refs import ExecutionKey
from weft.terms import MachineState


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


class EarlierSpending(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What earlier runs of the plan spent at one subplan, and counts against its ceilings."""

    subplan: str = ""
    """The path; empty for the whole plan."""
    cost: int = 0
    """In micro-dollars, as far as it is known."""
    tokens: int = 0
    unknown: int = 0
    """Agent calls that did not report their cost."""
    assumed: int = 0
    """Micro-dollars that stay reserved for those calls."""
    assumed_tokens: int = 0


class Fact(Struct, frozen=True, kw_only=True, tag_field="fact", omit_defaults=True):
    at: float


class OutsideChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Files that changed in a checkout where no step was to work. Which step or person did it is unknown."""

    place: str = ""
    """The path of the slice whose worktree it is; empty for the user's checkout."""
    directory: str
    files: tuple[str, ...]
    """From the top of the checkout; the first few."""
    more: int = 0
    """How many others have changed."""
    during: tuple[str, ...]
    """The steps of agents that ran meanwhile, as `store/model:code`."""


class Ended(Fact, frozen=True, kw_only=True, tag="ended", omit_defaults=True):
    """An execution of a firing has ended, and nothing of it is alive any more."""

    firing: int
    execution: int
    how: StepOutcome
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
    idle: bool = False
    """Of a timeout: whether the agent was ended because it wrote nothing, and not for the time it took."""
    lasting: bool = False
    """Of a failure: whether another try cannot help, as with a wrong key."""
    files: tuple[str, ...] = ()
    """In conflict, or in the way; or changed by an agent that may only read."""
    kept: bool = False
    """Of a workspace: whether it is the one that an earlier run left, and the slice continues in it."""
    changed: bool | None = None
    """Of an agent that was to change files: whether it has changed any; None is unknown."""
    left: str | None = None
    """Of an agent that may change files and was cut off: what differs from before, a line for each file, as far as
    that is known; None for all else."""
    conflict: bool = False
    """Of what is held: whether it is for a conflict."""
    waits_for: tuple[str, ...] = ()
    """Of what is held: the subplans that must land first."""
    asks: bool = False
    """Of what is held: whether nothing is in the way, and a person is only to agree."""
    red: bool = False
    """Of what is held: whether a verify failed on the tree that would have landed."""
    culprits: tuple[str, ...] = ()
    """Of a group's verify that failed: the subplans in the group that are to blame, as far as was found."""
    left_out: tuple[str, ...] = ()
    """These and what is built on them, if it passed on the others."""
    moves: tuple[RefMove, ...] = ()
    """What it changed in git, in order."""
    parts: tuple[str, ...] = ()
    """Of a landing of completed parts: the slices whose work the target has now."""
    outside: tuple[OutsideChange, ...] = ()
    """What changed outside of its workspace while it ran."""
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

    @property
    def key(self) -> ExecutionKey:
        return ExecutionKey(self.firing, self.execution)


class VerifyStarted(Fact, frozen=True, kw_only=True, tag="verify_started", omit_defaults=True):
    """The landing queue verifies a tree before the target moves to it."""

    tree: str
    commit: str
    entries: tuple[str, ...] = ()
    """The subplans that would land; none: the tip of the target itself is verified."""
    commands: tuple[str, ...] = ()
    """As a person would type them."""
    log: str = ""
    """What the names of its log files begin with, relative to the run's logs."""


class VerifyEnded(Fact, frozen=True, kw_only=True, tag="verify_ended", omit_defaults=True):
    """A verify of the landing queue has ended."""

    tree: str
    commit: str
    entries: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    how: StepOutcome
    exit_code: int | None = None
    signal: int | None = None
    message: str = ""
    tail: str = ""
    """The end of its output, if it did not pass."""
    seconds: float = 0.0
    log: str = ""
    """What the names of its log files begin with, relative to the run's logs."""


class Pushed(Fact, frozen=True, kw_only=True, tag="pushed", omit_defaults=True):
    """The target was pushed, or could not be."""

    remote: str
    commit: str = ""
    """What was pushed; empty if nothing was."""
    landing: str = ""
    """The last landing that it covers, by the commit."""
    message: str = ""
    """Why it could not be; empty if it was."""
    command: str = ""
    """What a person types to push it, if that is all there is to do."""
    is_final: bool = False
    """Whether the run does not try it again."""


class Spent(Fact, frozen=True, kw_only=True, tag="spent", omit_defaults=True):
    """What an execution under way has spent so far, all in all."""

    firing: int
    execution: int
    cost: int | None = None
    """In micro-dollars; None is unknown."""
    tokens: int | None = None

    @property
    def key(self) -> ExecutionKey:
        return ExecutionKey(self.firing, self.execution)


class Answered(Fact, frozen=True, kw_only=True, tag="answered", omit_defaults=True):
    """A person has answered a question."""

    subplan: str
    step: str
    accepted: bool
    text: str = ""
    result: str = ""
    """The result of the step that asks: the text, or else `yes` or `no`."""


def answer_result(*, accepted: bool, text: str) -> str:
    """The result of a step that asks: what the person wrote, or else the bare answer."""
    return text or ("yes" if accepted else "no")


class EarlierStep(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a step of a slice ended in an earlier run."""

    step: str
    """Its address."""
    attempt: int
    end: Ended | Answered
    """An answer: it is a question, or a question about the result of the step."""
    inputs: str = ""
    """The digest of its rendered templates, empty without templates; for a question, its text."""


class EarlierSlice(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an earlier run did of a slice before it was cut off, for a new run to continue after.

    Also what it did of a completed slice before the step whose agent a person sends back to work.
    """

    subplan: str
    run: str
    """The run that launched it first."""
    commit: str = ""
    """Where its branch was after the last of these steps; empty: where it started, or it has no branch."""
    steps: tuple[EarlierStep, ...] = ()
    """In the order of their ends."""
    open: tuple[tuple[str, int, bool], ...] = ()
    """Steps that were launched and cut off: address, attempt, and whether it is a question that was asked."""
    merging: bool = False
    """Whether all its steps were done and it was only to be merged: then a person may be at work on it."""
    resolved: bool = False
    """Whether an agent has tried to resolve a conflict of it."""
    completed: bool = False
    """Whether it was completed. Then its agent works on, in the workspace as it is."""


class SliceFeedback(Struct, frozen=True, kw_only=True):
    """What a person wants changed in a slice."""

    subplan: str
    """Its path."""
    text: str


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
    """The refs that were moved aside for a fresh start."""
    chosen: tuple[str, ...] = ()
    """Paths of the subplans that it is for, with what they need; none: for the whole plan."""
    fresh: bool = False
    """Whether work that an earlier run has completed is repeated as well."""
    earlier: tuple[EarlierSpending, ...] | None = None
    """What all earlier runs of the plan spent since the last reset; None in journals that do not record it."""
    fresh_budget: bool = False
    """Whether a person reset what counts against the ceilings, so that nothing of it is earlier."""
    continued: tuple[EarlierSlice, ...] = ()
    """Slices that continue where an earlier run was cut off."""
    paused: tuple[str, ...] = ()
    """The subplans that people paused in the run before, which this one replaces; empty for the whole plan."""
    feedback: tuple[SliceFeedback, ...] = ()
    """What people want changed in slices that are not completed; their agents read it."""


class MergeAsked(Fact, frozen=True, kw_only=True, tag="merge_asked", omit_defaults=True):
    """A person wants what is held to be merged, or to land."""

    subplan: str
    """Its path; empty for all."""
    now: bool = False
    """Whether the completed parts of a group land, though other parts are missing."""


class Foreseen(Fact, frozen=True, kw_only=True, tag="foreseen", omit_defaults=True):
    """Two subplans that are under way have changed the same files in different ways."""

    subplan: str
    other: str
    files: tuple[str, ...]
    """None: not any more."""


class StopAsked(Fact, frozen=True, kw_only=True, tag="stop_asked", omit_defaults=True):
    """A person stops the run, which can be resumed later; `now`: without grace."""

    now: bool = False


class ControlState(StrEnum):
    """The state that a person requests for a subplan and everything in it."""

    GO = "go"
    PAUSE = "pause"
    """Running steps continue to their end, and nothing new starts."""
    FREEZE = "freeze"
    """As `pause`, and running processes are suspended."""
    STOP = "stop"
    """Running steps are ended, and executed again after a resume."""


class Controlled(Fact, frozen=True, kw_only=True, tag="controlled", omit_defaults=True):
    """A person has paused, frozen, stopped or resumed a subplan; the latest request counts."""

    subplan: str
    """Its path; empty for all."""
    wanted: ControlState
    now: bool = False
    """For a stop: without grace."""


class Resumed(Fact, frozen=True, kw_only=True, tag="resumed", omit_defaults=True):
    """A new coordinator has taken over, after a stop or after the death of the last one."""

    epoch: int
    merges_only: bool = False
    """Whether it is there to merge and to land, and begins nothing else."""
    settles: bool = False
    """Whether another run replaces this one: nothing starts, and only running agents may finish."""
    ends: tuple[str, ...] = ()
    """With `settles`: the subplans whose agents are ended as well."""
    fresh_budget: bool = False
    """Whether a person reset what counts against the ceilings."""


class CoordinatorLeft(Fact, frozen=True, kw_only=True, tag="coordinator_left", omit_defaults=True):
    """The coordinator ends though the run is unfinished: only people can continue it, and it does not stay."""


class Woke(Fact, frozen=True, kw_only=True, tag="woke", omit_defaults=True):
    """A time has come that the engine asked to be woken at."""


class LimitsEnded(Fact, frozen=True, kw_only=True, tag="limits_ended", omit_defaults=True):
    """A person says that the usage limits of all agents have ended, whatever was heard of them."""


class HostChanged(Fact, frozen=True, kw_only=True, tag="host_changed", omit_defaults=True):
    """A machine, or without its name the whole host, has been reached, is out of reach, or counts as lost."""

    host: str
    state: MachineState
    machine: str = ""
    message: str = ""


class BudgetReset(Fact, frozen=True, kw_only=True, tag="budget_reset", omit_defaults=True):
    """A person has reset what counts against the ceilings, of a run that has nothing left to do."""


AnyFact = (
    RunStarted
    | Ended
    | VerifyStarted
    | VerifyEnded
    | Pushed
    | Spent
    | Answered
    | MergeAsked
    | Foreseen
    | Controlled
    | StopAsked
    | Resumed
    | CoordinatorLeft
    | BudgetReset
    | LimitsEnded
    | HostChanged
    | Woke
)
