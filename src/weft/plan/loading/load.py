"""From the text of a plan to a plan that makes sense, or to everything that is wrong with it.

Reading goes from the parts to the whole: the document, the keys and values, then references, order, pipelines,
templates, slices. What one stage finds wrong does not keep the next from looking, so a person sees all errors at
once; only text that is not YAML ends it at the first.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from weft.plan.language.adapters import ADAPTERS
from weft.plan.language.reader import BAD, Reader
from weft.plan.language.records import Values
from weft.plan.language.tables import CONFIG, PLAN
from weft.plan.loading import build
from weft.plan.loading.braces_check import check_braces
from weft.plan.loading.built_in import built_in_pipelines
from weft.plan.loading.rows import read_rows
from weft.plan.loading.slices_check import FIRST_AGENT, NEED_MORE, Names, SlicesCheck
from weft.plan.loading.steps_check import Catalog, check_steps, place
from weft.plan.loading.template_check import TemplatesCheck
from weft.plan.model import Agent, Pipeline, Plan, Subplan
from weft.plan.notify import Notify
from weft.plan.pipelines.nesting import without, wrong_nesting
from weft.plan.pipelines.unroll import MOST_STEPS
from weft.plan.prices import Price
from weft.plan.settings import Layer, Scope, layer, own_settings
from weft.plan.templates.parse import Path
from weft.plan.text.document import LIMITS, Items, Limits, Node, Table, read_document
from weft.plan.text.problems import MOST_PROBLEMS, PlanError, Problem, Severity


class Config(Struct, frozen=True, kw_only=True):
    """A configuration file: settings and agents for many plans."""

    layer: Layer
    agents: dict[str, Agent]
    notify: tuple[Notify, ...] | None = None
    """Who is told of what happens in runs; None: it does not say."""
    prices: Mapping[str, Price] = {}


class Surroundings(Struct, frozen=True, kw_only=True):
    """What a plan needs to know of where it is."""

    git: bool = True
    """Whether it is in a git repository."""
    programs: tuple[str, ...] = ()
    """Agents' command lines that are installed."""


def read_config(text: str, file: str, where: str) -> Config:
    """A configuration; raises `PlanError`. An empty file, or one of comments, sets nothing."""
    if all(line.partition("#")[0].strip("\ufeff \t") in {"", "---"} for line in text.splitlines()):
        return Config(layer=Layer(where, {}), agents={})
    document = read_document(text, file)
    reader = Reader(document)
    values = CONFIG.read(document.root, reader, "the configuration")
    if values is not BAD and "worktrees" in values.given:
        check_place(place(values.table, "worktrees"), values.given["worktrees"], reader)
    _raise_errors(reader)
    return Config(
        layer=layer(where, document, values),
        agents=build.agents(values),
        notify=build.notify(values),
        prices=build.prices(values),
    )


def check_place(node: Node, template: str, reader: Reader) -> None:
    """Where worktrees are made, said outside of any plan."""
    # Which names of the environment are open is up to the plan.
    catalog = Catalog(
        pipelines={}, pools={}, agents=(), env_allow=frozenset(), unread=frozenset({"env_allow"})
    )
    TemplatesCheck(catalog, reader).of_a_place(node, template)


def load_plan(
    text: str,
    file: str = "weft.yaml",
    *,
    configs: Sequence[Config] = (),
    flags: Layer | None = None,
    surroundings: Surroundings = Surroundings(),  # noqa: B008 - frozen
    limits: Limits = LIMITS,
) -> Plan:
    """The plan in this text; raises `PlanError` with all that is wrong.

    `configs` are the configurations that hold, the nearest first: the environment's, the project's, the user's.
    """
    document = read_document(text, file, limits=limits)
    reader = Reader(document)
    values = PLAN.read(document.root, reader, "the plan")
    if values is BAD:
        _raise_errors(reader)
    loading = _Loading(values, reader, configs, flags, surroundings)
    plan = loading.plan()
    loading.check(plan)
    _raise_errors(reader)
    return replace(plan, warnings=tuple(_in_order(reader.problems)))


def agents_around(configs: Sequence[Config]) -> dict[str, Agent]:
    found: dict[str, Agent] = {}
    for config in reversed(configs):
        found |= config.agents
    return found


def layers_around(
    configs: Sequence[Config], agents: Mapping[str, Agent], surroundings: Surroundings
) -> Iterator[Layer]:
    """What holds where no plan says otherwise, the nearest first."""
    for config in configs:
        yield config.layer
    if len(agents) == 1:
        yield Layer("the only agent there is", {"agent": next(iter(agents))})
    yield Layer("default", {"isolation": "worktree" if surroundings.git else "dir"})


def _in_order(problems: Sequence[Problem]) -> list[Problem]:
    return sorted(problems, key=lambda problem: (problem.at.line, problem.at.column))


def _raise_errors(reader: Reader) -> None:
    """Errors first, where there are more problems than are told."""
    if reader.failed:
        by_weight = sorted(reader.problems, key=lambda problem: problem.severity is not Severity.ERROR)
        told = by_weight[:MOST_PROBLEMS]
        raise PlanError(_in_order(told), unsaid=reader.unsaid + len(by_weight) - len(told))


