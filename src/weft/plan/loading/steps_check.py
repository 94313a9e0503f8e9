"""Whether the steps of a pipeline make sense together: references, order, joins, loops.

Each pipeline is checked once, wherever it is used; what depends on the slice that uses it is in `slices_check`.

One slip is told once. A step that waits for something that does not exist was meant to wait for something that
does, so where it matters who waits for whom, it is taken to wait for everything before it.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from weft.plan.language.reader import Reader
from weft.plan.language.tables import STEP
from weft.plan.model import AgentWork, Join, Nested, Pipeline, Pool, Step
from weft.plan.pipelines.flow import Flow, flow, loop_region
from weft.plan.results.json_schemas import join_contradictions, schema_fault
from weft.plan.results.known import ANYTHING, Results, Schema
from weft.plan.text.document import Items, Node, Table
from weft.plan.text.problems import nearest, suggestion

ONE_STEP_AGAIN = "to try one step again write on_error: retry"
_FIRST_STEP = {
    "retry_from": f"no step comes before this one to go back to; {ONE_STEP_AGAIN}",
    "depends_on": "no step comes before this one; a subplan waits for another by its own depends_on",
}
"""What to do about a wrong name in the first step of a pipeline."""


class Catalog(Struct, frozen=True, kw_only=True, dict=True):
    """What steps can name."""

    pipelines: Mapping[str, Pipeline]
    pools: Mapping[str, Pool]
    agents: Sequence[str]
    env_allow: frozenset[str]
    unread: frozenset[str] = frozenset()
    """Keys of the plan whose values could not be read: what they were to define is not known."""

    @cached_property
    def results(self) -> Results:
        return Results(self.pipelines)


def check_steps(pipeline: Pipeline, catalog: Catalog, reader: Reader) -> None:
    check = _Check(pipeline.steps, catalog, reader)
    for number in range(len(pipeline.steps)):
        check.step(number)


class _Check:
    def __init__(self, steps: tuple[Step, ...], catalog: Catalog, reader: Reader) -> None:
        self.steps = steps
        self.catalog = catalog
        self.reader = reader
        self.numbers: dict[str, int] = {}
        for number, step in enumerate(steps):
            self.numbers.setdefault(step.id, number)
        self.faults: dict[int, str | None] = {}

    # Few pipelines have branches, joins or loops; only those take what follows.

    @cached_property
    def flow(self) -> Flow:
        return flow(self.steps)

    @cached_property
    def heard_by(self) -> tuple[tuple[int, ...], ...]:
        return flow(in_doubt(self.steps)).heard_by

    @cached_property
    def named(self) -> set[str]:
        return {name for step in self.steps for name in step.depends_on}

    @cached_property
    def results(self) -> list[Schema | None]:
        return self.catalog.results.of(self.steps)

    def step(self, number: int) -> None:
        self.id(number)
        self.dependencies(number)
        self.waited_for(number)
        self.names(number)
        self.loop(number)
        self.schema(number)

    def id(self, number: int) -> None:
        step = self.steps[number]
        if step.id and self.numbers[step.id] != number:
            first = self.steps[self.numbers[step.id]].source.line
            self.wrong(step, "id", f"two steps here have the id {step.id!r}; the first is in line {first}")

    def dependencies(self, number: int) -> None:
        step = self.steps[number]
        for at, name in zip(listed(step.source, "depends_on"), step.depends_on, strict=False):
            other = self.numbers.get(name)
            if other is None:
                self.unknown(at, number, "depends_on", name)
            elif other == number:
                self.reader.wrong(at, f"step {name!r} depends on itself")
            elif other > number:
                self.reader.wrong(
                    at, f"depends_on names {name!r}, which comes later; a step can wait for earlier ones"
                )

    def unknown(self, at: Node, number: int, key: str, name: str) -> None:
        """Told only where every step has an id: else it may be one of those that lack it."""
        if "" not in self.numbers:
            known = [earlier.id for earlier in self.steps[:number]]
            advice = hint(self.reader, name, known) if known else f"; {_FIRST_STEP[key]}"
            self.reader.wrong(at, f"{key} names {name!r}, which is no step here{advice}")

    def waited_for(self, number: int) -> None:
        step = self.steps[number]
        # Who names it in vain has been told so; and of two with one id, the first is the one that is named.
        if step.is_async and not self.heard_by[number] and step.id not in self.named:
            said = f"nothing waits for the async step {step.id!r}"
            self.wrong(step, "async", f"{said}; name it in depends_on of a later step, as a join")

    def names(self, number: int) -> None:
        step = self.steps[number]
        if isinstance(step.body, Nested):
            self.existing(place(step.source, "pipeline"), "pipelines", step.body.pipeline)
        if isinstance(step.body, AgentWork) and step.body.agent is not None:
            self.existing(place(step.source, "agent"), "agents", step.body.agent)
        for name, count in step.pools:
            at = _pool_node(step, name)
            pool = self.catalog.pools.get(name)
            if pool is None:
                self.existing(at, "pools", name)
            elif count > pool.size:
                said = f"step {step.id!r} takes {count} of the pool {name!r}"
                self.reader.wrong(at, f"{said}, which has only {pool.size}")

    def existing(self, at: Node, key: str, name: str) -> None:
        known = {
            "pipelines": list(self.catalog.pipelines),
            "agents": self.catalog.agents,
            "pools": list(self.catalog.pools),
        }[key]
        if name not in known and key not in self.catalog.unread:
            advice = hint(self.reader, name, known) if known else f"; define it, as in {key}: {{{name}: 1}}"
            self.reader.wrong(at, f"there is no {key[:-1]} {name!r}{advice}")

    def loop(self, number: int) -> None:
        step = self.steps[number]
        if step.on_fail is None:
            return
        at, target = place(step.source, "on_fail", "retry_from"), step.on_fail.retry_from
        region = loop_region(self.steps, number)
        if target not in self.numbers:
            self.unknown(at, number, "retry_from", target)
        elif region is None:
            said = "is this step itself" if target == step.id else "comes later"
            advice = ONE_STEP_AGAIN
            self.reader.wrong(at, f"retry_from names {target!r}, which {said}; {advice}")
        else:
            fault = self.branch_fault(step, region)
            if fault is not None:
                self.reader.wrong(at, fault)

    def branch_fault(self, step: Step, region: range) -> str | None:
        target = self.steps[region.start]
        if step.is_async or target.is_async:
            branch = step.id if step.is_async else target.id
            return f"retry_from cannot start or end in the async step {branch!r}; there write on_error: retry"
        for later, earlier in self.crossings(region):
            a, b = self.steps[earlier].id, self.steps[later].id
            return f"going back to {target.id!r} would cross the async branch {a!r}, for which {b!r} waits"
        return None

    def crossings(self, region: range) -> Iterator[tuple[int, int]]:
        """Steps of which one is in the region, the other not, and the later is told of the earlier's end."""
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
            self.wrong(step, "output_schema", f"output_schema is no JSON Schema: {fault}")
        elif isinstance(step.body, Join):
            self.joined(step, step.output_schema)

    def fault(self, number: int) -> str | None:
        if number not in self.faults:
            schema = self.steps[number].output_schema
            self.faults[number] = None if schema is None else schema_fault(schema)
        return self.faults[number]

    def joined(self, join: Step, wanted: Schema) -> None:
        schemas: dict[str, Schema] = {}
        for at, name in zip(listed(join.source, "depends_on"), join.depends_on, strict=False):
            schema = self.member(name)
            if schema is None:
                why = f"the join {join.id!r} has an output_schema, so each step it joins needs one"
                self.reader.wrong(at, f"{why}; {name!r} has none")
            schemas[name] = ANYTHING if schema is None else schema
        mistaken = not schemas.keys() <= self.numbers.keys() or not schemas
        for name, fault in join_contradictions(wanted, schemas).items():
            if name in schemas:
                said = f"the join's output_schema contradicts that of {name!r}: {fault}"
                self.wrong(join, "output_schema", said)
            elif not mistaken:
                self.wrong(join, "output_schema", fault)

    def member(self, name: str) -> Schema | None:
        """What is known of what a join gets; anything where that has been told to be wrong."""
        number = self.numbers.get(name)
        if number is None or self.fault(number) is not None:
            return ANYTHING
        return self.results[number]

    def wrong(self, step: Step, key: str, message: str) -> None:
        self.reader.wrong(place(step.source, key), message)


