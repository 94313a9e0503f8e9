"""Orders of the engine to the runtime, which reports each end as a fact.

A *firing* is a transition of the net that has started; an *execution* is one process or action for it. Most
firings have one execution. A firing that was stopped or met a usage limit has another one later. The two
numbers identify an execution permanently.
"""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from weft.engine.messages.facts import EarlierSlice
from weft.engine.messages.step_refs import ExecutionKey, StepRef
from weft.plan.model import Agent, Command
from weft.plan.sandbox import SandboxParts


class LaunchKind(StrEnum):
    """What the processes of a launch are for."""

    STEP = "step"
    """A step of the plan."""
    RESOLVE = "resolve"
    """An agent resolves the conflict of a merge."""
    VERIFY = "verify"
    """The verify of a group."""
    WORKSPACE = "workspace"
    """The setup of a workspace."""
    MERGE = "merge"
    """The verify of what a merge has brought together."""
    LAND = "land"
    """The verify of what the landing queue has brought together."""


_WORK = frozenset({LaunchKind.STEP, LaunchKind.RESOLVE})


class Order(Struct, frozen=True, kw_only=True):
    firing: int
    execution: int
    row: int
    """The row of the plan that it is about."""
    path: str
    """The path of that subplan; empty for the whole plan."""

    @property
    def key(self) -> ExecutionKey:
        return ExecutionKey(self.firing, self.execution)


class AgentTask(Struct, frozen=True, kw_only=True):
    """What an agent is to do."""

    agent: Agent
    model: str | None = None
    prompt: str = ""
    interruption: str = ""
    """The notice before the prompt if an earlier execution of the step was cut off."""
    session: str | None = None
    """The conversation to continue."""
    fork: bool = False
    """Whether to fork that conversation."""
    read_only: bool = False
    is_to_change: bool = False
    """Whether it is asked to change files, and not for a result that it is to give."""


class Launch(Order, frozen=True, kw_only=True):
    """Start processes: commands one after the other until one fails, or an agent."""

    step: str
    """The address of the step, as `outer.inner`; the name of an internal step for other kinds."""
    kind: LaunchKind = LaunchKind.STEP
    attempt: int
    name: str = ""
    """Names its job within the run, where that is not named by the firing and the execution."""
    round: int = 0
    """Of what may be done several times within an execution: how often it has been."""
    work: tuple[Command, ...] | AgentTask = ()
    """Rendered commands, each a text for /bin/sh or an argv; or the task of an agent."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Rendered, with the things leased from pools."""
    inputs: str = ""
    """The digest of the rendered templates of the step; empty without templates."""
    sandbox: SandboxParts | None = None
    """What the step itself says about it."""
    timeout: float
    idle_timeout: float | None = None
    """The seconds for which an agent may write nothing; None without a limit."""
    grace: float
    host: str = ""
    """Where it runs; empty for this machine."""
    token: str = ""
    """The placement of its slice on that host. Work of an earlier placement is refused."""

    @property
    def ref(self) -> StepRef:
        return StepRef(self.path, self.step, self.attempt, self.key)

    @property
    def task(self) -> AgentTask | None:
        """The task of the agent; None for commands."""
        return self.work if isinstance(self.work, AgentTask) else None

    @property
    def agent(self) -> Agent | None:
        return self.work.agent if isinstance(self.work, AgentTask) else None

    @property
    def commands(self) -> tuple[Command, ...]:
        """The commands; none for an agent."""
        return () if isinstance(self.work, AgentTask) else self.work

    @property
    def is_work(self) -> bool:
        """Whether it does the work of the plan; not what Weft runs around it."""
        return self.kind in _WORK


class Prepare(Order, frozen=True, kw_only=True):
    """Make the workspace of a slice."""

    continues: EarlierSlice | None = None
    """What an earlier run did of the slice: if its workspace still holds that, it is kept."""
    without: tuple[str, ...] = ()
    """The results that cannot land before a person has helped: the slice starts without them where it can."""
    host: str = ""
    """Where the slice is placed; empty for this machine."""
    token: str = ""
    """The placement of the slice on that host."""


class Merge(Order, frozen=True, kw_only=True):
    """Bring what a subplan did to the subplan around it."""

    without: tuple[str, ...] = ()
    """Of a group: the subplans in it whose work is left out."""
    resolved: bool = False
    """Whether an agent was to resolve a conflict of it before."""


class Land(Order, frozen=True, kw_only=True):
    """Bring what a subplan did to where the user wants it."""

    agreed: bool = True
    """Whether a person need not be asked any more."""
    preview: bool = False
    """Whether it is only verified, for a person who is asked afterwards."""
    within: str = ""
    """Of a landing of completed parts: the path of the subplan that lands as a whole later; else empty."""


class Halt(Struct, frozen=True, kw_only=True):
    """End an execution and all that it started; it is then reported as cancelled or stopped."""

    firing: int
    execution: int
    how: str
    """`cancelled` or `stopped`: as what its end is to be reported."""
    now: bool = False
    """Without grace."""

    @property
    def key(self) -> ExecutionKey:
        return ExecutionKey(self.firing, self.execution)


class Freeze(Struct, frozen=True, kw_only=True):
    """Suspend the processes of an execution, or continue them."""

    firing: int
    execution: int
    thaw: bool = False

    @property
    def key(self) -> ExecutionKey:
        return ExecutionKey(self.firing, self.execution)


class WakeAt(Struct, frozen=True, kw_only=True):
    """Report the fact `Woke` at this time."""

    at: float


Ordered = Launch | Prepare | Merge | Land
"""The orders with an end that is reported."""

AnyOrder = Ordered | Halt | Freeze | WakeAt
