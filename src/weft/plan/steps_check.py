"""Whether the steps of a pipeline make sense together: references, order, joins, loops.

Each pipeline is checked once, wherever it is used; what depends on the slice that uses it is in `slices_check`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from weft.plan.document import Items, Node, Table
from weft.plan.flow import Flow, flow, loop_region
from weft.plan.json_schemas import join_contradictions, schema_fault
from weft.plan.model import AgentWork, Join, Nested, Pipeline, Pool, Step
from weft.plan.problems import suggestion
from weft.plan.reader import Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """What steps can name."""

    pipelines: Mapping[str, Pipeline]
    pools: Mapping[str, Pool]
    agents: Sequence[str]
    env_allow: frozenset[str]


def check_steps(pipeline: Pipeline, catalog: Catalog, reader: Reader) -> None:
    check = _Check(pipeline.steps, catalog, reader)
    check.ids()
    for number in range(len(pipeline.steps)):
        check.step(number)


class _Check:
    def __init__(self, steps: tuple[Step, ...], catalog: Catalog, reader: Reader) -> None:
        self.steps = steps
        self.catalog = catalog
        self.reader = reader
        self.flow: Flow = flow(steps)
        self.numbers: dict[str, int] = {}
        for number, step in enumerate(steps):
            self.numbers.setdefault(step.id, number)

    def ids(self) -> None:
        for number, step in enumerate(self.steps):
            if self.numbers[step.id] != number:
                first = self.steps[self.numbers[step.id]].source.line
                self.wrong(
                    step, "id", f"two steps here have the id {step.id!r}; the first is in line {first}"
                )

    def step(self, number: int) -> None:
        self.dependencies(number)
        self.waited_for(number)
        self.names(number)
        self.loop(number)
        self.schema(number)

    def dependencies(self, number: int) -> None:
        step = self.steps[number]
        for at, name in _with_nodes(step, "depends_on", step.depends_on):
            other = self.numbers.get(name)
            if other is None:
                known = [earlier.id for earlier in self.steps[:number]]
                self.reader.wrong(
                    at, f"depends_on names {name!r}, which is no step here{suggestion(name, known)}"
                )
            elif other == number:
                self.reader.wrong(at, f"step {name!r} depends on itself")
            elif other > number:
                self.reader.wrong(
                    at, f"depends_on names {name!r}, which comes later; a step can wait for earlier ones"
                )

    def waited_for(self, number: int) -> None:
        step = self.steps[number]
        if step.is_async and not self.flow.heard_by[number]:
            self.wrong(
                step, "async",
                f"nothing waits for the async step {step.id!r}; name it in depends_on of a later step, as a join",
            )  # fmt: skip

    def names(self, number: int) -> None:
        step = self.steps[number]
        if isinstance(step.body, Nested) and step.body.pipeline not in self.catalog.pipelines:
            known = list(self.catalog.pipelines)
            name = step.body.pipeline
            self.wrong(step, "pipeline", f"there is no pipeline {name!r}{suggestion(name, known)}")
        if isinstance(step.body, AgentWork) and step.body.agent is not None:
            name = step.body.agent
            if name not in self.catalog.agents:
                self.wrong(
                    step, "agent", f"there is no agent {name!r}{suggestion(name, self.catalog.agents)}"
                )
        for name, count in step.pools:
            self.pool(step, name, count)

    def pool(self, step: Step, name: str, count: int) -> None:
        key = "pool" if step.source.get("pool") is not None else "pools"
        pool = self.catalog.pools.get(name)
        if pool is None:
            self.wrong(step, key, f"there is no pool {name!r}{suggestion(name, list(self.catalog.pools))}")
        elif count > pool.size:
            self.wrong(
                step, key, f"step {step.id!r} takes {count} of the pool {name!r}, which has only {pool.size}"
            )

    def loop(self, number: int) -> None:
        step = self.steps[number]
        fault = self.loop_fault(number)
        if fault is not None:
            self.reader.wrong(place(step.source, "on_fail", "retry_from"), fault)

    def loop_fault(self, number: int) -> str | None:
        step = self.steps[number]
        if step.on_fail is None:
            return None
        target = step.on_fail.retry_from
        if target not in self.numbers:
            known = [earlier.id for earlier in self.steps[:number]]
            return f"retry_from names {target!r}, which is no step here{suggestion(target, known)}"
        region = loop_region(self.steps, number)
        if region is None:
            said = "is this step itself" if target == step.id else "comes later"
            return f"retry_from names {target!r}, which {said}; to try one step again write on_error: retry"
        if step.is_async or self.steps[region.start].is_async:
            branch = step.id if step.is_async else target
            return f"retry_from cannot start or end in the async step {branch!r}; there write on_error: retry"
        for later, earlier in self.crossings(region):
            a, b = self.steps[earlier].id, self.steps[later].id
            return f"going back to {target!r} would cross the async branch {a!r}, for which {b!r} waits"
        return None

    def crossings(self, region: range) -> Iterator[tuple[int, int]]:
        """Steps of which one is in the region, the other not, and the later is told of the earlier's end."""
        for later, signals in enumerate(self.flow.signals):
            for earlier in signals:
                if (earlier in region) != (later in region):
                    yield later, earlier

    def schema(self, number: int) -> None:
        step = self.steps[number]
        if step.output_schema is not None:
            fault = schema_fault(step.output_schema)
            if fault is not None:
                self.wrong(step, "output_schema", f"output_schema is no JSON Schema: {fault}")
                return
        if isinstance(step.body, Join) and step.output_schema is not None:
            self.joined_schema(step)

    def joined_schema(self, join: Step) -> None:
        schemas: dict[str, Mapping[str, object]] = {}
        for at, name in _with_nodes(join, "depends_on", join.depends_on):
            if name in self.numbers:
                schema = self.result_schema(self.steps[self.numbers[name]])
                if schema is None:
                    why = f"the join {join.id!r} has an output_schema, so each step it joins needs one"
                    self.reader.wrong(at, f"{why}; {name!r} has none")
                else:
                    schemas[name] = schema
        assert join.output_schema is not None
        for name, fault in join_contradictions(join.output_schema, schemas).items():
            self.wrong(
                join, "output_schema", f"the join's output_schema contradicts that of {name!r}: {fault}"
            )

    def result_schema(self, step: Step, depth: int = 0) -> Mapping[str, object] | None:
        """What is known of a step's result; a nested pipeline's is that of its last step."""
        if (
            isinstance(step.body, Nested)
            and step.output_schema is None
            and depth < len(self.catalog.pipelines)
        ):
            inner = self.catalog.pipelines.get(step.body.pipeline)
            return self.result_schema(inner.steps[-1], depth + 1) if inner and inner.steps else None
        return step.output_schema

    def wrong(self, step: Step, key: str, message: str) -> None:
        self.reader.wrong(place(step.source, key), message)


