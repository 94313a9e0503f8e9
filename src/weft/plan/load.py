"""From the text of a plan to a plan that makes sense, or to everything that is wrong with it.

Reading goes from the parts to the whole: the document, the keys and values, then references, order, pipelines,
templates, slices. What one stage finds wrong does not keep the next from looking, so a person sees all errors at
once; only text that is not YAML ends it at the first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from weft.plan import build
from weft.plan.adapters import ADAPTERS
from weft.plan.built_in import built_in_pipelines
from weft.plan.document import LIMITS, Document, Limits, Table, read_document
from weft.plan.language import CONFIG, PLAN
from weft.plan.model import Agent, Pipeline, Plan, Subplan
from weft.plan.problems import PlanError, Problem, Severity
from weft.plan.reader import BAD, Reader
from weft.plan.records import Values
from weft.plan.rows import read_rows
from weft.plan.settings import Layer, Scope, layer, own_settings
from weft.plan.slices_check import FIRST_AGENT, NEED_MORE, Names, SlicesCheck
from weft.plan.steps_check import Catalog, check_steps, nested_circles, place
from weft.plan.template_check import check_templates


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """A configuration file: settings and agents for many plans."""

    layer: Layer
    agents: dict[str, Agent]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a plan needs to know of where it is."""

    git: bool = True
    """Whether it is in a git repository."""
    programs: tuple[str, ...] = ()
    """Agents' command lines that are installed."""


def read_config(text: str, file: str, where: str) -> Config:
    """A configuration; raises `PlanError`. An empty file sets nothing."""
    if not text.strip():
        return Config(layer=Layer(where, {}), agents={})
    document = read_document(text, file)
    reader = Reader(document)
    values = CONFIG.read(document.root, reader, "the configuration")
    if reader.failed:
        raise PlanError(reader.problems)
    return Config(layer=layer(where, document, values), agents=build.agents(values.get("agents")))


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

    `configs` are the configurations that hold, the nearest first: the project's, then the user's.
    """
    document = read_document(text, file, limits=limits)
    reader = Reader(document)
    values = PLAN.read(document.root, reader, "the plan")
    if values is BAD:
        raise PlanError(reader.problems)
    plan, names = _Loading(values, reader, configs, flags, surroundings).plan()
    SlicesCheck(plan, reader, names, surroundings.programs).check()
    _raise_errors(reader)
    return replace(plan, warnings=tuple(reader.problems))


def _raise_errors(reader: Reader) -> None:
    if not reader.failed:
        return
    problems = sorted(reader.problems, key=lambda problem: (problem.at.line, problem.at.column))
    if reader.unsaid:
        last = problems[-1]
        said = f"and {reader.unsaid:,} more problems that are not listed"
        problems.append(Problem(at=last.at, message=said, severity=Severity.ERROR))
    raise PlanError(problems)


@dataclass(slots=True)
class _Loading:
    values: Values
    reader: Reader
    configs: Sequence[Config]
    flags: Layer | None
    surroundings: Surroundings

    def plan(self) -> tuple[Plan, Names]:
        given = self.values.given
        agents = self.agents()
        root = _root(self.values)
        rows = read_rows(root, self.scope(agents), given.get("subplans", ()), self.reader)
        pipelines = built_in_pipelines() | {
            name: build.pipeline(name, steps, self.document)
            for name, steps in given.get("pipelines", {}).items()
        }
        plan = Plan(
            id=given.get("plan", ""),
            goal=given.get("goal"),
            base=given.get("base"),
            target=given.get("target"),
            agents=agents,
            pools=build.pools(given.get("pools")),
            pipelines=pipelines,
            env_allow=frozenset(given.get("env_allow", ())),
            subplans=tuple(rows.subplans),
            outline=rows.outline,
            scopes=tuple(rows.scopes),
            document=self.document,
        )
        return plan, self.checked_pipelines(plan)

    @property
    def document(self) -> Document:
        return self.reader.document

    def agents(self) -> dict[str, Agent]:
        """The nearest one of a name counts, as with settings."""
        found: dict[str, Agent] = {}
        for config in reversed(self.configs):
            found |= config.agents
        return found | build.agents(self.values.get("agents"))

    def scope(self, agents: dict[str, Agent]) -> Scope:
        """Settings at the root of the plan."""
        own = build.agents(self.values.get("agents"))
        layers = [layer("plan", self.document, self.values)]
        if own:
            layers.append(Layer(FIRST_AGENT, {"agent": next(iter(own))}, *self.first_agent(own)))
        layers.extend(config.layer for config in self.configs)
        if len(agents) == 1:
            layers.append(Layer("the only agent there is", {"agent": next(iter(agents))}))
        layers.append(Layer("default", {"isolation": "worktree" if self.surroundings.git else "dir"}))
        return Scope(tuple(layers), self.flags)

    def first_agent(self, own: dict[str, Agent]) -> tuple[Document, Table]:
        """A table in which the setting `agent` stands where the agent's name does."""
        key, _ = _table(self.values.table.get("agents")).entries[next(iter(own))]
        stand_in = Table(key.line, key.column)
        stand_in.entries["agent"] = (key, key)
        return self.document, stand_in

    def checked_pipelines(self, plan: Plan) -> Names:
        """Checks each pipeline that was written, and tells which names each reads."""
        adapters = [name for name in ADAPTERS if name not in NEED_MORE]
        catalog = Catalog(
            pipelines=plan.pipelines,
            pools=plan.pools,
            agents=[*plan.agents, *adapters],
            env_allow=plan.env_allow,
        )
        names: dict[int, frozenset[tuple[str | int, ...]]] = {}
        for step, way in nested_circles(plan.pipelines):
            said = f"the pipeline comes to stand within itself: {' → '.join(way)}"
            self.reader.wrong(place(step.source, "pipeline"), said)
        written = [*plan.pipelines.values(), *(one.steps for one in plan.subplans if one.steps is not None)]
        for pipeline in written:
            names[id(pipeline)] = self.checked(pipeline, catalog)
        return names

    def checked(self, pipeline: Pipeline, catalog: Catalog) -> frozenset[tuple[str | int, ...]]:
        if pipeline.built_in:  # a part of Weft, and tested with it
            return check_templates(pipeline, catalog, Reader(pipeline.document))
        check_steps(pipeline, catalog, self.reader)
        return check_templates(pipeline, catalog, self.reader)


def _root(values: Values) -> Subplan:
    """The plan itself, as the group of its subplans."""
    id_: Any = values.get("plan", "")
    return Subplan(
        id=id_,
        title=id_,
        verify=values.get("verify", ()),
        settings=own_settings(values),
        source=values.table,
    )


def _table(node: object) -> Table:
    assert isinstance(node, Table)
    return node
