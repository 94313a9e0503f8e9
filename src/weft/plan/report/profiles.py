"""The most that one slice needs: agent calls, money, agents at once, claims on pools.

Slices with the same pipeline and the same few settings need the same, so they share one profile.
"""

from collections.abc import Container, Iterable, Iterator, Sequence

from msgspec import Struct, field

from weft.ids import SubplanPath
from weft.plan.hosts import HostChoice
from weft.plan.loader.slices_check import agent_of, resolver_of
from weft.plan.model import Agent, AgentWork, Nested, Plan, RunCommand, Step, Verify
from weft.plan.order.outline import ROOT, Outline
from weft.plan.order.width import peak
from weft.plan.pipelines.flow import effective, flow
from weft.plan.pipelines.unroll import RunCounts
from weft.plan.placement import has_slots
from weft.plan.settings import Settings


class Profile(Struct, frozen=True, kw_only=True, eq=False):
    """The needs of a slice. A profile equals only itself; equal slices share one."""

    pipeline: str | None
    """None for steps that are written in the slice itself."""
    calls: int
    """Agent calls, with each loop taken as often as possible."""
    cost: int
    """Micro-dollars for the calls that have a `max_cost`."""
    unpriced: int
    """Agent steps without `max_cost`."""
    attempts: int
    """The most runs of a single step."""
    agents: int
    """The most agents that run at once within the slice."""
    agents_by_name: dict[str, int]
    claims: dict[str, frozenset[int]]
    """For each pool, as the net names it, the steps that claim it, by their `id()`."""


_Key = tuple[int, int, str | None, int | None, bool, bool, HostChoice]


class Profiles(Struct):
    """The profiles of the slices of a plan."""

    plan: Plan
    agents: dict[str, Agent] = field(default_factory=dict[str, Agent])
    """The agents that some slice uses."""
    _by_key: dict[_Key, Profile] = field(default_factory=dict[_Key, Profile])

    def by_row(self) -> list[Profile | None]:
        """Returns the profile of each row; None for groups."""
        leaves = self.plan.outline.leaves
        return [self._of(row) if leaf else None for row, leaf in enumerate(leaves)]

    def _of(self, row: int) -> Profile:
        pipeline, settings = self.plan.pipeline_of(row), self.plan.scopes[row].settings
        verifies = bool(self.plan.subplans[row].verify)
        properties = (settings.retries, settings.agent, settings.max_concurrency, verifies, settings.resolves)
        key = (id(pipeline), *properties, settings.host)
        if key not in self._by_key:
            self._by_key[key] = self._profile(row, settings, verifies=verifies)
        return self._by_key[key]

    def _profile(self, row: int, settings: Settings, *, verifies: bool) -> Profile:
        pipeline = self.plan.pipeline_of(row)
        unrolled = RunCounts(pipelines=self.plan.pipelines, retries=settings.retries, verifies=verifies)
        runs = [(step, count) for step, count in unrolled.runs(pipeline.steps) if count]
        priced = [
            (count, step.body.max_cost or self._agent(step.body, settings).max_cost)
            for step, count in runs
            if isinstance(step.body, AgentWork)
        ]
        concurrency = _AgentConcurrency(self, settings, verifies)
        names = dict.fromkeys(concurrency.names(step for step, _ in runs))
        by_name = {name: concurrency.most(pipeline.steps, (name,)) for name in names}
        claims = self._claims([step for step, _ in runs], settings)
        for agent in self._resolvers(settings):
            # The resolver runs at most once, after all steps of the slice.
            priced.append((1, agent.max_cost))
            by_name.setdefault(agent.name, 1)
            if agent.pool is not None:
                pool = f"agent:{agent.name}"
                # The agent itself stands for its step: a resolver is not a step of the pipeline.
                claims[pool] = claims.get(pool, frozenset[int]()) | {id(agent)}
        return Profile(
            pipeline=pipeline.name,
            calls=sum(count for count, _ in priced),
            cost=sum(count * cost for count, cost in priced if cost is not None),
            unpriced=sum(cost is None for _, cost in priced),
            attempts=max((count for _, count in runs), default=0),
            agents=max(concurrency.most(pipeline.steps, names), *by_name.values(), 0),
            agents_by_name=by_name,
            claims=claims,
        )

    def _claims(self, steps: Sequence[Step], settings: Settings) -> dict[str, frozenset[int]]:
        claims: dict[str, frozenset[int]] = {}
        for step in steps:
            for name in self._claimed(step, settings):
                claims[name] = claims.get(name, frozenset[int]()) | {id(step)}
        return claims

    def _hosts(self, step: Step, settings: Settings) -> Iterator[str]:
        """Yields the pools of the hosts on which a step may run."""
        hosts = self.plan.hosts
        choice = settings.host if step.host is None else step.host
        for name in choice.candidates(hosts) if hosts else ():
            if name in hosts and has_slots(hosts[name]):
                yield f"host:{name}"

    def _claimed(self, step: Step, settings: Settings) -> Iterator[str]:
        if isinstance(step.body, AgentWork | RunCommand | Verify):  # other steps start no process
            yield from (f"pool:{name}" for name, _ in step.pools)
            yield from self._hosts(step, settings)
        if isinstance(step.body, AgentWork):
            agent = self._agent(step.body, settings)
            if agent.pool is not None:
                yield f"agent:{agent.name}"

    def _resolvers(self, settings: Settings) -> Iterator[Agent]:
        """Yields the agent that may resolve a conflict, after all steps and at most once."""
        agent = resolver_of(settings, self.plan.agents) if settings.resolves else None
        if agent is not None:
            yield self.agents.setdefault(agent.name, agent)

    def _agent(self, work: AgentWork, settings: Settings) -> Agent:
        agent = agent_of(work, settings, self.plan.agents)
        assert agent is not None, "a loaded plan has an agent for each step"
        return self.agents.setdefault(agent.name, agent)

    def agent_name(self, work: AgentWork, settings: Settings) -> str:
        return self._agent(work, settings).name