def in_doubt(steps: Sequence[Step]) -> list[Step]:
    """The steps, but those of which it is not known for what they wait, wait for all before them."""
    before: dict[str, None] = {}
    found: list[Step] = []
    for step in steps:
        mistaken = _is_mistaken(step) or not before.keys() >= set(step.depends_on)
        found.append(replace(step, depends_on=tuple(before)) if mistaken else step)
        before[step.id] = None
    return found


def _is_mistaken(step: Step) -> bool:
    """Whether it has a depends_on that could not be read, or was misspelt."""
    if "depends_on" in step.source.entries:
        written = step.source.get("depends_on")
        return not isinstance(written, Items) or len(written.nodes) != len(step.depends_on)
    return any(nearest(key, ("depends_on",)) for key in step.source.entries if key not in _STEP_KEYS)


_STEP_KEYS = frozenset(key.name for key in STEP.keys)


def _pool_node(step: Step, name: str) -> Node:
    """Where a pool is named: alone, in a list, or as a key."""
    written = step.source.get("pools")
    if isinstance(written, Table):
        return written.key(name)
    names = (node for node in listed(step.source, "pools") if getattr(node, "text", None) == name)
    return next(names, place(step.source, "pool"))


def hint(reader: Reader, name: str, known: Sequence[str]) -> str:
    """The end of a sentence about an unknown name; to look for a similar one takes long, if there are many."""
    return "" if reader.full else suggestion(name, known)


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
