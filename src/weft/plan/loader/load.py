"""Loads a plan from its text, or reports everything that is wrong with it.

Loading proceeds from the parts to the whole: the document, keys and values, then references, order, pipelines,
templates and slices. An error in one stage does not stop the next, so the user sees all errors at once. Only text
that is not YAML stops at the first error.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from weft.plan.hosts import HostSpec
from weft.plan.language.agent_programs import AGENT_PROGRAMS
from weft.plan.language.reader import BAD, Reader
from weft.plan.language.records import Values
from weft.plan.language.tables import CONFIG, PLAN
from weft.plan.loader import build
from weft.plan.loader.braces_check import check_braces
from weft.plan.loader.built_in import built_in_pipelines
from weft.plan.loader.hosts_check import HostsCheck, check_entries
from weft.plan.loader.rows import read_rows
from weft.plan.loader.slices_check import FIRST_AGENT, Names, SlicesCheck
from weft.plan.loader.steps_check import Catalog, check_steps, place
from weft.plan.loader.template_check import TemplatesCheck
from weft.plan.model import Agent, Pipeline, Plan, Subplan
from weft.plan.notify import Notify
from weft.plan.pipelines.hierarchy import nesting_faults, without_steps
from weft.plan.pipelines.unroll import MOST_STEPS
from weft.plan.prices import Price
from weft.plan.settings import Layer, Scope, layer, own_settings
from weft.plan.templates.parse import Path
from weft.plan.text.document import LIMITS, DocumentLimits, Items, Node, Table, read_document
from weft.plan.text.problems import MOST_PROBLEMS, PlanError, Problem, Severity


class Config(Struct, frozen=True, kw_only=True):
    """A configuration file: settings and agents for many plans."""

    layer: Layer
    agents: dict[str, Agent]
    notify: tuple[Notify, ...] | None = None
    """Whom to notify of what happens in runs; None if the file does not say."""
    prices: Mapping[str, Price] = {}
    hosts: Mapping[str, HostSpec] = {}


class Surroundings(Struct, frozen=True, kw_only=True):
    """What loading depends on outside the text of the plan."""

    git: bool = True
    """Whether the plan is in a git repository."""
    programs: tuple[str, ...] = ()
    """Programs of agents that are installed."""


def read_config(text: str, file: str, where: str) -> Config:
    """Returns a configuration; raises `PlanError`. An empty file, or one with only comments, sets nothing."""
    # `weft init` writes a configuration in which everything may be commented out; to YAML that is not a mapping
    # but nothing.
    if all(line.partition("#")[0].strip("\ufeff \t") in {"", "---"} for line in text.splitlines()):
        return Config(layer=Layer(where, {}), agents={})
    document = read_document(text, file)
    reader = Reader(document)
    values = CONFIG.read(document.root, reader, "the configuration")
    if values is not BAD and "worktrees" in values.by_key:
        check_worktrees(place(values.table, "worktrees"), values.by_key["worktrees"], reader)
    if values is not BAD:
        check_entries(values, reader)
    _raise_errors(reader)
    return Config(
        layer=layer(where, document, values),
        agents=build.agents(values),
        notify=build.notify(values),
        prices=build.prices(values),
        hosts=build.hosts(values),
    )


def check_worktrees(node: Node, template: str, reader: Reader) -> None:
    """Checks the template of a `worktrees` setting that is not part of a plan."""
    # Only the plan knows which environment variables templates may read, so those are not checked.
    catalog = Catalog(
        pipelines={}, pools={}, agents=(), env_allow=frozenset(), unread=frozenset({"env_allow"})
    )
    TemplatesCheck(catalog, reader).check_place(node, template)


def load_plan(
    text: str,
    file: str = "weft.yaml",
    *,
    configs: Sequence[Config] = (),
    flags: Layer | None = None,
    surroundings: Surroundings = Surroundings(),  # noqa: B008 - frozen
    limits: DocumentLimits = LIMITS,
) -> Plan:
    """Returns the plan in this text; raises `PlanError` with all errors.

    `configs` are the configurations in force, the nearest first: the environment's, the project's, the user's.
    """
    document = read_document(text, file, limits=limits)
    reader = Reader(document)
    # Each stage reports its errors to the same reader, so that one look at it decides at the end.
    values = PLAN.read(document.root, reader, "the plan")
    if values is BAD:
        _raise_errors(reader)
    loader = _Loader(values, reader, configs, flags, surroundings)
    plan = loader.plan()
    # Also if reading has found errors: the checks see stand-ins for what is missing, and report what else is
    # wrong.
    loader.check(plan)
    _raise_errors(reader)
    return replace(plan, warnings=tuple(_sort_by_position(reader.problems)))


def configured_agents(configs: Sequence[Config]) -> dict[str, Agent]:
    """Returns the agents of all configurations; the nearest of a name counts."""
    agents: dict[str, Agent] = {}
    # The nearest comes last, and a later entry of the same name replaces an earlier one.
    for config in reversed(configs):
        agents |= config.agents
    return agents


def outer_layers(
    configs: Sequence[Config], agents: Mapping[str, Agent], surroundings: Surroundings
) -> Iterator[Layer]:
    """Yields the settings that apply where the plan has none, the nearest first."""
    for config in configs:
        yield config.layer
    if len(agents) == 1:
        # A single configured agent needs no `agent:` to be chosen.
        yield Layer("the only agent there is", {"agent": next(iter(agents))})
    yield Layer("default", {"isolation": "worktree" if surroundings.git else "dir"})


def _sort_by_position(problems: Sequence[Problem]) -> list[Problem]:
    return sorted(problems, key=lambda problem: (problem.at.line, problem.at.column))


def _raise_errors(reader: Reader) -> None:
    """Raises the problems if one is an error. Of too many problems, errors come before warnings."""
    if reader.failed:
        # A hundred warnings must not hide an error.
        by_weight = sorted(reader.problems, key=lambda problem: problem.severity is not Severity.ERROR)
        reported = by_weight[:MOST_PROBLEMS]
        raise PlanError(_sort_by_position(reported), unsaid=reader.unsaid + len(by_weight) - len(reported))


class _Loader:
    """Builds and checks one plan, from values that were read."""

    def __init__(
        self,
        values: Values,
        reader: Reader,
        configs: Sequence[Config],
        flags: Layer | None,
        surroundings: Surroundings,
    ) -> None:
        self.values = values
        self.reader = reader
        self.document = reader.document
        self.configs = configs
        self.flags = flags
        self.surroundings = surroundings

    def plan(self) -> Plan:
        fields = self.values.by_key
        own = build.agents(self.values)
        agents = self.agents(own)
        root = _root(self.values)
        rows = read_rows(root, self.scope(own, agents), self.values, self.reader)
        return Plan(
            id=root.id,
            goal=fields.get("goal"),
            base=fields.get("base"),
            target=fields.get("target"),
            agents=agents,
            pools=build.pools(self.values),
            pipelines=self.pipelines(agents),
            env_allow=frozenset(fields.get("env_allow", ())),
            subplans=tuple(rows.subplans),
            outline=rows.outline,
            scopes=tuple(rows.scopes),
            document=self.document,
            notify=self.notify(),
            prices=self.prices(),
            hosts=self.hosts(),
        )

    def prices(self) -> dict[str, Price]:
        """Returns the prices of the plan and of the configurations; the nearest of a name counts."""
        prices = build.prices(self.values)
        for config in self.configs:
            prices |= {name: price for name, price in config.prices.items() if name not in prices}
        return prices

    def hosts(self) -> dict[str, HostSpec]:
        """Returns the hosts of the plan and of the configurations; the nearest of a name counts."""
        hosts = build.hosts(self.values)
        for config in self.configs:
            hosts |= {name: host for name, host in config.hosts.items() if name not in hosts}
        return hosts

    def notify(self) -> tuple[Notify, ...]:
        """Returns the nearest `notify`; lists are not merged."""
        candidates = (build.notify(self.values), *(config.notify for config in self.configs))
        return next((notify for notify in candidates if notify is not None), ())

    def agents(self, own: dict[str, Agent]) -> dict[str, Agent]:
        """Returns the agents of the plan and of the configurations; the nearest of a name counts."""
        return configured_agents(self.configs) | own

    def scope(self, own: dict[str, Agent], agents: dict[str, Agent]) -> Scope:
        """Returns the settings at the root of the plan."""
        layers = [layer("plan", self.document, self.values)]
        if own:
            # Behind the plan's own settings, before the configuration: an agent of the plan is nearer than one of
            # the user.
            layers.append(self.first_agent(next(iter(own))))
        layers.extend(outer_layers(self.configs, agents, self.surroundings))
        return Scope(tuple(layers), self.flags)

    def first_agent(self, name: str) -> Layer:
        """Returns the layer that makes the plan's first agent the default. Its position is the agent's name."""
        agents = self.values.table.get("agents")
        assert isinstance(agents, Table)
        key, _ = agents.entries[name]
        table = Table(key.line, key.column)
        # The layer has no `agent` key of its own; a message about it points to the name under `agents`.
        table.entries["agent"] = (key, key)
        return Layer(FIRST_AGENT, {"agent": name}, self.document, table)

    def pipelines(self, agents: Collection[str]) -> dict[str, Pipeline]:
        """Returns the plan's pipelines and the built-in ones. Cycles among them are reported and removed."""
        own = build.pipelines(self.values, self.document)
        for name in own:
            self.length(place(self.values.table, "pipelines", name))
        available = built_in_pipelines(agents) | own
        # Recursive walks over pipelines are safe only after cycles are gone.
        faults = nesting_faults(available)
        for step, message in faults.values():
            if message:
                self.reader.wrong(place(step.source, "pipeline"), message)
        return without_steps(available, faults)

    def check(self, plan: Plan) -> None:
        catalog = Catalog(
            pipelines=plan.pipelines,
            pools=plan.pools,
            agents=[
                *plan.agents,
                *(name for name, program in AGENT_PROGRAMS.items() if not program.requires),
            ],
            env_allow=plan.env_allow,
            unread=self.unread,
        )
        self.variables(plan)
        names = self.check_pipelines(plan, catalog)
        SlicesCheck(plan, catalog, self.reader, names, self.surroundings.programs).check()
        check_entries(self.values, self.reader)
        HostsCheck(plan, self.reader, knows_hosts="hosts" not in self.unread).check()
        check_braces(plan, self.reader)

    def variables(self, plan: Plan) -> None:
        """Reports two pools that would use the same environment variable."""
        pool_by_variable: dict[str, str] = {}
        for name, pool in plan.pools.items():
            first = pool_by_variable.setdefault(pool.variable, name)
            # Pools without values set no variable, so they cannot clash.
            if pool.values is not None and first != name:
                message = f"the pools {first!r} and {name!r} would share the variable {pool.variable}"
                self.reader.wrong(place(self.values.table, "pools", name), message)

    @property
    def unread(self) -> frozenset[str]:
        """The keys of the plan with values that could not be read."""
        return frozenset(self.values.table.entries.keys() - self.values.by_key.keys())

    def check_pipelines(self, plan: Plan, catalog: Catalog) -> Names:
        """Checks the pipelines of the plan, and returns the names that the templates of each pipeline read."""
        templates = TemplatesCheck(catalog, self.reader)
        own = (subplan.steps for subplan in plan.subplans if subplan.steps is not None)
        names: dict[int, frozenset[Path]] = {}
        for pipeline in (*plan.pipelines.values(), *own):
            if pipeline.built_in:  # covered by Weft's own tests, so its names are only collected
                silent = Reader(pipeline.document)
                names[id(pipeline)] = TemplatesCheck(catalog, silent).pipeline(pipeline)
            else:
                check_steps(pipeline, catalog, self.reader)
                names[id(pipeline)] = templates.pipeline(pipeline)
        for subplan in plan.subplans:
            self.length(subplan.source.get("steps"))
            if "worktrees" in subplan.settings:
                templates.check_place(place(subplan.source, "worktrees"), subplan.settings["worktrees"])
        return names

    def length(self, steps: Node | None) -> None:
        if isinstance(steps, Items) and len(steps.nodes) > MOST_STEPS:
            message = f"a pipeline can have at most {MOST_STEPS:,} steps, not {len(steps.nodes):,}"
            self.reader.wrong(steps.nodes[MOST_STEPS], message)


def _root(values: Values) -> Subplan:
    """Returns the plan itself as the group of its subplans."""
    id_: str = values.get("plan", "")
    return Subplan(
        id=id_,
        title=id_,
        verify=values.get("verify", ()),
        settings=own_settings(values),
        source=values.table,
    )