def place(table: Table, *keys: str) -> Node:
    """The value under these keys, as far as there is one."""
    node: Node = table
    for key in keys:
        inner = node.get(key) if isinstance(node, Table) else None
        if inner is None:
            return node
        node = inner
    return node


def listed(table: Table, key: str) -> Sequence[Node]:
    """The values of a list."""
    node = table.get(key)
    return node.nodes if isinstance(node, Items) else ()


def _with_nodes(step: Step, key: str, values: Sequence[str]) -> Iterator[tuple[Node, str]]:
    yield from zip(listed(step.source, key), values, strict=False)


def nested_circles(pipelines: Mapping[str, Pipeline]) -> Iterator[tuple[Step, list[str]]]:
    """Steps by which a pipeline comes to stand within itself, with the names on the way."""
    done: set[str] = set()
    for name in pipelines:
        yield from _walk(name, pipelines, [name], done)


def _walk(
    name: str, pipelines: Mapping[str, Pipeline], way: list[str], done: set[str]
) -> Iterator[tuple[Step, list[str]]]:
    if name in done:
        return
    for step in pipelines[name].steps:
        if isinstance(step.body, Nested) and step.body.pipeline in pipelines:
            inner = step.body.pipeline
            if inner in way:
                yield step, [*way[way.index(inner) :], inner]
            else:
                yield from _walk(inner, pipelines, [*way, inner], done)
    done.add(name)
