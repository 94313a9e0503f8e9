"""A plan as it was written: frozen, and each part with the place in the file that it comes from.

`source` is the mapping that a part was read from; it knows the line and column of each of its keys and values.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from weft.plan.document import Document, Table
from weft.plan.outline import Outline
from weft.plan.problems import Problem
from weft.plan.settings import Scope

Command = str | tuple[str, ...]
"""Text for a shell, or an argv that never meets one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    name: str
    use: str
    model: str | None = None
    pool: int | None = None
    command: Command | None = None
    script: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    max_cost: int | None = None
    """In micro-dollars, as all amounts."""
    source: Table | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    name: str
    size: int
    values: tuple[str, ...] | None = None
    """The things in it, if each has a value of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    minutes: tuple[float, float] | None = None
    cost: int | None = None
    fail: float | None = None


# What a step does: one of these.


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentWork:
    prompt: str
    agent: str | None = None
    model: str | None = None
    resume: bool = False
    max_cost: int | None = None
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class RunCommand:
    command: Command


@dataclass(frozen=True, slots=True)
class Verify:
    """The slice's own commands."""


@dataclass(frozen=True, slots=True)
class Join:
    wait_for_all: bool


@dataclass(frozen=True, slots=True)
class Ask:
    question: str


@dataclass(frozen=True, slots=True)
class Nested:
    pipeline: str


Body = AgentWork | RunCommand | Verify | Join | Ask | Nested


@dataclass(frozen=True, slots=True)
class OnFail:
    retry_from: str
    max: int | None
    """None: the setting `retries` of the slice."""


@dataclass(frozen=True, slots=True)
class OnResult:
    when: str
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    id: str
    body: Body
    is_async: bool = False
    depends_on: tuple[str, ...] = ()
    condition: str | None = None
    output_schema: Mapping[str, Any] | None = None
    on_error: str = "abort"
    max_retries: int = 0
    on_fail: OnFail | None = None
    on_result: tuple[OnResult, ...] = ()
    pools: tuple[tuple[str, int], ...] = ()
    timeout: float | None = None
    grace: float | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    estimate: Estimate | None = None
    source: Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    name: str | None
    """None: steps that stand in a subplan itself."""
    steps: tuple[Step, ...]
    document: Document
    built_in: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Subplan:
    id: str
    title: str
    prompt: str | None = None
    depends_on: tuple[str, ...] = ()
    """As written: siblings' ids, or paths from the root."""
    files: tuple[str, ...] = ()
    verify: tuple[Command, ...] = ()
    pipeline: str | None = None
    """The name of its pipeline; None for a group, and for a slice that has steps of its own."""
    steps: Pipeline | None = None
    estimate: Estimate | None = None
    settings: Mapping[str, Any]
    """What it sets itself, by dotted name."""
    source: Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    id: str
    goal: str | None
    base: str | None
    target: str | None
    agents: Mapping[str, Agent]
    pools: Mapping[str, Pool]
    pipelines: Mapping[str, Pipeline]
    """Those of the file, and the built-in ones that it does not define itself."""
    env_allow: frozenset[str]
    subplans: tuple[Subplan, ...]
    """In plan order, a group before what is in it; number 0 is the plan itself, as a group."""
    outline: Outline
    """The same rows: who is in whom, who waits for whom."""
    scopes: tuple[Scope, ...]
    """The settings of each row."""
    document: Document
    warnings: tuple[Problem, ...] = ()

    def pipeline_of(self, row: int) -> Pipeline:
        """How a slice is done."""
        subplan = self.subplans[row]
        return subplan.steps or self.pipelines[subplan.pipeline or ""]
