"""How long each piece of work takes, what it costs and how often it fails.

For each step, the first of these that is known counts: its `estimate` in the plan, its history, the history of its
agent in this project, a default. A history of few executions is drawn towards that of the agent. The estimate of a
slice is for its agents: each agent step of the slice has an equal part of it.
"""

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from weft.engine.messages.internal_steps import InternalStep
from weft.engine.messages.orders import Land, Launch, LaunchKind, Merge, Ordered, Prepare
from weft.forecast.history import NO_HISTORY, History, LimitSample, WorkSample
from weft.forecast.spread import P90, Noise, Spread, between
from weft.forecast.streams import key_of
from weft.plan.loader.slices_check import agent_of
from weft.plan.model import AgentWork, Estimate, Nested, Plan, RunCommand, Step, Verify
from weft.plan.order.outline import ROOT

AGENT_MINUTES = (20.0, 40.0)
"""The default for a step of an agent, as 10 % and 90 % quantiles."""
COMMAND_SECONDS = (5.0, 60.0)
"""The default for a command, and for a verify."""
WORKSPACE_SECONDS = (0.2, 2.0)
MERGE_SECONDS = (0.05, 0.5)
COMMAND_NOISE, INTERNAL_NOISE, AGENT_NOISE, STEPS_NOISE = 0.1**2, 0.3**2, 0.35**2, 0.5**2
"""The variances, of logarithms, that are assumed until enough executions are seen: of a command, of work of Weft
itself and of an agent at the same step, and of an agent at different steps."""
_ENOUGH = 3
"""Executions of a step that are needed to estimate how often it fails."""
_NEVER = LimitSample()
_ROUNDING = 1e-9


class Basis(StrEnum):
    """Where an estimate comes from."""

    PLAN = "plan"
    HISTORY = "history"
    AGENT = "agent"
    """The history of the agent, at other steps."""
    DEFAULT = "default"
    INTERNAL = "internal"
    """A default for work of Weft itself, such as a merge, which is short."""


class WorkEstimate(Struct, frozen=True, kw_only=True):
    """The distribution of one execution."""

    seconds: Spread
    cost: Spread | None = None
    """In micro-dollars; None if it is unknown."""
    fail: float = 0.0
    """The probability that it fails."""
    limit: LimitSample = _NEVER
    basis: Basis = Basis.DEFAULT
    stream: int = 0
    """The stream of its random numbers."""
    shared: int = 0
    """The stream of the durations that it shares with other steps; 0: its own."""
    is_free: bool = False
    """Whether it is no agent, and costs nothing."""
    branch: str = ""
    """The step itself if it runs beside others of its slice; empty if it runs after them."""

    @property
    def has_cost(self) -> bool:
        """Whether its executions cost something that is known."""
        return self.cost is not None and not self.is_free

    @property
    def is_guessed(self) -> bool:
        """Whether nothing is known about its duration."""
        return self.basis is Basis.DEFAULT or self.basis is Basis.INTERNAL


class StepEstimate(Struct, frozen=True, kw_only=True):
    """The estimate of a step of a slice, for people."""

    path: str
    step: str
    """Its address."""
    agent: str | None
    estimate: WorkEstimate
    timeout: float
    """Seconds after which the step is ended."""

    @property
    def may_time_out(self) -> bool:
        """Whether its P90 exceeds its timeout. A default is no reason to expect that."""
        is_known = self.estimate.basis in {Basis.PLAN, Basis.HISTORY}
        return is_known and self.estimate.seconds.at(P90) > self.timeout * (1.0 + _ROUNDING)


