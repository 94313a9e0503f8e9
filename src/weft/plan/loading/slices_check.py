"""Whether each slice can be done the way it says: its pipeline, with its settings, by agents that exist.

Slices that have the same pipeline and the same settings are alike in all this, so it is decided once for all of
them. What comes from one line of the file is told once, at that line.
"""

from collections.abc import Hashable, Iterator, Mapping
from itertools import combinations, islice

from msgspec import Struct, field

from weft.plan.language.adapters import ADAPTERS
from weft.plan.language.reader import Reader
from weft.plan.loading.money_check import too_dear
from weft.plan.loading.steps_check import Catalog, hint, in_doubt, place
from weft.plan.model import Agent, AgentWork, Pipeline, Plan, Step, Subplan, Verify
from weft.plan.pipelines.flow import flow
from weft.plan.pipelines.nesting import inner_first, nested_in
from weft.plan.pipelines.unroll import MOST_STEPS, Unrolled
from weft.plan.results.known import is_unknown
from weft.plan.settings import Layer, Scope, Settings
from weft.plan.templates.parse import Path
from weft.plan.text.document import Node

NEED_MORE = frozenset({"acp", "command", "scripted"})
"""Adapters that cannot be used by their name alone: they need a command or a file."""

FIRST_AGENT = "the first of the plan's agents"
MOST_NAMES = 5
"""So many subplans are named in a warning about many."""

Names = Mapping[int, frozenset[Path]]
"""For each pipeline, by `id()`: the names its own templates read."""


class _Way(Struct, frozen=True):
    """A pipeline with all that stand in it, each once."""

    pipelines: tuple[Pipeline, ...]
    reads_prompt: bool

    def steps(self) -> Iterator[tuple[Pipeline, Step]]:
        for pipeline in self.pipelines:
            for step in pipeline.steps:
                yield pipeline, step

    def agent_work(self) -> Iterator[tuple[Pipeline, Step, AgentWork]]:
        for pipeline, step in self.steps():
            if isinstance(step.body, AgentWork):
                yield pipeline, step, step.body

    def has(self, body: type) -> bool:
        return any(isinstance(step.body, body) for _, step in self.steps())


