"""What a run consists of while it is under way.

A *play* is one subplan's own go through its shape: a slice through its steps, a group through what it does when
all in it has ended, a result on its way to the target. A *firing* is a move of it that has begun and whose end is
waited for; a *ticket* is one that waits for room.
"""

from collections.abc import Mapping

from msgspec import Struct, field

from weft.engine.messages.failures import Failure
from weft.engine.messages.orders import Launch, Ordered
from weft.engine.pools.lanes import Claims
from weft.engine.state.continuation import Continuation
from weft.engine.state.outputs import StepOutput
from weft.engine.state.pipelines import PlacedStep
from weft.engine.state.script import Script, ShapeTransition

Amounts = tuple[int, int]
"""Micro-dollars, and tokens."""


class PipelineFrame(Struct, eq=False):
    """A pipeline under way: the slice's own, or one nested in it."""

    prefix: str
    around: "PipelineFrame | None" = None
    doom: Failure | None = None
    """Why nothing of it may start any more."""

    @property
    def doomed(self) -> Failure | None:
        frame: PipelineFrame | None = self
        while frame is not None:
            if frame.doom is not None:
                return frame.doom
            frame = frame.around
        return None

    def is_within(self, other: "PipelineFrame") -> bool:
        frame: PipelineFrame | None = self
        while frame is not None and frame is not other:
            frame = frame.around
        return frame is other

    @property
    def address(self) -> str:
        """What the addresses of its steps begin with: for `outer#2.inner#1.` that is `outer.inner.`."""
        return "".join(f"{part.partition('#')[0]}." for part in self.prefix.split(".")[:-1])


class Conversation(Struct, eq=False, kw_only=True):
    """What an agent and a model have said to each other, over one step or several."""

    agent: str
    session: str
    """By which name it can be gone on with now."""
    branch: str
    """The address of the async step that it was last held in; empty outside of any."""


class SubplanState(Struct, eq=False, kw_only=True):
    row: int
    path: str
    script: Script
    landing: int | None = None
    """The number of the landing, if this is one."""
    carried: bool = False
    """Whether an earlier run has done it."""
    steps: Mapping[str, PlacedStep] = {}
    """Those of a slice, by address, in the order of the plan."""
    frames: dict[str, PipelineFrame] = field(default_factory=lambda: {"": PipelineFrame("")})
    tokens: set[int] = set()
    """Places where a token waits for others."""
    arrived: dict[int, int] = {}
    """Of moves that wait for several tokens: how many are there."""
    outputs: dict[str, StepOutput] = {}
    failures: dict[str, Failure] = {}
    """Why the steps failed that did, by address, the first one first."""
    attempts: dict[str, int] = {}
    launched: dict[str, tuple[str, float]] = {}
    """Of async steps: with whom they were launched, and when."""
    cancelled: dict[str, str] = {}
    """Steps that a failed branch beside them ends: their addresses, and the step that failed."""
    faults: dict[str, str] = {}
    """Steps whose condition could not be evaluated, by address."""
    feedback: str = ""
    crashes: dict[str, str] = {}
    """Of steps whose agent has crashed and is tried again, by address: the feedback on that."""
    asked: dict[str, str] = {}
    """The question about the result of a step, by its address, where `on_result` says `ask`."""
    changes: dict[str, tuple[int, bool | None]] = {}
    """Of steps that are to change files, by address: their last attempt, and whether it has changed any."""
    continuation: Continuation | None = None
    """What an earlier run did of it, and is not done again."""
    interruptions: dict[str, tuple[str, str | None]] = {}
    """Of steps whose last execution was cut off, by address: what the next one is told, and the conversation."""
    conversations: dict[str, Conversation] = {}
    """That of each step that has held one, by address; the last one to be heard of is at the end."""
    slots: Claims = ()
    """What it holds of the limits around it."""
    lent: bool = False
    """Whether its slots are with others while it waits."""
    hurries: bool = False
    """Whether what it asks for first is to wait no longer than it must."""
    pools: dict[int, int] = {}
    """Its own pools: place in the shape, number in the allocator."""
    firings: dict[int, "StepFiring"] = {}
    tickets: dict[int, "PoolRequest"] = {}

    @property
    def frame(self) -> PipelineFrame:
        return self.frames[""]


class StepFiring(Struct, eq=False, kw_only=True):
    serial: int
    play: SubplanState
    move: ShapeTransition
    claims: Claims
    execution: int = 1
    order: Ordered | None = None
    """What was ordered; None for a question."""
    step: str = ""
    attempt: int = 0
    resumes: Conversation | None = None
    """What it goes on with."""
    halted: str = ""
    """`cancelled` or `stopped` once it was told to end so; `revoked` if it was stopped and the run goes on."""
    parked: str = ""
    """Why another execution is to follow: the last one was `stopped`, `limited` or `held`; `asking`: it waits for
    room."""
    lent: bool = False
    """Whether what it claims is with others while it waits."""
    frozen: bool | None = None
    """Whether its processes were told to stand still, or to go on; None: neither."""
    until: float = 0.0
    """When its usage limit ends."""
    reserved: Amounts = (0, 0)
    """For each execution of it."""
    leases: tuple[tuple[str, tuple[str, ...]], ...] = ()
    question: str = ""
    waits_for: tuple[str, ...] = ()
    """Of what is held: the subplans that must land first."""
    tried_with: frozenset[str] = frozenset()
    """Of what waits for others that wait for it in turn: the results with which it was last tried."""
    red: bool = False
    """Of what is held: whether a verify failed on the tree that would have landed."""
    asks: bool = False
    """Of what is held: whether a person is only to agree."""
    is_to_retry: bool = False
    """Of what is held: whether it is tried again as soon as people let its subplan continue."""
    presented: bool = False
    """Whether it was verified together with all others about which a person is asked."""
    preview: bool = False
    """Whether the next execution only verifies."""

    @property
    def is_under_way(self) -> bool:
        """Whether an execution has been ordered whose end was not reported."""
        return self.order is not None and not self.parked

    @property
    def launch(self) -> Launch | None:
        """What was ordered, if it is an agent."""
        order = self.order
        return order if isinstance(order, Launch) and order.agent is not None else None


class PoolRequest(Struct, eq=False, kw_only=True):
    """What is to happen when the pools have room."""

    play: SubplanState
    move: ShapeTransition
    place: int = -1
    """Where the token is that waits."""
    firing: StepFiring | None = None
    """What has begun already and is to go on."""
    was_held: bool = False
    """Whether it was held, and is to be tried again."""
    claims: Claims = ()
    slots: bool = False
    """Whether the slots of the slice are asked for, too."""
