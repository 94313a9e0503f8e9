"""What is known of one subplan of a run, and of a step under way in it."""

from msgspec import Struct

from weft.engine.states import SubplanExecutionState as State

BECAUSE_OF_OTHERS = frozenset({"blocked", "cancelled"})
"""Reasons to have failed that lie elsewhere."""


class StepFailure(Struct, frozen=True, kw_only=True):
    step: str
    attempt: int = 0
    command: str = ""
    exit_code: int | None = None
    signal: int | None = None
    message: str = ""
    tail: str = ""
    """The end of the output."""
    how: str = "failed"


class RunningStep(Struct, kw_only=True, eq=False):
    """A step under way."""

    step: str
    attempt: int
    firing: int
    execution: int
    started_at: float
    command: str
    agent: str
    output: str = ""
    """The last line it wrote."""
    cancelled_by: str = ""
    """Why it is being ended, if it is."""
    reserved: tuple[int, int] = (0, 0)
    """Of an agent: micro-dollars and tokens."""


class OpenStepQuestion(Struct, frozen=True, kw_only=True):
    firing: int
    text: str
    """The question; if it is about a result, the condition and the end of the result follow on further lines."""
    asked_at: float

    @property
    def headline(self) -> str:
        return self.text.partition("\n")[0]


class HeldWork(Struct, frozen=True, kw_only=True):
    """What cannot be merged, or land, before a person has done something."""

    subplan: str
    step: str
    """`@merge` or `@land`; `@workspace` or `@verify` if it has not got that far."""
    message: str
    files: tuple[str, ...] = ()
    """In conflict, or in the way."""
    conflict: bool = False
    waits_for: tuple[str, ...] = ()
    """What must land first."""
    asks: bool = False
    """Whether nothing is in the way, and a person is only to agree."""
    red: bool = False
    """Whether a verify failed on the tree that would have landed."""

    @property
    def needs_help(self) -> bool:
        """Whether there is more to do about it than to agree."""
        return not self.asks and not self.waits_for


class LeftOut(Struct, frozen=True, kw_only=True):
    """The group around a subplan has gone on without it."""

    group: str
    message: str
    is_culprit: bool
    """Whether it is to blame; else it is built on the work of one that is."""


class RowView(Struct, kw_only=True, eq=False):
    """A subplan; row 0 is the whole plan."""

    state: State = State.PENDING
    reason: str = ""
    message: str = ""
    cause: str = ""
    """Who is to blame, if not itself: a subplan, or a step as `store/model:check`."""
    failed_by_itself: bool = False
    """Not because of something else, be it in it or beside it."""
    failure: StepFailure | None = None
    """The step that was to blame, if it was one of its own."""
    trouble: StepFailure | None = None
    """The last step that ended badly, whatever came of that."""
    idle: dict[str, None] = {}
    """Steps whose agent was to change files and did not, when it was last done."""
    notes: dict[str, str] = {}
    """What is odd about steps that are done, by step: a result file that cannot be read, processes left behind."""
    steps: dict[int, RunningStep] = {}
    """Those under way, by firing."""
    questions: dict[str, OpenStepQuestion] = {}
    """Open ones, by step."""
    limited_until: float | None = None
    """When an agent's usage limit ends that it waits for."""
    started_at: float | None = None
    ended_at: float | None = None
    cost: int = 0
    """Known so far, with that of all in it, in micro-dollars."""
    unknown_costs: int = 0
    """Agent calls in it that did not say what they cost."""
    tokens: int = 0
    """As with the cost."""
    carried: bool = False
    """An earlier run completed it."""
    landing: str = ""
    """Where its work is: `unmerged`, `merged` (with what is around it, or the target), `held` or `conflict`.

    Empty if it has not begun, or has no branch.
    """
    held: HeldWork | None = None
    held_at: float = 0.0
    left_out: LeftOut | None = None

    def seconds(self, now: float) -> float | None:
        """How long it has been at it, or was."""
        if self.started_at is None:
            return None
        return max(0.0, (now if self.ended_at is None else self.ended_at) - self.started_at)

    def pause(self, seconds: float) -> None:
        """So long nothing was done: a person was asked, or the run was stopped."""
        if self.started_at is not None:
            self.started_at += seconds


class LandedWork(Struct, frozen=True):
    """Where work has come."""

    branch: str
    commit: str
