"""Checks the hosts of a plan or a configuration, and that slices and steps can run where they are to run.

What only works on this machine is an error for a slice that may be placed elsewhere: a workspace without a branch,
because work travels as commits, and a sandbox.
"""

from collections.abc import Hashable, Iterator

from msgspec import Struct, field

from weft.plan.hosts import LOCAL, HostChoice
from weft.plan.language.hosts import CARRIERS
from weft.plan.language.reader import Reader
from weft.plan.language.records import Values
from weft.plan.loader.slices_check import agent_of
from weft.plan.loader.steps_check import hint, nodes_of, place
from weft.plan.model import AgentWork, Nested, Pipeline, Plan, RunCommand, Step, Verify
from weft.plan.placement import all_steps
from weft.plan.sandbox import SandboxParts
from weft.plan.settings import Layer, Scope
from weft.plan.text.document import Node, Scalar, Table

_EXAMPLE = "define it, as in hosts: {near: {use: ssh, machine: big3}}"


def check_entries(values: Values, reader: Reader) -> None:
    """Reports an entry of `hosts` that is neither this machine nor names its carrier."""
    hosts = values.table.get("hosts")
    for name, (node, entry) in hosts.entries.items() if isinstance(hosts, Table) else ():
        if not isinstance(entry, Table):
            continue  # already reported
        use = entry.get("use")
        is_local = use is None or (isinstance(use, Scalar) and use.text == LOCAL)
        if is_local and name != LOCAL:
            carriers = f"{', '.join(CARRIERS[:-1])} or {CARRIERS[-1]}"
            message = f"the host {name!r} needs use: {carriers}; only {LOCAL!r} is this machine"
            reader.wrong(node if use is None else use, message)
        elif use is not None and not is_local and name == LOCAL:
            reader.wrong(use, f"the host {LOCAL!r} is this machine; give another name to one with a carrier")


