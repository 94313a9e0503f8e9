"""Checks that the steps of a pipeline make sense together: references, order, joins, loops.

Each pipeline is checked once, wherever it is used; `slices_check` checks what depends on the slice.

One mistake is reported once. A step that depends on a name that does not exist was meant to depend on a step that
does. Where the order matters, such a step is therefore assumed to wait for all steps before it.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from weft.plan.language.reader import Reader
from weft.plan.language.tables import STEP
from weft.plan.model import AgentWork, Join, Nested, Pipeline, Pool, Step
from weft.plan.pipelines.flow import Flow, flow, loop_region
from weft.plan.results.result_types import ANYTHING, Results, Schema
from weft.plan.text.document import Items, Node, Table
from weft.plan.text.problems import nearest, suggestion

ONE_STEP_AGAIN = "to try one step again write on_error: retry"
_FIRST_STEP = {
    "retry_from": f"no step comes before this one to go back to; {ONE_STEP_AGAIN}",
    "depends_on": "no step comes before this one; a subplan waits for another by its own depends_on",
}
"""Advice about a wrong name in the first step of a pipeline."""


class Catalog(Struct, frozen=True, kw_only=True, dict=True):
    """The names that steps can refer to."""

    pipelines: Mapping[str, Pipeline]
    pools: Mapping[str, Pool]
    agents: Sequence[str]
    env_allow: frozenset[str]
    unread: frozenset[str] = frozenset()
    """Keys of the plan with values that could not be read, so that their names are unknown."""

    @cached_property
    def results(self) -> Results:
        return Results(self.pipelines)


def check_steps(pipeline: Pipeline, catalog: Catalog, reader: Reader) -> None:
    check = _PipelineCheck(pipeline.steps, catalog, reader)
    for number in range(len(pipeline.steps)):
        check.step(number)


class _PipelineCheck:
    """Checks the steps of one pipeline. The methods named like keys of a step check that key."""

    def __init__(self, steps: tuple[Step, ...], catalog: Catalog, reader: Reader) -> None:
        self.steps = steps
        self.catalog = catalog
        self.reader = reader
        self.numbers: dict[str, int] = {}
        for number, step in enumerate(steps):
            # Of two steps with one id, the first is meant.
            self.numbers.setdefault(step.id, number)
        self.faults: dict[int, str | None] = {}

    # Few pipelines have branches, joins or loops; the others never compute these.

    @cached_property
    def flow(self) -> Flow:
        return flow(self.steps)

    @cached_property
    def waiters(self) -> tuple[tuple[int, ...], ...]:
        return flow(with_assumed_order(self.steps)).waiters

    @cached_property
    def dependencies_named(self) -> set[str]:
        return {name for step in self.steps for name in step.depends_on}

    @cached_property
    def results(self) -> list[Schema | None]:
        return self.catalog.results.of(self.steps)

    def step(self, number: int) -> None:
        self.id(number)
        self.dependencies(number)
        self.check_waited_for(number)
        self.names(number)
        self.loop(number)
        self.schema(number)

    def id(self, number: int) -> None:
        step = self.steps[number]
        if step.id and self.numbers[step.id] != number:
            first = self.steps[self.numbers[step.id]].source.line
            self.wrong(step, "id", f"duplicate step id {step.id!r}; the first is in line {first}")

    def dependencies(self, number: int) -> None:
        step = self.steps[number]
        for node, name in zip(nodes_of(step.source, "depends_on"), step.depends_on, strict=False):
            target = self.numbers.get(name)
            if target is None:
                self.unknown(node, number, "depends_on", name)
            elif target == number:
                self.reader.wrong(node, f"step {name!r} depends on itself")
            elif target > number:
                self.reader.wrong(
                    node,
                    f"depends_on names {name!r}, which comes later; a step can only wait for earlier steps",
                )

    def unknown(self, node: Node, number: int, key: str, name: str) -> None:
        """Reports an unknown step, unless it may be one of the steps without an id."""
        if "" not in self.numbers:
            earlier_ids = [earlier.id for earlier in self.steps[:number]]
            advice = hint(self.reader, name, earlier_ids) if earlier_ids else f"; {_FIRST_STEP[key]}"
            self.reader.wrong(node, f"{key} names {name!r}, which is not a step of this pipeline{advice}")

    def check_waited_for(self, number: int) -> None:
        """Reports an async step that no later step waits for."""
        step = self.steps[number]
        # A step that names it in vain has an error already. Of two steps with one id, the first is named.
        if step.is_async and not self.waiters[number] and step.id not in self.dependencies_named:
            message = f"nothing waits for the async step {step.id!r}"
            self.wrong(step, "async", f"{message}; name it in depends_on of a later step, such as a join")

    def names(self, number: int) -> None:
        step = self.steps[number]
        if isinstance(step.body, Nested):
            self.check_exists(place(step.source, "pipeline"), "pipelines", step.body.pipeline)
        if isinstance(step.body, AgentWork) and step.body.agent is not None:
            self.check_exists(place(step.source, "agent"), "agents", step.body.agent)
        for name, count in step.pools:
            node = _pool_node(step, name)
            pool = self.catalog.pools.get(name)
            if pool is None:
                self.check_exists(node, "pools", name)
            elif count > pool.size:
                message = f"step {step.id!r} takes {count} of the pool {name!r}"
                self.reader.wrong(node, f"{message}, which has only {pool.size}")

    def check_exists(self, node: Node, key: str, name: str) -> None:
        names = {
            "pipelines": list(self.catalog.pipelines),
            "agents": self.catalog.agents,
            "pools": list(self.catalog.pools),
        }[key]
        if name not in names and key not in self.catalog.unread:
            advice = hint(self.reader, name, names) if names else f"; define it, as in {key}: {{{name}: 1}}"
            self.reader.wrong(node, f"unknown {key[:-1]} {name!r}{advice}")

    def loop(self, number: int) -> None:
        step = self.steps[number]
        if step.on_fail is None:
            return
        node, target = place(step.source, "on_fail", "retry_from"), step.on_fail.retry_from
        region = loop_region(self.steps, number)
        if target not in self.numbers:
            self.unknown(node, number, "retry_from", target)
        elif region is None:
            problem = "is this step itself" if target == step.id else "comes later"
            self.reader.wrong(node, f"retry_from names {target!r}, which {problem}; {ONE_STEP_AGAIN}")
        else:
            fault = self.branch_fault(step, region)
            if fault is not None:
                self.reader.wrong(node, fault)

    def branch_fault(self, step: Step, region: range) -> str | None:
        """Returns why a loop does not fit the async steps; None if it does."""
        target = self.steps[region.start]
        if step.is_async or target.is_async:
            branch = step.id if step.is_async else target.id
            return f"retry_from cannot start or end in the async step {branch!r}; there write on_error: retry"
        for later, earlier in self.crossings(region):
            a, b = self.steps[earlier].id, self.steps[later].id
            return f"going back to {target.id!r} would cross the async branch {a!r}, for which {b!r} waits"
        return None

    def crossings(self, region: range) -> Iterator[tuple[int, int]]:
        """Yields (later, earlier) where the later step waits for the earlier and only one is in the region."""
        for later, signals in enumerate(self.flow.signals):
            for earlier in signals:
                if (earlier in region) != (later in region):
                    yield later, earlier

    def schema(self, number: int) -> None:
        step = self.steps[number]
        if step.output_schema is None:
            return
        fault = self.fault(number)
        if fault is not None:
            self.wrong(step, "output_schema", f"output_schema is not a JSON Schema: {fault}")
        elif isinstance(step.body, Join):
            self.check_join(step, step.output_schema)

    def fault(self, number: int) -> str | None:
        """Returns why the step's output_schema is not a JSON Schema; None if it is."""
        if number not in self.faults:
            schema = self.steps[number].output_schema
            if schema is None:
                return None
            from weft.plan.results.json_schemas import schema_fault  # noqa: PLC0415 - most plans have no schemas

            self.faults[number] = schema_fault(schema)
        return self.faults[number]

    def check_join(self, join: Step, join_schema: Schema) -> None:
        """Checks the schema of a join against those of the steps it joins."""
        from weft.plan.results.json_schemas import join_contradictions  # noqa: PLC0415 - most plans have no schemas

        schemas: dict[str, Schema] = {}
        for node, name in zip(nodes_of(join.source, "depends_on"), join.depends_on, strict=False):
            schema = self.member(name)
            if schema is None:
                reason = f"the join {join.id!r} has an output_schema, so each step it joins needs one"
                self.reader.wrong(node, f"{reason}; {name!r} has none")
            # The missing schema is reported above; anything is assumed, to avoid a second error.
            schemas[name] = ANYTHING if schema is None else schema
        # With a wrong name among the dependencies, a fault of the join as a whole may only follow from it.
        has_errors = not schemas.keys() <= self.numbers.keys() or not schemas
        for name, fault in join_contradictions(join_schema, schemas).items():
            if name in schemas:
                message = f"the join's output_schema contradicts that of {name!r}: {fault}"
                self.wrong(join, "output_schema", message)
            elif not has_errors:
                self.wrong(join, "output_schema", fault)

    def member(self, name: str) -> Schema | None:
        """Returns the schema of a step that a join reads; anything, if that step has an error already."""
        number = self.numbers.get(name)
        if number is None or self.fault(number) is not None:
            return ANYTHING
        return self.results[number]

    def wrong(self, step: Step, key: str, message: str) -> None:
        self.reader.wrong(place(step.source, key), message)