class _AgentConcurrency(Struct, frozen=True):
    """Computes how many agents can run at once in one slice."""

    profiles: Profiles
    settings: Settings
    verifies: bool

    def names(self, steps: Iterable[Step]) -> Iterator[str]:
        for step in steps:
            if isinstance(step.body, AgentWork):
                yield self.profiles.agent_name(step.body, self.settings)

    def most(self, steps: Sequence[Step], counted: Container[str]) -> int:
        """Returns the most agents with these names. Only async steps can run beside the current step."""
        limit, at_once = self.settings.max_concurrency, self._at_once(steps, counted)
        return at_once if limit is None else min(at_once, limit + 1)

    def _at_once(self, steps: Sequence[Step], counted: Container[str]) -> int:
        effective_steps = effective(steps, verifies=self.verifies)
        weights = [self._weight(step, counted) for step in effective_steps]
        if not any(step.is_async for step in effective_steps):
            return max(weights, default=0)
        return self._widest(effective_steps, weights)

    def _weight(self, step: Step, counted: Container[str]) -> int:
        match step.body:
            case _ if step.condition == "never":
                return 0
            case AgentWork():
                return int(self.profiles.agent_name(step.body, self.settings) in counted)
            case Nested(pipeline):
                return self._at_once(self.profiles.plan.pipelines[pipeline].steps, counted)
            case _:
                return 0

    def _widest(self, steps: Sequence[Step], weights: Sequence[int]) -> int:
        """Returns the width of an outline with the steps as leaves, each as often as its weight.

        The async steps form a group with `max_concurrency` as its cap.
        """
        outline = Outline()
        outline.add(SubplanPath(""), -1, leaf=False)
        numbers = range(len(steps))
        group = outline.add(SubplanPath(""), ROOT, leaf=False)
        rows = {n: _leaves(outline, group, weights[n]) for n in numbers if steps[n].is_async}
        outline.close(group)
        rows |= {n: _leaves(outline, ROOT, weights[n]) for n in numbers if not steps[n].is_async}
        outline.close(ROOT)
        order = flow(steps)
        for number in numbers:
            before = [row for earlier in numbers if order.has_ended(earlier, number) for row in rows[earlier]]
            for row in rows[number]:
                outline.depends_on[row] = tuple(before)
        caps: list[int | None] = [None] * len(outline.paths)
        caps[group] = self.settings.max_concurrency
        return peak(outline, (), caps).at_most


def _leaves(outline: Outline, parent: int, count: int) -> range:
    first = len(outline.paths)
    for _ in range(count):
        outline.add(SubplanPath(""), parent, leaf=True)
    return range(first, first + count)
