"""Checks that each slice can be done as written: its pipeline, with its settings, by agents that exist.

Slices with the same pipeline and the same settings give the same answers, so they are checked once. An error that
comes from one line of the file is reported once, at that line.
"""

from collections.abc import Hashable, Iterator, Mapping
from itertools import combinations, islice

from msgspec import Struct, field

from weft.plan.language.agent_programs import AGENT_PROGRAMS
from weft.plan.language.reader import Reader
from weft.plan.loader.money_check import never_affordable
from weft.plan.loader.steps_check import Catalog, hint, place, with_assumed_order
from weft.plan.model import Agent, AgentWork, Pipeline, Plan, Step, Subplan, Verify
from weft.plan.pipelines.flow import flow
from weft.plan.pipelines.hierarchy import inner_first, nested_in
from weft.plan.pipelines.unroll import MOST_STEPS, RunCounts
from weft.plan.results.result_types import is_unknown
from weft.plan.settings import Layer, Scope, Settings
from weft.plan.templates.parse import Path
from weft.plan.text.document import Node

FIRST_AGENT = "the first of the plan's agents"
MOST_NAMES = 5
"""A warning about many subplans names at most this many."""

Names = Mapping[int, frozenset[Path]]
"""The names that the templates of each pipeline read; the key is the pipeline's `id()`."""


class _PipelineTree(Struct, frozen=True):
    """A pipeline and all pipelines nested in it, each once."""

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

    def contains(self, body: type) -> bool:
        return any(isinstance(step.body, body) for _, step in self.steps())


