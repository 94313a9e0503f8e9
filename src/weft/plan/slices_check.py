"""Whether each slice can be done the way it says: its pipeline, with its settings, by agents that exist.

Slices that have the same pipeline and the same settings are alike in all this, so it is decided once for all of
them, and told once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from weft.plan.adapters import ADAPTERS
from weft.plan.document import Node
from weft.plan.flow import flow
from weft.plan.model import Agent, AgentWork, Nested, Pipeline, Plan, Step, Subplan, Verify
from weft.plan.outline import Outline
from weft.plan.problems import suggestion
from weft.plan.reader import Reader
from weft.plan.settings import Scope, Settings
from weft.plan.steps_check import place
from weft.plan.unroll import MOST_STEPS, Unrolled

NEED_MORE = frozenset({"acp", "command", "scripted"})
"""Adapters that cannot be used by their name alone: they need a command or a file."""

FIRST_AGENT = "the first of the plan's agents"

Names = Mapping[int, frozenset[tuple[str | int, ...]]]
"""For each pipeline, by `id()`: the names its own templates read."""


@dataclass(slots=True)
class SlicesCheck:
    plan: Plan
    reader: Reader
    names: Names
    programs: tuple[str, ...]
    """Agents' command lines found on this machine."""
    _seen: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    _bare: list[int] = field(default_factory=list[int])
    """Slices that nothing verifies."""
    _told_first: bool = False

    def check(self) -> None:
        for row, subplan in enumerate(self.plan.subplans):
            if self.plan.outline.is_leaf(row):
                self.slice(row, subplan)
        self.unverified()
        self.unreachable_limits()

    def slice(self, row: int, subplan: Subplan) -> None:
        name = subplan.pipeline
        if subplan.steps is None and name not in self.plan.pipelines:
            if name is not None:
                known = list(self.plan.pipelines)
                self.wrong(subplan, "pipeline", f"there is no pipeline {name!r}{suggestion(name, known)}")
            return
        pipeline = self.plan.pipeline_of(row)
        if subplan.prompt is None and self.reads_prompt(pipeline):
            said = f"the slice needs a prompt: its pipeline {pipeline.name or ''} reads slice.prompt"
            self.reader.wrong(subplan.source, said.replace("  ", " "))
        if not subplan.verify and any(isinstance(step.body, Verify) for step in self.steps(pipeline)):
            self._bare.append(row)
        scope = self.plan.scopes[row]
        if (id(pipeline), id(scope)) not in self._seen:
            self._seen.add((id(pipeline), id(scope)))
            self.way(subplan, pipeline, scope)

    def way(self, subplan: Subplan, pipeline: Pipeline, scope: Scope) -> None:
        settings = scope.settings
        agents = dict(self.agents(subplan, pipeline, scope))
        self.first_agent(subplan, pipeline, scope)
        if agents and settings.isolation == "none" and settings.policy != "serial":
            said = "isolation: none lets agents work in one directory; they then need policy: serial"
            self.reader.wrong(subplan.source.get("isolation") or subplan.source, said)
        self.conversations(subplan, pipeline, agents)
        self.size(subplan, pipeline, settings)

    def agents(self, subplan: Subplan, pipeline: Pipeline, scope: Scope) -> Iterator[tuple[int, Agent]]:
        """The agent of each step that has one, by the step's `id()`."""
        for step in self.steps(pipeline):
            if isinstance(step.body, AgentWork):
                agent = agent_of(step.body, scope.settings, self.plan.agents)
                if agent is not None:
                    yield id(step), agent
                else:
                    self.no_agent(subplan, pipeline, step, scope)

    def first_agent(self, subplan: Subplan, pipeline: Pipeline, scope: Scope) -> None:
        """Says so, once, where one of several agents was taken because it is the first."""
        name, origin = scope.find("agent")
        bodies = (step.body for step in self.steps(pipeline))
        if (
            origin.where == FIRST_AGENT
            and len(self.plan.agents) > 1
            and not self._told_first
            and any(isinstance(body, AgentWork) and body.agent is None for body in bodies)
        ):
            self._told_first = True
            said = f"no agent is named for the steps of this slice; {name!r} is taken, {FIRST_AGENT}"
            self.reader.warn(subplan.source, f"{said}; set agent: to choose")

    def no_agent(self, subplan: Subplan, pipeline: Pipeline, step: Step, scope: Scope) -> None:
        name, _ = scope.find("agent")
        node: Node = step.source if not pipeline.built_in else subplan.source
        known = [*self.plan.agents, *(a for a in ADAPTERS if a not in NEED_MORE)]
        if name is not None and (not isinstance(step.body, AgentWork) or step.body.agent is None):
            said = f"the setting agent is {name!r}, and there is no such agent{suggestion(name, known)}"
        elif isinstance(step.body, AgentWork) and step.body.agent is not None:
            return  # told where the step was checked
        else:
            found = (
                f"found here: {', '.join(self.programs)}"
                if self.programs
                else "no agent's command was found here"
            )
            said = f"step {step.id!r} needs an agent: set agent: to an entry of agents, or to an adapter; {found}"
        self.reader.wrong(node, said)

    def conversations(self, subplan: Subplan, pipeline: Pipeline, agents: Mapping[int, Agent]) -> None:
        """Two steps that may overlap cannot go on with one conversation, unless the agent can fork it."""
        order = flow(pipeline.steps)
        resuming = [list(self.resuming(step)) for step in pipeline.steps]
        for later, step in enumerate(pipeline.steps):
            for earlier in range(later):
                if order.has_ended(earlier, later) or not resuming[later] or not resuming[earlier]:
                    continue
                unable = [agents[id(one)] for one in resuming[later] + resuming[earlier] if id(one) in agents]
                for agent in unable:
                    if not ADAPTERS[agent.use].forks:
                        other = pipeline.steps[earlier].id
                        said = f"steps {other!r} and {step.id!r} can overlap and both resume a conversation, which"
                        node = place(step.source, "resume") if not pipeline.built_in else subplan.source
                        self.reader.wrong(node, f"{said} the agent {agent.name!r} ({agent.use}) cannot fork")
                        break

    def resuming(self, step: Step) -> Iterator[Step]:
        for one in self.inner(step):
            if isinstance(one.body, AgentWork) and one.body.resume:
                yield one

    def size(self, subplan: Subplan, pipeline: Pipeline, settings: Settings) -> None:
        unrolled = Unrolled(pipelines=self.plan.pipelines, retries=settings.retries, verifies=True)
        total = sum(runs for _, runs in islice(unrolled.runs(pipeline.steps), MOST_STEPS))
        if total > MOST_STEPS:
            said = f"with all its loops the pipeline could take {total:,} steps; allowed are {MOST_STEPS:,}"
            self.reader.wrong(subplan.source, f"{said}: lower max, max_retries or retries")

    def reads_prompt(self, pipeline: Pipeline) -> bool:
        ways = {id(pipeline), *(id(p) for p in self.nested(pipeline))}
        return any(("slice", "prompt") in self.names.get(way, ()) for way in ways)

    def nested(self, pipeline: Pipeline, depth: int = 0) -> Iterator[Pipeline]:
        for step in pipeline.steps:
            inner = self.plan.pipelines.get(step.body.pipeline) if isinstance(step.body, Nested) else None
            if inner is not None and depth <= len(self.plan.pipelines):
                yield inner
                yield from self.nested(inner, depth + 1)

    def steps(self, pipeline: Pipeline) -> Iterator[Step]:
        """All steps, those of nested pipelines included."""
        yield from pipeline.steps
        for inner in self.nested(pipeline):
            yield from inner.steps

    def inner(self, step: Step) -> Iterator[Step]:
        yield step
        if isinstance(step.body, Nested) and step.body.pipeline in self.plan.pipelines:
            yield from self.steps(self.plan.pipelines[step.body.pipeline])

    def unverified(self) -> None:
        outline = self.plan.outline
        groups = [
            row
            for row in range(1, len(outline.paths))
            if not outline.is_leaf(row) and outline.sizes[row] > 2 and not self.plan.subplans[row].verify  # noqa: PLR2004 - itself and one slice
        ]
        said = "so nothing checks the merged result of what is in"
        self.warn_of(groups, "group", "groups", f"no verify, {said} them")
        self.warn_of(self._bare, "slice", "slices", "no verify, so nothing checks what is done in them")

    def warn_of(self, rows: list[int], one: str, many: str, what: str) -> None:
        if rows:
            outline: Outline = self.plan.outline
            names = ", ".join(outline.paths[row] for row in rows[:5]) + (", …" if len(rows) > 5 else "")  # noqa: PLR2004
            said = f"1 {one} has" if len(rows) == 1 else f"{len(rows):,} {many} have"
            self.reader.warn(self.plan.subplans[rows[0]].source, f"{said} {what}: {names}")

    def unreachable_limits(self) -> None:
        """A limit above that of a group around it."""
        for row, subplan in enumerate(self.plan.subplans):
            own = subplan.settings.get("max_parallel")
            if row and own is not None and not self.plan.outline.is_leaf(row):
                around = self.plan.scopes[self.plan.outline.parents[row]].settings.max_parallel
                if own > around:
                    said = f"max_parallel is {own}, but around it at most {around} slices are under way"
                    self.reader.warn(place(subplan.source, "max_parallel"), said)

    def wrong(self, subplan: Subplan, key: str, message: str) -> None:
        self.reader.wrong(place(subplan.source, key), message)


def agent_of(work: AgentWork, settings: Settings, agents: Mapping[str, Agent]) -> Agent | None:
    """The agent that does a step; None if there is no such one."""
    name = work.agent or settings.agent
    if name is None:
        return None
    if name in agents:
        return agents[name]
    return Agent(name=name, use=name) if name in ADAPTERS and name not in NEED_MORE else None