class Estimates:
    """The estimates of all work of a plan."""

    def __init__(self, plan: Plan, history: History = NO_HISTORY) -> None:
        self._plan = plan
        self._history = history
        self._steps: dict[tuple[int, str], WorkEstimate] = {}
        self._works: dict[tuple[int, str | type[Ordered]], WorkEstimate] = {}

    @property
    def sigma(self) -> float | None:
        """How much whole runs differ, as far as it is known."""
        return self._history.sigma

    def of(self, order: Ordered) -> WorkEstimate:
        """Returns the estimate of an execution."""
        key = (order.row, order.step if isinstance(order, Launch) else type(order))
        estimate = self._works.get(key)
        if estimate is None:
            if isinstance(order, Launch) and order.kind is LaunchKind.STEP:
                estimate = self.of_step(order.row, order.step)
            else:
                estimate = self.of_internal(order.row, _step_of(order))
            self._works[key] = estimate
        return estimate

    # Steps of the plan

    def of_step(self, row: int, address: str) -> WorkEstimate:
        """Returns the estimate of a step of a slice."""
        if (row, address) not in self._steps:
            beside = ""
            for path, step, parts in self._agent_parts(row):
                # The steps of a nested pipeline follow the step that it is.
                if not beside or not path.startswith(f"{beside}."):
                    beside = path if step.is_async else ""
                estimate = self._estimate(row, path, step, parts)
                self._steps[row, path] = replace(estimate, branch=path) if beside else estimate
        return self._steps[row, address]

    def listed(self) -> Iterator[StepEstimate]:
        """Yields the estimate of each step that is a process, in plan order."""
        plan = self._plan
        for row, is_leaf in enumerate(plan.outline.leaves):
            for address, step, _ in self._agent_parts(row) if is_leaf else ():
                if isinstance(step.body, AgentWork | RunCommand | Verify):
                    yield StepEstimate(
                        path=plan.outline.paths[row],
                        step=address,
                        agent=self._agent(row, step),
                        estimate=self.of_step(row, address),
                        timeout=plan.scopes[row].settings.timeout if step.timeout is None else step.timeout,
                    )

    def _agent_parts(self, row: int) -> Iterator[tuple[str, Step, int]]:
        """Yields the address of each step, the step, and the number of steps that share the slice's estimate."""
        steps = list(self._nested_steps(self._plan.pipeline_of(row).steps, ""))
        agents = sum(isinstance(step.body, AgentWork) for _, step in steps)
        processes = sum(isinstance(step.body, AgentWork | RunCommand | Verify) for _, step in steps)
        for address, step in steps:
            shares = isinstance(step.body, AgentWork) if agents else not isinstance(step.body, Nested)
            yield address, step, (agents or processes) if shares else 0

    def _nested_steps(self, steps: tuple[Step, ...], prefix: str) -> Iterator[tuple[str, Step]]:
        for step in steps:
            yield f"{prefix}{step.id}", step
            if isinstance(step.body, Nested):
                yield from self._nested_steps(
                    self._plan.pipelines[step.body.pipeline].steps, f"{prefix}{step.id}."
                )

    def _agent(self, row: int, step: Step) -> str | None:
        if not isinstance(step.body, AgentWork):
            return None
        agent = agent_of(step.body, self._plan.scopes[row].settings, self._plan.agents)
        return None if agent is None else agent.name

    def _estimate(self, row: int, address: str, step: Step, parts: int) -> WorkEstimate:
        path, history, agent = self._plan.outline.paths[row], self._history, self._agent(row, step)
        own = history.steps.get((path, address), WorkSample())
        # The durations of other commands say nothing about this one; those of the agent's other steps do.
        group = history.agents.get(agent, WorkSample()) if agent else WorkSample()
        whole = self._plan.subplans[row].estimate if parts else None
        written = step.estimate or Estimate()
        seconds, basis, shared = self._seconds(own, group, agent), _basis(own, group), 0
        if written.minutes is not None:
            seconds, basis = _minutes(written.minutes), Basis.PLAN
        elif whole is not None and whole.minutes is not None:
            # One luck for all of them: their sum has the spread that the plan states for the slice.
            seconds, basis, shared = (
                _minutes(whole.minutes).scaled(1 / parts),
                Basis.PLAN,
                key_of(path, "@slice"),
            )
        cost = self._cost(own, group, agent) if agent else Spread(0.0)
        if written.cost is not None:
            cost = Spread(float(written.cost))
        elif agent and whole is not None and whole.cost is not None:
            cost = Spread(whole.cost / parts)
        return WorkEstimate(
            seconds=seconds,
            cost=cost,
            is_free=agent is None and not (cost is not None and cost.median),
            fail=_fail(written, own, group, whole, parts),
            limit=history.limits.get(agent or "", _NEVER),
            basis=basis,
            stream=key_of(path, address),
            shared=shared,
        )

    def _seconds(self, own: WorkSample, group: WorkSample, agent: str | None) -> Spread:
        noise = self._history.noises.get(agent or "", Noise())
        if own.count:
            assumed = AGENT_NOISE if agent else COMMAND_NOISE
            return own.seconds.next_value(noise.variance(assumed), group.seconds)
        if group.count:
            return group.seconds.any_value(STEPS_NOISE)
        low, high = AGENT_MINUTES
        return between(low * 60, high * 60) if agent else between(*COMMAND_SECONDS)

    def _cost(self, own: WorkSample, group: WorkSample, agent: str) -> Spread | None:
        """Returns the cost of an agent's execution; None if its price is unknown, which does not mean free."""
        noise = self._history.cost_noises.get(agent, Noise())
        if own.is_priced:
            sample = own.cost
            return sample.next_value(noise.variance(AGENT_NOISE), group.cost) if sample.count else Spread(0.0)
        if group.is_priced:
            return group.cost.any_value(STEPS_NOISE) if group.cost.count else Spread(0.0)
        return None

    # The work of Weft itself

    def of_internal(self, row: int, step: str) -> WorkEstimate:
        """Returns the estimate of an internal step of a row."""
        path = self._plan.outline.paths[row]
        own = self._history.steps.get((path, step), WorkSample())
        group = self._history.kinds.get(step, WorkSample())
        noise = self._history.noises.get(step, Noise()).variance(INTERNAL_NOISE)
        if own.count:
            seconds, basis = own.seconds.next_value(noise, group.seconds), Basis.HISTORY
        elif group.count:
            seconds, basis = group.seconds.any_value(INTERNAL_NOISE), Basis.HISTORY
        else:
            seconds, basis = self._default(row, step), Basis.INTERNAL
        return WorkEstimate(
            seconds=seconds, cost=Spread(0.0), is_free=True, basis=basis, stream=key_of(path, step)
        )

    def _default(self, row: int, step: str) -> Spread:
        settings = self._plan.scopes[row].settings
        if step == InternalStep.WORKSPACE:
            base = between(*WORKSPACE_SECONDS)
            return between(*COMMAND_SECONDS) if settings.setup_commands else base
        if step == InternalStep.VERIFY or (step == InternalStep.LAND and self._plan.subplans[ROOT].verify):
            return between(*COMMAND_SECONDS)
        if step == InternalStep.RESOLVE:
            low, high = AGENT_MINUTES
            return between(low * 60, high * 60)
        return between(*MERGE_SECONDS)


def _step_of(order: Ordered) -> str:
    match order:
        case Launch():
            return order.step
        case Prepare():
            return InternalStep.WORKSPACE
        case Merge():
            return InternalStep.MERGE
        case Land():
            return InternalStep.LAND


def _minutes(range_: tuple[float, float]) -> Spread:
    low, high = range_
    return between(low * 60, high * 60)


def _basis(own: WorkSample, group: WorkSample) -> Basis:
    if own.count:
        return Basis.HISTORY
    return Basis.AGENT if group.count else Basis.DEFAULT


def _fail(written: Estimate, own: WorkSample, group: WorkSample, whole: Estimate | None, parts: int) -> float:
    if written.fail is not None:
        return written.fail
    if whole is not None and whole.fail is not None:
        # All parts succeed as often as the plan states for the slice.
        return 1.0 - float((1.0 - whole.fail) ** (1.0 / parts))
    for sample in (own, group):
        if sample.count >= _ENOUGH:
            # Neither never nor always can be known from a few executions.
            return (sample.failures + 0.5) / (sample.count + 1.0) if sample.failures else 0.0
    return 0.0
