"""What one slice comes to at most: agent calls, money, agents at once, claims on pools.

Slices with the same pipeline and the same few settings are alike in all this, so it is worked out once for all of
them.
"""

from collections.abc import Container, Iterable, Iterator, Sequence

from msgspec import Struct, field

from weft.ids import SubplanPath
from weft.plan.loading.slices_check import agent_of, resolver_of
from weft.plan.model import Agent, AgentWork, Nested, Plan, RunCommand, Step, Verify
from weft.plan.order.outline import ROOT, Outline
from weft.plan.order.width import peak
from weft.plan.pipelines.flow import effective, flow
from weft.plan.pipelines.unroll import Unrolled
from weft.plan.settings import Settings


class Profile(Struct, frozen=True, kw_only=True, eq=False):
    """Equal only to itself: slices that are alike share one."""

    pipeline: str | None
    """None: steps that stand in the slice itself."""
    calls: int
    """Agent calls, each loop gone through as often as can be."""
    cost: int
    """Micro-dollars for the calls that have a `max_cost`."""
    unpriced: int
    """Agent steps that have none."""
    attempts: int
    """How often some step of it can run."""
    agents: int
    """Agents under way at once, within the one slice."""
    agents_by_name: dict[str, int]
    claims: dict[str, frozenset[int]]
    """For each pool, as the net names it, the steps that take from it, by their `id()`."""


_Key = tuple[int, int, str | None, int | None, bool, bool]


class Profiles(Struct):
    plan: Plan
    agents: dict[str, Agent] = field(default_factory=dict[str, Agent])
    """Those that some slice was found to use."""
    _found: dict[_Key, Profile] = field(default_factory=dict[_Key, Profile])

    def by_row(self) -> list[Profile | None]:
        """None for groups."""
        leaves = self.plan.outline.leaves
        return [self._of(row) if leaf else None for row, leaf in enumerate(leaves)]

    def _of(self, row: int) -> Profile:
        pipeline, settings = self.plan.pipeline_of(row), self.plan.scopes[row].settings
        verifies = bool(self.plan.subplans[row].verify)
        alike = (settings.retries, settings.agent, settings.max_concurrency, verifies, settings.resolves)
        key = (id(pipeline), *alike)
        if key not in self._found:
            self._found[key] = self._profile(row, settings, verifies=verifies)
        return self._found[key]

    def _profile(self, row: int, settings: Settings, *, verifies: bool) -> Profile:
        pipeline = self.plan.pipeline_of(row)
        unrolled = Unrolled(pipelines=self.plan.pipelines, retries=settings.retries, verifies=verifies)
        runs = [(step, count) for step, count in unrolled.runs(pipeline.steps) if count]
        priced = [
            (count, step.body.max_cost or self._agent(step.body, settings).max_cost)
            for step, count in runs
            if isinstance(step.body, AgentWork)
        ]
        within = _Within(self, settings, verifies)
        names = dict.fromkeys(within.names(step for step, _ in runs))
        by_name = {name: within.most(pipeline.steps, (name,)) for name in names}
        claims = self._claims([step for step, _ in runs], settings)
        for agent in self._resolvers(settings):
            priced.append((1, agent.max_cost))
            by_name.setdefault(agent.name, 1)
            if agent.pool is not None:
                pool = f"agent:{agent.name}"
                claims[pool] = claims.get(pool, frozenset[int]()) | {id(agent)}
        return Profile(
            pipeline=pipeline.name,
            calls=sum(count for count, _ in priced),
            cost=sum(count * cost for count, cost in priced if cost is not None),
            unpriced=sum(cost is None for _, cost in priced),
            attempts=max((count for _, count in runs), default=0),
            agents=max(within.most(pipeline.steps, names), *by_name.values(), 0),
            agents_by_name=by_name,
            claims=claims,
        )

    def _claims(self, steps: Sequence[Step], settings: Settings) -> dict[str, frozenset[int]]:
        found: dict[str, frozenset[int]] = {}
        for step in steps:
            for name in self._claimed(step, settings):
                found[name] = found.get(name, frozenset[int]()) | {id(step)}
        return found

    def _claimed(self, step: Step, settings: Settings) -> Iterator[str]:
        if isinstance(step.body, AgentWork | RunCommand | Verify):  # the others start no process
            yield from (f"pool:{name}" for name, _ in step.pools)
        if isinstance(step.body, AgentWork):
            agent = self._agent(step.body, settings)
            if agent.pool is not None:
                yield f"agent:{agent.name}"

    def _resolvers(self, settings: Settings) -> Iterator[Agent]:
        """The agent that may have to resolve a conflict, after all steps and at most once."""
        agent = resolver_of(settings, self.plan.agents) if settings.resolves else None
        if agent is not None:
            yield self.agents.setdefault(agent.name, agent)

    def _agent(self, work: AgentWork, settings: Settings) -> Agent:
        agent = agent_of(work, settings, self.plan.agents)
        assert agent is not None, "a loaded plan has an agent for each step"
        return self.agents.setdefault(agent.name, agent)

    def agent_name(self, work: AgentWork, settings: Settings) -> str:
        return self._agent(work, settings).name


class _Within(Struct, frozen=True):
    """How many agents can be under way at once in one slice."""

    profiles: Profiles
    settings: Settings
    verifies: bool

    def names(self, steps: Iterable[Step]) -> Iterator[str]:
        for step in steps:
            if isinstance(step.body, AgentWork):
                yield self.profiles.agent_name(step.body, self.settings)

    def most(self, steps: Sequence[Step], counted: Container[str]) -> int:
        """Of the agents with these names. Beside the step whose turn it is, only async ones can be under way."""
        limit, found = self.settings.max_concurrency, self._at_once(steps, counted)
        return found if limit is None else min(found, limit + 1)

    def _at_once(self, steps: Sequence[Step], counted: Container[str]) -> int:
        real = effective(steps, verifies=self.verifies)
        weights = [self._weight(step, counted) for step in real]
        if not any(step.is_async for step in real):
            return max(weights, default=0)
        return self._widest(real, weights)

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
        """The steps as leaves of an outline, each as many times as it weighs; the async ones are a group."""
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
