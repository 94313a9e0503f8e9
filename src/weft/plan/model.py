"""A plan as it was written: frozen, with the position of each part in the file.

`source` is the mapping that a part was read from; it has the line and column of each of its keys and values.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from weft.plan.hosts import HostChoice, HostSpec
from weft.plan.notify import Notify
from weft.plan.order.outline import Outline
from weft.plan.prices import Price
from weft.plan.sandbox import SandboxParts
from weft.plan.settings import Scope
from weft.plan.text.document import Document, Table
from weft.plan.text.problems import Problem

Command = str | tuple[str, ...]
"""Text for a shell, or an argv that no shell sees."""


class Agent(Struct, frozen=True, kw_only=True):
    """An agent that steps can name."""

    name: str
    use: str
    model: str | None = None
    pool: int | None = None
    command: Command | None = None
    script: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    max_cost: int | None = None
    """In micro-dollars, like all amounts."""
    max_tokens: int | None = None
    isolated_home: bool | None = None
    """None means as the setting says."""
    sandbox: SandboxParts | None = None
    """What the agent sets itself; the rest follows the settings."""
    source: Table | None = None


class Pool(Struct, frozen=True, kw_only=True):
    """A pool of the plan."""

    name: str
    size: int
    values: tuple[str, ...] | None = None
    """The values in it, if they are distinct."""

    @property
    def variable(self) -> str:
        """The environment variable that names the value that a step took."""
        return f"WEFT_POOL_{self.name.upper().replace('-', '_')}"


class Estimate(Struct, frozen=True, kw_only=True):
    """A guess of what one attempt needs."""

    minutes: tuple[float, float] | None = None
    cost: int | None = None
    fail: float | None = None


# The bodies of steps: what a step does.


class AgentWork(Struct, frozen=True, kw_only=True):
    """Work for an agent."""

    prompt: str
    agent: str | None = None
    model: str | None = None
    resume: bool = False
    max_cost: int | None = None
    max_tokens: int | None = None
    read_only: bool = False


class RunCommand(Struct, frozen=True):
    command: Command


class Verify(Struct, frozen=True):
    """Runs the slice's own verify commands."""


class Join(Struct, frozen=True):
    wait_for_all: bool


class Ask(Struct, frozen=True):
    question: str


class Nested(Struct, frozen=True):
    pipeline: str


Body = AgentWork | RunCommand | Verify | Join | Ask | Nested


class OnFail(Struct, frozen=True):
    """Where to go back when the step fails."""

    retry_from: str
    max: int | None
    """None means the setting `retries` of the slice."""


class OnResult(Struct, frozen=True, omit_defaults=True):
    """An action for results that match a condition."""

    when: str
    action: str
    question: str | None = None
    """The question of the action `ask`."""


class Step(Struct, frozen=True, kw_only=True):
    """A step of a pipeline."""

    id: str
    body: Body
    is_async: bool = False
    depends_on: tuple[str, ...] = ()
    condition: str | None = None
    output_schema: Mapping[str, Any] | None = None
    on_error: str = "abort"
    max_retries: int = 0
    retries_crashes: bool = False
    """Whether an agent that fails or times out is retried, because `on_error` is absent."""
    on_fail: OnFail | None = None
    on_result: tuple[OnResult, ...] = ()
    pools: tuple[tuple[str, int], ...] = ()
    timeout: float | None = None
    idle_timeout: float | None = None
    grace: float | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    host: HostChoice | None = None
    """Where its process may run; None for the host of the slice."""
    sandbox: SandboxParts | None = None
    """What the step sets itself; the rest follows its agent, then the settings."""
    estimate: Estimate | None = None
    source: Table


class Pipeline(Struct, frozen=True, kw_only=True):
    """A list of steps."""

    name: str | None
    """None for steps that are written in a subplan itself."""
    steps: tuple[Step, ...]
    document: Document
    built_in: bool = False


def named_agents(pipeline: Pipeline) -> list[tuple[str, str]]:
    """Returns the steps of a pipeline that name their agent, with the agent."""
    return [
        (step.id, step.body.agent)
        for step in pipeline.steps
        if isinstance(step.body, AgentWork) and step.body.agent is not None
    ]


class Subplan(Struct, frozen=True, kw_only=True):
    """A slice or a group, without its children."""

    id: str
    title: str
    prompt: str | None = None
    depends_on: tuple[str, ...] = ()
    """As written: siblings' ids, or paths from the root."""
    files: tuple[str, ...] = ()
    verify: tuple[Command, ...] = ()
    pipeline: str | None = None
    """The name of its pipeline; None for a group, and for a slice with steps of its own."""
    steps: Pipeline | None = None
    estimate: Estimate | None = None
    settings: Mapping[str, Any]
    """Its own settings, by dotted name."""
    source: Table


class Plan(Struct, frozen=True, kw_only=True):
    """A plan as written, checked, with the settings in force for each of its subplans."""

    id: str
    goal: str | None
    base: str | None
    target: str | None
    agents: Mapping[str, Agent]
    pools: Mapping[str, Pool]
    pipelines: Mapping[str, Pipeline]
    """Those of the file, and the built-in ones that it does not redefine."""
    env_allow: frozenset[str]
    subplans: tuple[Subplan, ...]
    """In plan order, a group before its parts; number 0 is the plan itself, as a group."""
    outline: Outline
    """The same rows as a tree with dependencies."""
    scopes: tuple[Scope, ...]
    """The settings of each row."""
    document: Document
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    """Prices by patterns for the names of models and agents; the first match counts."""
    notify: tuple[Notify, ...] = ()
    """Whom to notify of what happens in a run."""
    hosts: Mapping[str, HostSpec] = field(default_factory=dict[str, HostSpec])
    """The machines on which steps may run, in the order in which they are preferred."""
    warnings: tuple[Problem, ...] = ()

    def pipeline_of(self, row: int) -> Pipeline:
        """Returns the pipeline of a slice."""
        subplan = self.subplans[row]
        return subplan.steps or self.pipelines[subplan.pipeline or ""]