class SlicesCheck(Struct):
    """Checks the slices of one plan, and reports errors and warnings to the reader."""

    plan: Plan
    catalog: Catalog
    reader: Reader
    names: Names
    programs: tuple[str, ...]
    """Programs of agents that are installed on this machine."""
    _trees: dict[int, _PipelineTree] = field(default_factory=dict[int, _PipelineTree])
    _handled: set[Hashable] = field(default_factory=set[Hashable])
    """Keys of what has been checked or reported, so that it happens once."""
    _unverified: list[int] = field(default_factory=list[int])
    """Slices with a verify step but no verify command."""
    _unchecked: list[int] = field(default_factory=list[int])
    """Slices in which nothing checks how an agent resolves a conflict."""

    def check(self) -> None:
        for row, subplan in enumerate(self.plan.subplans):
            self.check_agent(subplan)
            if self.plan.outline.is_leaf(row):
                self.slice(row, subplan)
        self.warn_unverified()
        self.unreachable_limits()

    def first_time(self, *key: Hashable) -> bool:
        """Returns whether this key is new, and remembers it."""
        new = key not in self._handled
        self._handled.add(key)
        return new

    # Each slice.

    def slice(self, row: int, subplan: Subplan) -> None:
        name = subplan.pipeline
        if subplan.steps is None and name not in self.plan.pipelines:
            if name is not None and "pipelines" not in self.catalog.unread:
                message = f"unknown pipeline {name!r}{hint(self.reader, name, list(self.plan.pipelines))}"
                self.reader.wrong(place(subplan.source, "pipeline"), message)
            return
        pipeline = self.plan.pipeline_of(row)
        tree = self.tree(pipeline)
        if tree.reads_prompt and "prompt" not in subplan.source.entries:
            clause = (
                "its pipeline reads" if pipeline.name is None else f"the pipeline {pipeline.name!r} reads"
            )
            self.reader.wrong(subplan.source, f"the slice needs a prompt: {clause} slice.prompt")
        if "verify" not in subplan.source.entries and tree.contains(Verify):
            self._unverified.append(row)
        elif "verify" not in subplan.source.entries and self.plan.scopes[row].settings.resolves:
            self._unchecked.append(row)
        # Ten thousand equal slices are checked once, by the identity of the two objects that they share.
        if self.first_time("work", id(pipeline), id(self.plan.scopes[row])):
            self.work(row, pipeline, tree)

    def tree(self, pipeline: Pipeline) -> _PipelineTree:
        """Returns the pipeline with all that are nested in it."""
        # Pipelines are compared by identity: they live as long as the plan, and equality would be slow.
        if id(pipeline) not in self._trees:
            inner = inner_first(pipeline.steps, self.plan.pipelines)
            pipelines = (pipeline, *(self.plan.pipelines[name] for name in inner))
            reads = any(("slice", "prompt") in self.names[id(part)] for part in pipelines)
            self._trees[id(pipeline)] = _PipelineTree(pipelines, reads)
        return self._trees[id(pipeline)]

    def work(self, row: int, pipeline: Pipeline, tree: _PipelineTree) -> None:
        """Checks the steps of a slice with its settings: agents, models, budget, conversations, size."""
        subplan, scope = self.plan.subplans[row], self.plan.scopes[row]
        agents: dict[int, Agent] = {}
        for owner, step, work in tree.agent_work():
            agent = agent_of(work, scope.settings, self.plan.agents)
            if agent is not None:
                agents[id(step)] = agent
                node = step.source if not owner.built_in else subplan.source
                self.no_model(node, f"step {step.id!r}", agent, work.model or scope.settings.model)
                if work.resume:
                    self.can_resume(step, agent)
                self.can_only_read(node, step, agent, scope)
                fault = never_affordable(self.plan, row, work, agent)
                if fault is not None and self.first_time("never affordable", id(step), fault):
                    self.reader.warn(node, f"step {step.id!r} {fault}")
            # An unknown agent that the step itself names is reported by `steps_check`.
            elif work.agent is None:
                node = step.source if not owner.built_in else subplan.source
                self.no_agent(node, f"step {step.id!r}", scope)
        self.resolver(row, scope)
        self.first_agent(subplan, tree, scope)
        self.one_directory(row, tree)
        for part in tree.pipelines if agents else ():
            self.conversations(subplan, part, agents)
        self.size(subplan, pipeline, scope.settings)

    # Agents.

    def is_unknown(self, agent: str) -> bool:
        return agent not in self.catalog.agents and "agents" not in self.catalog.unread

    def check_agent(self, subplan: Subplan) -> None:
        """Checks the agent that a subplan or the plan names for its slices."""
        name = subplan.settings.get("agent")
        if name is not None and self.is_unknown(name):
            message = f"unknown agent {name!r}{hint(self.reader, name, self.catalog.agents)}"
            self.reader.wrong(place(subplan.source, "agent"), message)

    def resolver(self, row: int, scope: Scope) -> None:
        """Checks that an agent can resolve conflicts, if a setting asks for it."""
        if not scope.settings.resolves:
            return
        agent = resolver_of(scope.settings, self.plan.agents)
        _, layer = scope.find("merge.resolve")
        node = self.node_of(layer, "merge", row)
        if agent is None:
            self.no_agent(node, "merge.resolve", scope)
        else:
            self.no_model(node, "merge.resolve", agent, scope.settings.model)

    def no_model(self, node: Node, subject: str, agent: Agent, model: str | None) -> None:
        """Reports, once for each agent, that no model is set for an agent that needs one."""
        if not AGENT_PROGRAMS[agent.use].needs_model or agent.model or model:
            return
        if self.first_time("no model", agent.name):
            message = f"{subject} needs a model: the agent {agent.name!r} ({agent.use}) has none of its own"
            self.reader.wrong(node, f"{message}; set model: in the agent, the step or the plan")

    def can_only_read(self, node: Node, step: Step, agent: Agent, scope: Scope) -> None:
        """Warns if nothing can detect that a read-only step changes files."""
        assert isinstance(step.body, AgentWork)
        # In a workspace of its own, the changes of a step are visible afterwards. In a shared directory only
        # the agent itself can refrain from changing files.
        if (
            not step.body.read_only
            or scope.settings.isolation != "none"
            or AGENT_PROGRAMS[agent.use].reads_only
        ):
            return
        if self.first_time("only reads", id(step), agent.use):
            why = f"the agent {agent.name!r} ({agent.use}) has no mode for reading"
            message = f"nothing keeps step {step.id!r} from changing files: {why}, and with isolation: none"
            self.reader.warn(node, f"{message} changes cannot be attributed to a step")

    def no_agent(self, node: Node, subject: str, scope: Scope) -> None:
        """Reports, once, that a step has no agent, or that a configuration or flag names an unknown agent."""
        name, layer = scope.find("agent")
        # `check_agent` reports the names that the plan itself sets, at their own lines.
        if layer.document is self.plan.document or "agents" in self.catalog.unread:
            return  # already reported, or the agents could not be read
        if name is not None:
            where = layer.origin("agent") or layer.where
            advice = hint(self.reader, name, self.catalog.agents)
            message = f"{subject} needs an agent: {name!r}, of {where}, does not exist{advice}"
        else:
            installed = [
                adapter.name for adapter in AGENT_PROGRAMS.values() if adapter.program in self.programs
            ]
            names = (
                f"{', '.join(installed)} (installed here)" if installed else "one that `weft agents` lists"
            )
            message = f"{subject} needs an agent: set agent: to {names}, or to an entry of agents"
            message += "" if installed else "; no agent's program is on the PATH"
        if self.first_time("no agent", name):
            self.reader.wrong(node, message)

    def first_agent(self, subplan: Subplan, tree: _PipelineTree, scope: Scope) -> None:
        """Warns, once, that the first of several agents is used because none is named."""
        name, layer = scope.find("agent")
        if layer.where != FIRST_AGENT or len(self.plan.agents) == 1:
            return
        if any(work.agent is None for _, _, work in tree.agent_work()) and self.first_time(FIRST_AGENT):
            message = f"no agent is named for the steps of this slice; Weft uses {name!r}, {FIRST_AGENT}"
            self.reader.warn(subplan.source, f"{message}; set agent: to choose")

    def one_directory(self, row: int, tree: _PipelineTree) -> None:
        """Checks that agents that share a directory run one after another, under one `policy: serial`."""
        settings = self.plan.scopes[row].settings
        if settings.isolation != "none" or not tree.contains(AgentWork):
            return
        shared = "isolation: none lets agents work in one directory"
        if settings.policy != "serial":
            _, layer = self.plan.scopes[row].find("isolation")
            if self.first_time("isolation", id(layer)):
                message = f"{shared}; they then need policy: serial"
                self.reader.wrong(self.node_of(layer, "isolation", row), message)
            return
        group = self.serial_root(row)
        # The first group that runs serially is fine. A second one would run at the same time as it.
        if self.first_time("turn", group) and not self.first_time("a turn"):
            _, layer = self.plan.scopes[group].find("policy")
            limited = f"{self.plan.outline.paths[group]!r} is serial only within itself"
            message = f"{shared}, and {limited}; set policy: serial for the whole plan"
            self.reader.wrong(self.node_of(layer, "policy", row), message)

    def serial_root(self, row: int) -> int:
        """Returns the outermost group around a row that is reached through serial groups only."""
        parent = self.plan.outline.parents[row]
        while row and self.plan.scopes[parent].settings.policy == "serial":
            row, parent = parent, self.plan.outline.parents[parent]
        return row

    def node_of(self, layer: Layer, setting: str, row: int) -> Node:
        """Returns where the setting is written; the slice itself if that is in another file."""
        source = self.plan.subplans[row].source
        if layer.document is not self.plan.document or layer.table is None:
            return source
        return layer.table.get(setting) or source

    def can_resume(self, step: Step, agent: Agent) -> None:
        """Reports a step that resumes a conversation with an agent that cannot."""
        if not AGENT_PROGRAMS[agent.use].resumes and self.first_time("can resume", id(step), agent.name):
            subject = f"the agent {agent.name!r} ({agent.use})"
            message = f"{subject} cannot resume a conversation; remove resume from step {step.id!r}"
            self.reader.wrong(place(step.source, "resume"), f"{message}, or name another agent")

    def conversations(self, subplan: Subplan, pipeline: Pipeline, agents: Mapping[int, Agent]) -> None:
        """Reports two steps that may overlap and continue one conversation, unless the agent can fork it."""
        resuming = {number: self.resuming_agents(step, agents) for number, step in enumerate(pipeline.steps)}
        numbers = [number for number, step_agents in resuming.items() if step_agents]
        order = flow(with_assumed_order(pipeline.steps)) if len(numbers) > 1 else None
        # Steps that certainly run one after the other can share a conversation.
        for earlier, later in combinations(numbers, 2):
            if order is None or order.has_ended(earlier, later):
                continue
            unable = [
                agent for agent in resuming[earlier] + resuming[later] if not AGENT_PROGRAMS[agent.use].forks
            ]
            if unable:
                a, b = pipeline.steps[earlier], pipeline.steps[later]
                reason = f"the agent {unable[0].name!r} ({unable[0].use}) cannot fork"
                message = (
                    f"steps {a.id!r} and {b.id!r} can overlap and both resume a conversation, which {reason}"
                )
                if self.first_time("resume", id(a), id(b)):
                    node = subplan.source if pipeline.built_in else place(b.source, "resume")
                    self.reader.wrong(node, message)

    def resuming_agents(self, step: Step, agents: Mapping[int, Agent]) -> list[Agent]:
        """Returns the agents that continue a conversation in a step, or in the pipeline nested in it."""
        steps = [step]
        for _, name in nested_in([step], self.plan.pipelines):
            steps += [inner for _, inner in self.tree(self.plan.pipelines[name]).steps()]
        return [
            agents[id(step)]
            for step in steps
            if isinstance(step.body, AgentWork) and step.body.resume and id(step) in agents
        ]

    def size(self, subplan: Subplan, pipeline: Pipeline, settings: Settings) -> None:
        if any(is_unknown(step, self.plan.pipelines) for _, step in self.tree(pipeline).steps()):
            return
        # `verifies=True`, as a slice may get a verify later; the limit must not depend on that.
        unrolled = RunCounts(pipelines=self.plan.pipelines, retries=settings.retries, verifies=True)
        total = unrolled.size(pipeline.steps)
        if total > MOST_STEPS and self.first_time("size", id(pipeline)):
            count = f"{total:,}" if total < 10**12 else "more than 10^12"
            message = f"with all its loops the pipeline could take {count} steps; the limit is {MOST_STEPS:,}"
            self.reader.wrong(subplan.source, f"{message}: lower max, max_retries or retries")

    # All of them together.

    def warn_unverified(self) -> None:
        """Warns about groups and slices without any check of their results."""
        outline = self.plan.outline
        # A group with one child has nothing to merge, so its own verify would add nothing.
        groups = [
            row
            for row in range(1, len(outline.paths))
            if len(list(islice(outline.children(row), 2))) > 1
            and "verify" not in self.plan.subplans[row].source.entries
        ]
        self.warn_of(groups, "group", "so nothing checks the merged result of what is in")
        self.warn_of(self._unverified, "slice", "so nothing checks what is done in")
        self.warn_of(self._unchecked, "slice", "so nothing checks how an agent resolves the conflicts of")

    def warn_of(self, rows: list[int], noun: str, consequence: str) -> None:
        """Warns once about all these rows."""
        if rows:
            names = ", ".join(self.plan.outline.paths[row] for row in rows[:MOST_NAMES])
            more = ", …" if len(rows) > MOST_NAMES else ""
            subject, pronoun = (
                (f"1 {noun} has", "it") if len(rows) == 1 else (f"{len(rows):,} {noun}s have", "them")
            )
            source = self.plan.subplans[rows[0]].source
            self.reader.warn(source, f"{subject} no verify, {consequence} {pronoun}: {names}{more}")

    def unreachable_limits(self) -> None:
        """Warns about a `max_parallel` above that of a group around it."""
        for row, subplan in enumerate(self.plan.subplans):
            if row and "max_parallel" in subplan.settings and not self.plan.outline.is_leaf(row):
                own = self.plan.scopes[row].settings.max_parallel
                outer = self.plan.scopes[self.plan.outline.parents[row]].settings.max_parallel
                if own > outer:
                    message = f"max_parallel {own} has no effect: the group around it allows {outer}"
                    self.reader.warn(place(subplan.source, "max_parallel"), message)


def agent_of(work: AgentWork, settings: Settings, agents: Mapping[str, Agent]) -> Agent | None:
    """Returns the agent of a step; None if there is no such agent."""
    return _find_agent(work.agent or settings.agent, agents)


def resolver_of(settings: Settings, agents: Mapping[str, Agent]) -> Agent | None:
    """Returns the agent that resolves conflicts; None if there is no such agent."""
    return _find_agent(settings.agent, agents)


def _find_agent(name: str | None, agents: Mapping[str, Agent]) -> Agent | None:
    if name is None:
        return None
    if name in agents:
        return agents[name]
    return (
        Agent(name=name, use=name) if name in AGENT_PROGRAMS and not AGENT_PROGRAMS[name].requires else None
    )