class _Loading:
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
        given = self.values.given
        own = build.agents(self.values)
        agents = self.agents(own)
        root = _root(self.values)
        rows = read_rows(root, self.scope(own, agents), self.values, self.reader)
        return Plan(
            id=root.id,
            goal=given.get("goal"),
            base=given.get("base"),
            target=given.get("target"),
            agents=agents,
            pools=build.pools(self.values),
            pipelines=self.pipelines(agents),
            env_allow=frozenset(given.get("env_allow", ())),
            subplans=tuple(rows.subplans),
            outline=rows.outline,
            scopes=tuple(rows.scopes),
            document=self.document,
            notify=self.notify(),
            prices=self.prices(),
        )

    def prices(self) -> dict[str, Price]:
        """The nearest first."""
        found = build.prices(self.values)
        for config in self.configs:
            found |= {name: price for name, price in config.prices.items() if name not in found}
        return found

    def notify(self) -> tuple[Notify, ...]:
        """The nearest says it all."""
        said = (build.notify(self.values), *(config.notify for config in self.configs))
        return next((one for one in said if one is not None), ())

    def agents(self, own: dict[str, Agent]) -> dict[str, Agent]:
        """The nearest one of a name counts, as with settings."""
        return agents_around(self.configs) | own

    def scope(self, own: dict[str, Agent], agents: dict[str, Agent]) -> Scope:
        """Settings at the root of the plan."""
        layers = [layer("plan", self.document, self.values)]
        if own:
            layers.append(self.first_agent(next(iter(own))))
        layers.extend(layers_around(self.configs, agents, self.surroundings))
        return Scope(tuple(layers), self.flags)

    def first_agent(self, name: str) -> Layer:
        """In its table the setting `agent` stands where the agent's name does."""
        agents = self.values.table.get("agents")
        assert isinstance(agents, Table)
        key, _ = agents.entries[name]
        stand_in = Table(key.line, key.column)
        stand_in.entries["agent"] = (key, key)
        return Layer(FIRST_AGENT, {"agent": name}, self.document, stand_in)

    def pipelines(self, agents: Collection[str]) -> dict[str, Pipeline]:
        """Those of the plan and the built-in ones; a wrong nesting is told, and taken out."""
        own = build.pipelines(self.values, self.document)
        for name in own:
            self.length(place(self.values.table, "pipelines", name))
        available = built_in_pipelines(agents) | own
        wrong = wrong_nesting(available)
        for step, said in wrong.values():
            if said:
                self.reader.wrong(place(step.source, "pipeline"), said)
        return without(available, wrong)

    def check(self, plan: Plan) -> None:
        catalog = Catalog(
            pipelines=plan.pipelines,
            pools=plan.pools,
            agents=[*plan.agents, *(name for name in ADAPTERS if name not in NEED_MORE)],
            env_allow=plan.env_allow,
            unread=self.unread,
        )
        self.variables(plan)
        names = self.checked_pipelines(plan, catalog)
        SlicesCheck(plan, catalog, self.reader, names, self.surroundings.programs).check()
        check_braces(plan, self.reader)

    def variables(self, plan: Plan) -> None:
        """Two pools cannot tell a step what it took in the same environment variable."""
        taken: dict[str, str] = {}
        for name, pool in plan.pools.items():
            other = taken.setdefault(pool.variable, name)
            if pool.values is not None and other != name:
                said = f"the pools {other!r} and {name!r} would share the variable {pool.variable}"
                self.reader.wrong(place(self.values.table, "pools", name), said)

    @property
    def unread(self) -> frozenset[str]:
        """Keys that are there, but whose values could not be read."""
        return frozenset(self.values.table.entries.keys() - self.values.given.keys())

    def checked_pipelines(self, plan: Plan, catalog: Catalog) -> Names:
        """Checks each pipeline that was written, and tells which names each reads."""
        templates = TemplatesCheck(catalog, self.reader)
        own = (one.steps for one in plan.subplans if one.steps is not None)
        names: dict[int, frozenset[Path]] = {}
        for pipeline in (*plan.pipelines.values(), *own):
            if pipeline.built_in:  # a part of Weft, and tested with it
                unheard = Reader(pipeline.document)
                names[id(pipeline)] = TemplatesCheck(catalog, unheard).pipeline(pipeline)
            else:
                check_steps(pipeline, catalog, self.reader)
                names[id(pipeline)] = templates.pipeline(pipeline)
        for subplan in plan.subplans:
            self.length(subplan.source.get("steps"))
            if "worktrees" in subplan.settings:
                templates.of_a_place(place(subplan.source, "worktrees"), subplan.settings["worktrees"])
        return names

    def length(self, steps: Node | None) -> None:
        if isinstance(steps, Items) and len(steps.nodes) > MOST_STEPS:
            said = f"a pipeline of {len(steps.nodes):,} steps; allowed are {MOST_STEPS:,}"
            self.reader.wrong(steps.nodes[MOST_STEPS], said)


def _root(values: Values) -> Subplan:
    """The plan itself, as the group of its subplans."""
    id_: str = values.get("plan", "")
    return Subplan(
        id=id_,
        title=id_,
        verify=values.get("verify", ()),
        settings=own_settings(values),
        source=values.table,
    )