class HostsCheck(Struct):
    """Checks the values of `host`, and what the slices and steps need there."""

    plan: Plan
    reader: Reader
    knows_hosts: bool
    """Whether the plan's own hosts could be read."""
    _handled: set[Hashable] = field(default_factory=set[Hashable])

    def check(self) -> None:
        if not self.knows_hosts:
            return
        for source, choice in self.choices():
            self.choice(source, choice)
        for row, scope in enumerate(self.plan.scopes):
            if self.plan.outline.is_leaf(row):
                self.slice(row, scope)

    def first_time(self, *key: Hashable) -> bool:
        new = key not in self._handled
        self._handled.add(key)
        return new

    # Names and labels.

    def choices(self) -> Iterator[tuple[Table, HostChoice]]:
        """Yields each value of `host` in the plan, with the mapping that has it."""
        for subplan in self.plan.subplans:
            if "host" in subplan.settings:
                yield subplan.source, subplan.settings["host"]
        for step in all_steps(self.plan):
            if step.host is not None:
                yield step.source, step.host

    def choice(self, source: Table, choice: HostChoice) -> None:
        """Checks a value of `host` in the plan."""
        node = place(source, "host")
        nodes = nodes_of(source, "host") or [node]
        for name in choice.names:
            if not self.is_host(name):
                at = next((at for at in nodes if isinstance(at, Scalar) and at.text == name), node)
                self.reader.wrong(at, self.unknown(name))
        if choice.labels and not choice.candidates(self.plan.hosts):
            self.reader.wrong(place(source, "host", "labels"), self.without_labels(choice))

    def is_host(self, name: str) -> bool:
        return name == LOCAL or name in self.plan.hosts

    def unknown(self, name: str) -> str:
        names = [*self.plan.hosts, *(() if LOCAL in self.plan.hosts else (LOCAL,))]
        advice = hint(self.reader, name, names) if self.plan.hosts else f"; {_EXAMPLE}"
        return f"unknown host {name!r}{advice}"

    def without_labels(self, choice: HostChoice) -> str:
        labels = [
            f"{name}: {', '.join(host.labels)}" for name, host in self.plan.hosts.items() if host.labels
        ]
        there = f"the hosts with labels are {'; '.join(labels)}" if labels else "no host has labels"
        noun = "the label" if len(choice.labels) == 1 else "all of the labels"
        return f"no host has {noun} {', '.join(choice.labels)}; {there}"

    # What runs there.

    def slice(self, row: int, scope: Scope) -> None:
        subplan = self.plan.subplans[row]
        if subplan.steps is None and subplan.pipeline not in self.plan.pipelines:
            return  # already reported
        pipeline = self.plan.pipeline_of(row)
        # Equal slices share these two objects, so ten thousand of them are checked once.
        if not self.first_time("slice", id(pipeline), id(scope)):
            return
        choice, layer = scope.find("host")
        if layer.document is not self.plan.document and self.of_elsewhere(row, choice, layer):
            return
        candidates = choice.candidates(self.plan.hosts)
        if any(map(self.is_far, candidates)):
            self.workspace(row, scope, layer)
        for step in self.steps(pipeline):
            self.step(row, scope, step, candidates)

    def of_elsewhere(self, row: int, choice: HostChoice, layer: Layer) -> bool:
        """Reports a host of a configuration, variable or flag that does not exist; returns whether it did."""
        unknown = [name for name in choice.names if not self.is_host(name)]
        if not unknown and choice.candidates(self.plan.hosts):
            return False
        if self.first_time("elsewhere", id(layer)):
            message = self.unknown(unknown[0]) if unknown else self.without_labels(choice)
            where = layer.origin("host") or layer.where
            self.reader.wrong(self.plan.subplans[row].source, f"host, of {where}: {message}")
        return True

    def is_far(self, name: str) -> bool:
        host = self.plan.hosts.get(name)
        return host is not None and not host.is_local

    def workspace(self, row: int, scope: Scope, layer: Layer) -> None:
        """Reports a workspace that cannot be on another machine, and warns about links."""
        settings = scope.settings
        node = self.node_of(layer, row)
        if not settings.has_branch and self.first_time("isolation", id(layer), settings.isolation):
            message = (
                f"a slice with isolation: {settings.isolation} has no branch, so it stays on this machine"
            )
            self.reader.wrong(node, f"{message}; set host: {LOCAL}, or isolation: worktree")
        if settings.link and self.first_time("link", id(layer), settings.link):
            message = "link has no effect on other machines, to which only what copy names travels"
            self.reader.warn(node, f"{message}: {', '.join(settings.link)}")

    def step(self, row: int, scope: Scope, step: Step, candidates: tuple[str, ...]) -> None:
        """Reports a step with a sandbox, or without a branch, that may run on another machine."""
        hosts = candidates if step.host is None else step.host.candidates(self.plan.hosts)
        far = next(filter(self.is_far, hosts), None)
        if far is None or not isinstance(step.body, AgentWork | RunCommand | Verify):
            return
        node = self.plan.subplans[row].source if step.host is None else place(step.source, "host")
        if self.has_sandbox(scope, step) and self.first_time("sandbox", id(step), id(node)):
            message = f"step {step.id!r} has a sandbox, which there is only on this machine, not on {far!r}"
            self.reader.wrong(node, f"{message}; set host: {LOCAL} or sandbox: none")
        if step.host is not None and not scope.settings.has_branch and self.first_time("step", id(step)):
            message = f"with isolation: {scope.settings.isolation} step {step.id!r} stays on this machine"
            self.reader.wrong(node, f"{message}; remove host, or set isolation: worktree")

    def has_sandbox(self, scope: Scope, step: Step) -> bool:
        use: SandboxParts = {"use": scope.settings.sandbox_use}
        agent = None
        if isinstance(step.body, AgentWork):
            agent = agent_of(step.body, scope.settings, self.plan.agents)
        of_agent = {} if agent is None else agent.sandbox or {}
        return bool({**use, **of_agent, **(step.sandbox or {})}["use"] != "none")

    def steps(self, pipeline: Pipeline) -> Iterator[Step]:
        """Yields the steps of a pipeline and of those nested in it."""
        waiting = [pipeline]
        for current in waiting:  # grows while it is walked; pipelines are free of cycles
            for step in current.steps:
                yield step
                if isinstance(step.body, Nested) and step.body.pipeline in self.plan.pipelines:
                    inner = self.plan.pipelines[step.body.pipeline]
                    if not any(inner is known for known in waiting):
                        waiting.append(inner)

    def node_of(self, layer: Layer, row: int) -> Node:
        """Returns where the setting is written; the slice itself if that is in another file."""
        source = self.plan.subplans[row].source
        if layer.document is not self.plan.document or layer.table is None:
            return source
        return layer.table.get("host") or source