class SlicesCheck(Struct):
    plan: Plan
    catalog: Catalog
    reader: Reader
    names: Names
    programs: tuple[str, ...]
    """Agents' command lines found on this machine."""
    _ways: dict[int, _Way] = field(default_factory=dict[int, _Way])
    _done: set[Hashable] = field(default_factory=set[Hashable])
    """What has been decided, or told, and need not be again."""
    _unverified: list[int] = field(default_factory=list[int])
    _unchecked: list[int] = field(default_factory=list[int])
    """Slices of which nothing would check what an agent makes of a conflict."""

    def check(self) -> None:
        for row, subplan in enumerate(self.plan.subplans):
            self.named_agent(subplan)
            if self.plan.outline.is_leaf(row):
                self.slice(row, subplan)
        self.unverified()
        self.unreachable_limits()

    def first_time(self, *what: Hashable) -> bool:
        new = what not in self._done
        self._done.add(what)
        return new

    # Each slice.

    def slice(self, row: int, subplan: Subplan) -> None:
        name = subplan.pipeline
        if subplan.steps is None and name not in self.plan.pipelines:
            if name is not None and "pipelines" not in self.catalog.unread:
                said = f"there is no pipeline {name!r}{hint(self.reader, name, list(self.plan.pipelines))}"
                self.reader.wrong(place(subplan.source, "pipeline"), said)
            return
        pipeline = self.plan.pipeline_of(row)
        way = self.way(pipeline)
        if way.reads_prompt and "prompt" not in subplan.source.entries:
            its = "its pipeline reads" if pipeline.name is None else f"the pipeline {pipeline.name!r} reads"
            self.reader.wrong(subplan.source, f"the slice needs a prompt: {its} slice.prompt")
        if "verify" not in subplan.source.entries and way.has(Verify):
            self._unverified.append(row)
        elif "verify" not in subplan.source.entries and self.plan.scopes[row].settings.resolves:
            self._unchecked.append(row)
        if self.first_time("way", id(pipeline), id(self.plan.scopes[row])):
            self.done_this_way(row, pipeline, way)

    def way(self, pipeline: Pipeline) -> _Way:
        if id(pipeline) not in self._ways:
            inner = inner_first(pipeline.steps, self.plan.pipelines)
            pipelines = (pipeline, *(self.plan.pipelines[name] for name in inner))
            reads = any(("slice", "prompt") in self.names[id(one)] for one in pipelines)
            self._ways[id(pipeline)] = _Way(pipelines, reads)
        return self._ways[id(pipeline)]

    def done_this_way(self, row: int, pipeline: Pipeline, way: _Way) -> None:
        subplan, scope = self.plan.subplans[row], self.plan.scopes[row]
        agents: dict[int, Agent] = {}
        for owner, step, work in way.agent_work():
            agent = agent_of(work, scope.settings, self.plan.agents)
            if agent is not None:
                agents[id(step)] = agent
                node = step.source if not owner.built_in else subplan.source
                self.no_model(node, f"step {step.id!r}", agent, work.model or scope.settings.model)
                if work.resume:
                    self.can_resume(step, agent)
                self.can_only_read(node, step, agent, scope)
                said = too_dear(self.plan, row, work, agent)
                if said is not None and self.first_time("too dear", id(step), said):
                    self.reader.warn(node, f"step {step.id!r} {said}")
            elif work.agent is None:
                node = step.source if not owner.built_in else subplan.source
                self.no_agent(node, f"step {step.id!r}", scope)
        self.resolver(row, scope)
        self.first_agent(subplan, way, scope)
        self.one_directory(row, way)
        for one in way.pipelines if agents else ():
            self.conversations(subplan, one, agents)
        self.size(subplan, pipeline, scope.settings)

    # Agents.

    def is_unknown(self, agent: str) -> bool:
        return agent not in self.catalog.agents and "agents" not in self.catalog.unread

    def named_agent(self, subplan: Subplan) -> None:
        """The agent that a subplan, or the plan, names for what is in it."""
        name = subplan.settings.get("agent")
        if name is not None and self.is_unknown(name):
            said = f"there is no agent {name!r}{hint(self.reader, name, self.catalog.agents)}"
            self.reader.wrong(place(subplan.source, "agent"), said)

    def resolver(self, row: int, scope: Scope) -> None:
        if not scope.settings.resolves:
            return
        agent = resolver_of(scope.settings, self.plan.agents)
        _, layer = scope.find("merge.resolve")
        node = self.node_of(layer, "merge", row)
        if agent is None:
            self.no_agent(node, "merge.resolve", scope)
        else:
            self.no_model(node, "merge.resolve", agent, scope.settings.model)

    def no_model(self, node: Node, who: str, agent: Agent, model: str | None) -> None:
        """Tells, once for an agent, that none is named and that it has none of its own."""
        if not ADAPTERS[agent.use].needs_model or agent.model or model:
            return
        if self.first_time("no model", agent.name):
            said = f"{who} needs a model: the agent {agent.name!r} ({agent.use}) has none of its own"
            self.reader.wrong(node, f"{said}; set model: of the agent, of the step or of the plan")

    def can_only_read(self, node: Node, step: Step, agent: Agent, scope: Scope) -> None:
        """In a directory where anybody works it cannot be seen whether a step has changed something."""
        assert isinstance(step.body, AgentWork)
        if not step.body.read_only or scope.settings.isolation != "none" or ADAPTERS[agent.use].reads_only:
            return
        if self.first_time("only reads", id(step), agent.use):
            why = f"the agent {agent.name!r} ({agent.use}) has no mode for reading"
            said = f"nothing keeps step {step.id!r} from changing files: {why}, and with isolation: none"
            self.reader.warn(node, f"{said} nobody can see who changed what")

    def no_agent(self, node: Node, who: str, scope: Scope) -> None:
        """Tells, once, that no agent is named for a step, or by a configuration or flag one that is unknown."""
        name, layer = scope.find("agent")
        if layer.document is self.plan.document or "agents" in self.catalog.unread:
            return  # told, or not known
        if name is not None:
            where = layer.origin("agent") or layer.where
            known = hint(self.reader, name, self.catalog.agents)
            message = f"{who} needs an agent: {name!r}, of {where}, does not exist{known}"
        else:
            installed = [adapter.name for adapter in ADAPTERS.values() if adapter.program in self.programs]
            names = (
                f"{', '.join(installed)} (installed here)" if installed else "one that `weft agents` lists"
            )
            message = f"{who} needs an agent: set agent: to {names}, or to an entry of agents"
            message += "" if installed else "; no agent's program is on the PATH"
        if self.first_time("no agent", name):
            self.reader.wrong(node, message)

    def first_agent(self, subplan: Subplan, way: _Way, scope: Scope) -> None:
        """Says so, once, where one of several agents was taken because it is the first."""
        name, layer = scope.find("agent")
        if layer.where != FIRST_AGENT or len(self.plan.agents) == 1:
            return
        if any(work.agent is None for _, _, work in way.agent_work()) and self.first_time(FIRST_AGENT):
            said = f"no agent is named for the steps of this slice; {name!r} is taken, {FIRST_AGENT}"
            self.reader.warn(subplan.source, f"{said}; set agent: to choose")

    def one_directory(self, row: int, way: _Way) -> None:
        """Agents that share a directory take turns, all of them the same turn."""
        settings = self.plan.scopes[row].settings
        if settings.isolation != "none" or not way.has(AgentWork):
            return
        shared = "isolation: none lets agents work in one directory"
        if settings.policy != "serial":
            _, layer = self.plan.scopes[row].find("isolation")
            if self.first_time("isolation", id(layer)):
                said = f"{shared}; they then need policy: serial"
                self.reader.wrong(self.node_of(layer, "isolation", row), said)
            return
        turn = self.turn(row)
        if self.first_time("turn", turn) and not self.first_time("a turn"):
            _, layer = self.plan.scopes[turn].find("policy")
            alone = f"{self.plan.outline.paths[turn]!r} is serial only within itself"
            said = f"{shared}, and {alone}; set policy: serial for the whole plan"
            self.reader.wrong(self.node_of(layer, "policy", row), said)

    def turn(self, row: int) -> int:
        """The outermost of the groups around a row that are serial without a gap."""
        parent = self.plan.outline.parents[row]
        while row and self.plan.scopes[parent].settings.policy == "serial":
            row, parent = parent, self.plan.outline.parents[parent]
        return row

    def node_of(self, layer: Layer, setting: str, row: int) -> Node:
        """Where the setting is written; the slice itself if that is in another file."""
        source = self.plan.subplans[row].source
        if layer.document is not self.plan.document or layer.table is None:
            return source
        return layer.table.get(setting) or source

    def can_resume(self, step: Step, agent: Agent) -> None:
        if not ADAPTERS[agent.use].resumes and self.first_time("can resume", id(step), agent.name):
            who = f"the agent {agent.name!r} ({agent.use})"
            said = f"{who} cannot resume a conversation; take resume out of step {step.id!r}"
            self.reader.wrong(place(step.source, "resume"), f"{said}, or name another agent")

    def conversations(self, subplan: Subplan, pipeline: Pipeline, agents: Mapping[int, Agent]) -> None:
        """Two steps that may overlap cannot go on with one conversation, unless the agent can fork it."""
        resuming = {number: self.resuming(step, agents) for number, step in enumerate(pipeline.steps)}
        there = [number for number, found in resuming.items() if found]
        order = flow(in_doubt(pipeline.steps)) if len(there) > 1 else None
        for earlier, later in combinations(there, 2):
            if order is None or order.has_ended(earlier, later):
                continue
            unable = [one for one in resuming[earlier] + resuming[later] if not ADAPTERS[one.use].forks]
            if unable:
                a, b = pipeline.steps[earlier], pipeline.steps[later]
                agent = f"the agent {unable[0].name!r} ({unable[0].use}) cannot fork"
                said = (
                    f"steps {a.id!r} and {b.id!r} can overlap and both resume a conversation, which {agent}"
                )
                if self.first_time("resume", id(a), id(b)):
                    node = subplan.source if pipeline.built_in else place(b.source, "resume")
                    self.reader.wrong(node, said)

    def resuming(self, step: Step, agents: Mapping[int, Agent]) -> list[Agent]:
        """The agents that go on with a conversation, in a step or in the pipeline that it is."""
        steps = [step]
        for _, name in nested_in([step], self.plan.pipelines):
            steps += [one for _, one in self.way(self.plan.pipelines[name]).steps()]
        return [
            agents[id(one)]
            for one in steps
            if isinstance(one.body, AgentWork) and one.body.resume and id(one) in agents
        ]

    def size(self, subplan: Subplan, pipeline: Pipeline, settings: Settings) -> None:
        if any(is_unknown(step, self.plan.pipelines) for _, step in self.way(pipeline).steps()):
            return
        unrolled = Unrolled(pipelines=self.plan.pipelines, retries=settings.retries, verifies=True)
        total = unrolled.size(pipeline.steps)
        if total > MOST_STEPS and self.first_time("size", id(pipeline)):
            many = f"{total:,}" if total < 10**12 else "more than 10^12"
            said = f"with all its loops the pipeline could take {many} steps; allowed are {MOST_STEPS:,}"
            self.reader.wrong(subplan.source, f"{said}: lower max, max_retries or retries")

    # All of them together.

    def unverified(self) -> None:
        outline = self.plan.outline
        groups = [
            row
            for row in range(1, len(outline.paths))
            if len(list(islice(outline.children(row), 2))) > 1
            and "verify" not in self.plan.subplans[row].source.entries
        ]
        self.warn_of(groups, "group", "so nothing checks the merged result of what is in")
        self.warn_of(self._unverified, "slice", "so nothing checks what is done in")
        self.warn_of(self._unchecked, "slice", "so nothing checks how an agent resolves the conflicts of")

    def warn_of(self, rows: list[int], what: str, consequence: str) -> None:
        if rows:
            names = ", ".join(self.plan.outline.paths[row] for row in rows[:MOST_NAMES])
            more = ", …" if len(rows) > MOST_NAMES else ""
            said, them = (
                (f"1 {what} has", "it") if len(rows) == 1 else (f"{len(rows):,} {what}s have", "them")
            )
            source = self.plan.subplans[rows[0]].source
            self.reader.warn(source, f"{said} no verify, {consequence} {them}: {names}{more}")

    def unreachable_limits(self) -> None:
        """A limit above that of a group around it."""
        for row, subplan in enumerate(self.plan.subplans):
            if row and "max_parallel" in subplan.settings and not self.plan.outline.is_leaf(row):
                own = self.plan.scopes[row].settings.max_parallel
                around = self.plan.scopes[self.plan.outline.parents[row]].settings.max_parallel
                if own > around:
                    said = f"max_parallel is {own}, but around it at most {around} slices are under way"
                    self.reader.warn(place(subplan.source, "max_parallel"), said)


def agent_of(work: AgentWork, settings: Settings, agents: Mapping[str, Agent]) -> Agent | None:
    """The agent that does a step; None if there is no such one."""
    return _named(work.agent or settings.agent, agents)


def resolver_of(settings: Settings, agents: Mapping[str, Agent]) -> Agent | None:
    """The agent that resolves conflicts; None if there is no such one."""
    return _named(settings.agent, agents)


def _named(name: str | None, agents: Mapping[str, Agent]) -> Agent | None:
    if name is None:
        return None
    if name in agents:
        return agents[name]
    return Agent(name=name, use=name) if name in ADAPTERS and name not in NEED_MORE else None
