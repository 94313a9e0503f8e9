"""The state of a subplan that has started and not ended.

A `SubplanState` follows one subplan through its shape: a slice through its steps, a group through the work
after its parts have ended, or a result through its landing. A `StepFiring` is a transition that has started
and not finished. A `PoolRequest` is one that waits for room in the pools.
"""

from collections.abc import Mapping

from msgspec import Struct, field

from weft.engine.messages.failures import Failure
from weft.engine.messages.orders import AgentTask, Launch, Ordered
from weft.engine.pools.lanes import Claims
from weft.engine.state.continuation import Continuation
from weft.engine.state.outputs import StepOutput
from weft.engine.state.pipelines import PlacedStep
from weft.engine.state.script import Script, ShapeTransition

Amounts = tuple[int, int]
"""Micro-dollars and tokens."""


class PipelineFrame(Struct, eq=False):
    """A running pipeline: that of the slice, or one nested in it."""

    prefix: str
    around: "PipelineFrame | None" = None
    own_failure: Failure | None = None
    """Why no step of this pipeline may start any more."""

    @property
    def failure(self) -> Failure | None:
        """The failure that stops this pipeline: its own, or that of a pipeline around it."""
        frame: PipelineFrame | None = self
        while frame is not None:
            if frame.own_failure is not None:
                return frame.own_failure
            frame = frame.around
        return None

    def is_within(self, outer: "PipelineFrame") -> bool:
        """Returns whether this pipeline is `outer` or nested in it."""
        frame: PipelineFrame | None = self
        while frame is not None and frame is not outer:
            frame = frame.around
        return frame is outer

    @property
    def address(self) -> str:
        """The common prefix of the addresses of its steps: `outer.inner.` for `outer#2.inner#1.`."""
        return "".join(f"{part.partition('#')[0]}." for part in self.prefix.split(".")[:-1])


class Conversation(Struct, eq=False, kw_only=True):
    """The session of an agent, which one or several steps have continued."""

    agent: str
    session: str
    """The id with which it can be continued; it may change with each execution."""
    place: str = ""
    """The placement of the slice in which it was held, whose machine has its files; empty for this machine."""
    branch: str
    """The address of the async step that last continued it; empty outside of async steps."""


class SubplanState(Struct, eq=False, kw_only=True):
    """The progress of a slice, a group or a landing through its shape."""

    row: int
    path: str
    script: Script
    landing: int | None = None
    """The number of the landing; None for a slice or a group."""
    carried: bool = False
    """Whether an earlier run has completed it."""
    host: str | None = None
    """The host on which it is placed; None if it is not, or has to be placed again."""
    placement: int = 0
    """How often it has been placed."""
    step_hosts: Mapping[str, str] = {}
    """The hosts of its steps, by address, as far as they have been chosen."""
    steps: Mapping[str, PlacedStep] = {}
    """The steps of a slice, by address, in plan order."""
    frames: dict[str, PipelineFrame] = field(default_factory=lambda: {"": PipelineFrame("")})
    tokens: set[int] = set()
    """Places at which a token waits for other tokens."""
    arrived: dict[int, int] = {}
    """By transition with several inputs: the number of tokens that have arrived."""
    outputs: dict[str, StepOutput] = {}
    failures: dict[str, Failure] = {}
    """The failures of steps, by address, in order of time."""
    attempts: dict[str, int] = {}
    launched: dict[str, tuple[str, float]] = {}
    """By address of an async step: the group with which it was launched, and when."""
    cancelled: dict[str, str] = {}
    """Steps that are cancelled because a parallel branch failed: address, and the step that failed."""
    faults: dict[str, str] = {}
    """Errors in the conditions of steps, by address."""
    feedback: str = ""
    """About the last failure of a step that leads to another attempt."""
    request: str = ""
    """What a person wants changed. All attempts read it."""
    crashes: dict[str, str] = {}
    """The feedback about a crash of an agent that is retried, by address."""
    asked: dict[str, str] = {}
    """The questions about results that `on_result: ask` demands, by address."""
    changes: dict[str, tuple[int, bool | None]] = {}
    """By address of a step that should change files: its last attempt, and whether that changed any."""
    continuation: Continuation | None = None
    """The steps that an earlier run completed and that are not repeated."""
    interruptions: dict[str, tuple[str, str | None]] = {}
    """By address of a step that was cut off: the notice for its next execution, and the conversation."""
    conversations: dict[str, Conversation] = {}
    """The conversation of each step, by address, in order of their last report."""
    slots: Claims = ()
    """The slots that it holds in the limits around it."""
    lent: bool = False
    """Whether it has lent its slots to others while it waits."""
    hurries: bool = False
    """Whether its first request gets a hold-back, since others have overtaken it too often."""
    pools: dict[int, int] = {}
    """Its own pools: by place in the shape, the number in the allocator."""
    firings: dict[int, "StepFiring"] = {}
    requests: dict[int, "PoolRequest"] = {}

    @property
    def frame(self) -> PipelineFrame:
        """The frame of the slice's own pipeline."""
        return self.frames[""]


class StepFiring(Struct, eq=False, kw_only=True):
    """A transition with an action that has started and not finished, over all its executions."""

    serial: int
    subplan: SubplanState
    move: ShapeTransition
    claims: Claims
    execution: int = 1
    order: Ordered | None = None
    """The last order for it; None for a question."""
    step: str = ""
    attempt: int = 0
    resumes: Conversation | None = None
    """The conversation that it continues."""
    halted: str = ""
    """`cancelled` or `stopped` after such an order to end; `revoked` if the run was resumed after a stop."""
    parked: str = ""
    """Why another execution follows: the last was `stopped`, `limited` or `held`. `asking`: waits for room."""
    lent: bool = False
    """Whether it has lent its claims to others while it waits."""
    frozen: bool | None = None
    """Whether its processes were last frozen (True) or thawed (False); None: neither."""
    until: float = 0.0
    """When its usage limit ends."""
    reserved: Amounts = (0, 0)
    """The reservation for each of its executions."""
    leases: tuple[tuple[str, tuple[str, ...]], ...] = ()
    question: str = ""
    waits_for: tuple[str, ...] = ()
    """If held: the subplans that must land first."""
    tried_with: frozenset[str] = frozenset()
    """If it and others wait for each other: the results with which it was last tried."""
    red: bool = False
    """If held: whether verify failed on the tree that would have landed."""
    asks: bool = False
    """If held: whether only the approval of a person is missing."""
    is_to_retry: bool = False
    """If held: whether it is retried as soon as its subplan is no longer paused."""
    presented: bool = False
    """Whether it was verified together with all other results that need approval."""
    preview: bool = False
    """Whether the next execution only verifies."""

    @property
    def is_under_way(self) -> bool:
        """Whether an execution was ordered and has not been reported as ended."""
        return self.order is not None and not self.parked

    @property
    def task(self) -> AgentTask | None:
        """The task of the agent that it launches, if it does."""
        return self.order.task if isinstance(self.order, Launch) else None

    @property
    def launch(self) -> Launch | None:
        """The order, if it launches an agent."""
        order = self.order
        return order if isinstance(order, Launch) and order.agent is not None else None


class PoolRequest(Struct, eq=False, kw_only=True):
    """A transition, or another execution of a firing, that waits for room in the pools."""

    subplan: SubplanState
    move: ShapeTransition
    place: int = -1
    """The place of the token that waits."""
    firing: StepFiring | None = None
    """The firing that needs another execution; None for a transition that has not started."""
    was_held: bool = False
    """Whether the firing was held and is retried."""
    claims: Claims = ()
    slots: bool = False
    """Whether it requests the slots of the slice as well."""