def with_assumed_order(steps: Sequence[Step]) -> list[Step]:
    """Returns the steps; one with an error in its dependencies waits for all steps before it."""
    before: dict[str, None] = {}
    ordered: list[Step] = []
    for step in steps:
        is_wrong = _is_mistaken(step) or not before.keys() >= set(step.depends_on)
        ordered.append(replace(step, depends_on=tuple(before)) if is_wrong else step)
        before[step.id] = None
    return ordered


def _is_mistaken(step: Step) -> bool:
    """Returns whether a step has a depends_on that could not be read or is misspelt."""
    if "depends_on" in step.source.entries:
        node = step.source.get("depends_on")
        return not isinstance(node, Items) or len(node.nodes) != len(step.depends_on)
    return any(nearest(key, ("depends_on",)) for key in step.source.entries if key not in _STEP_KEYS)


_STEP_KEYS = frozenset(key.name for key in STEP.keys)


def _pool_node(step: Step, name: str) -> Node:
    """Returns the node where a pool is named: alone, in a list, or as a key."""
    written = step.source.get("pools")
    if isinstance(written, Table):
        return written.key(name)
    names = (node for node in nodes_of(step.source, "pools") if getattr(node, "text", None) == name)
    return next(names, place(step.source, "pool"))


def hint(reader: Reader, name: str, names: Sequence[str]) -> str:
    """Returns the end of a message about an unknown name: a similar name, or those that exist."""
    # The search for a similar name is slow, and a full reader drops the message anyway.
    return "" if reader.full else suggestion(name, names)


def place(table: Table, *keys: str) -> Node:
    """Returns the value under these keys, or the innermost node on the way to it."""
    node: Node = table
    for key in keys:
        inner = node.get(key) if isinstance(node, Table) else None
        if inner is None:
            return node
        node = inner
    return node


def nodes_of(table: Table, key: str) -> Sequence[Node]:
    """Returns the nodes of a list; nothing if the value is not a list."""
    node = table.get(key)
    return node.nodes if isinstance(node, Items) else ()
