"""The state of a run as `weft status` shows it."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from weft.app.views.hosts import MachineView
from weft.app.views.push import PushState
from weft.app.views.rows import Rejection
from weft.app.views.signals import ConflictAhead, FailedVerify, OutsideWarning, UsageLimit
from weft.engine.messages.facts import ControlState, EarlierSpending


class CoordinatorProcess(Struct, frozen=True):
    """The process that runs the plan."""

    pid: int
    alive: bool
    started_at: float


class SubplanNow(Struct, frozen=True, kw_only=True):
    """The present state of a subplan."""

    path: str
    is_leaf: bool
    state: str
    reason: str | None = None
    message: str | None = None
    landing: str | None = None
    landing_place: str | None = None
    """The place of its result on the way to the target, as `verifying with 3 others`; None before that."""
    conflict: tuple[str, ...] = ()
    wanted: str = ControlState.GO
    step: str | None = None
    attempt: int | None = None
    host: str = ""
    """Where the step runs, or else where the slice is placed; empty for this machine."""
    question: str | None = None
    steps_done: int = 0
    steps_total: int = 0
    pid: int | None = None
    heartbeat_at: float | None = None
    since: float | None = None
    activity: str | None = None
    """What the running step does, or the last line of its output; None if it is not known to run."""
    heard_at: float | None = None
    """When the running agent last wrote, or started."""
    cost: int = 0
    tokens: int = 0
    has_output: bool = False
    """Whether a process was started, so that `weft logs` has something to show."""
    rejected: Rejection | None = None
    """The step with a rejected result, until it succeeds."""
    branch: str | None = None
    blocked_by: tuple[str, ...] = ()
    idle: tuple[str, ...] | None = None
    """Agent steps that should have changed files and did not, at their last success; None if not examined."""


class Overview(Struct, frozen=True, kw_only=True):
    """The present state of a run."""

    run: str
    plan: str
    state: str
    created_at: float
    coordinator: CoordinatorProcess | None
    counts: Mapping[str, int]
    """Slices by state."""
    cost: int
    tokens: int
    unknown: int
    """The number of ended agent steps with unknown cost."""
    wants: bool
    """Whether people have paused or stopped any of it."""
    ceiling: float | None
    """In dollars."""
    token_ceiling: str | None = None
    """The ceiling as written in the plan."""
    reserved: int = 0
    unreported: int = 0
    """Micro-dollars that stay reserved for agent calls of this run that did not report their cost."""
    earlier: EarlierSpending = EarlierSpending()
    """The spending of earlier runs that counts against the ceilings of the plan."""
    uncounted: tuple[int, int] = (0, 0)
    """Micro-dollars and tokens that this run spent before its budget was reset."""
    limits: Sequence[UsageLimit] = ()
    """Usage limits of agents that have not ended."""
    hosts: Sequence[MachineView] = ()
    """The machines that cannot be reached."""
    verifies: Sequence[FailedVerify] = ()
    ahead: Sequence[ConflictAhead] = ()
    outside: Sequence[OutsideWarning] = ()
    push: PushState | None = None
    """The last push of the target; None if there was none since the last landing."""
    plan_words: Sequence[str] = ()
    """The words that name the plan and the chosen subplans on the command line."""
    is_asked: bool = False
    """Whether requests of people wait for a coordinator."""
    is_last: bool = True
    """Whether commands without `--run` are about this run."""
    subplans: Sequence[SubplanNow]

    @property
    def counted(self) -> int:
        """Micro-dollars that count against the ceiling."""
        return self.cost - self.uncounted[0] + self.earlier.cost

    @property
    def counted_tokens(self) -> int:
        return self.tokens - self.uncounted[1] + self.earlier.tokens
