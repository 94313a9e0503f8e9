"""Builds the objects of the model from the values that were read.

This module checks only what a single key can show. A value that could not be read has already been reported; it
gets a stand-in here, so that references to it do not cause further errors. A plan with an error never leaves the
loader, so the stand-ins never run.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from weft.plan.hosts import LOCAL, HostSpec
from weft.plan.language.kinds import MOST
from weft.plan.language.notify import EVENTS
from weft.plan.language.reader import Reader
from weft.plan.language.records import Record, Values
from weft.plan.language.tables import STEP
from weft.plan.model import (
    Agent,
    AgentWork,
    Ask,
    Body,
    Estimate,
    Join,
    Nested,
    OnFail,
    OnResult,
    Pipeline,
    Pool,
    RunCommand,
    Step,
    Subplan,
    Verify,
)
from weft.plan.notify import Notify
from weft.plan.pipelines.unroll import MOST_STEPS
from weft.plan.prices import Price
from weft.plan.sandbox import sandbox_parts
from weft.plan.settings import host_choice, own_settings
from weft.plan.text.document import Document, Items, Node, Scalar, Table


def agents(values: Values) -> dict[str, Agent]:
    """Returns the agents of a plan or a configuration."""
    values_by_name: dict[str, Values] = values.get("agents", {})
    return {name: _agent(name, values_by_name.get(name)) for name, _ in _definitions(values, "agents")}


def _agent(name: str, values: Values | None) -> Agent:
    # Later checks look up the adapter, so a stand-in has one with few demands, which causes no further errors.
    fields: dict[str, Any] = {"use": "scripted"}
    if values is None:
        return Agent(name=name, **fields)
    return Agent(name=name, source=values.table, **(fields | values.by_key | _sandbox(values.by_key)))


def _sandbox(fields: dict[str, Any]) -> dict[str, Any]:
    return {"sandbox": sandbox_parts(fields["sandbox"])} if "sandbox" in fields else {}


def notify(values: Values) -> tuple[Notify, ...] | None:
    """Returns the notifications of a plan or a configuration; None if the key is absent."""
    entries: tuple[Values, ...] | Values | None = values.get("notify")
    if entries is None:
        return None
    everything: dict[str, Any] = {"on": EVENTS}  # the default of `on`
    return tuple(Notify(**everything | entry.by_key) for entry in _as_tuple(entries))


def _as_tuple(entries: tuple[Values, ...] | Values) -> tuple[Values, ...]:
    return entries if isinstance(entries, tuple) else (entries,)


def prices(values: Values) -> dict[str, Price]:
    values_by_name: dict[str, Values] = values.get("prices", {})
    return {name: Price(**{"input": 0, "output": 0} | price.by_key) for name, price in values_by_name.items()}


def hosts(values: Values) -> dict[str, HostSpec]:
    """Returns the hosts of a plan or a configuration."""
    values_by_name: dict[str, Values] = values.get("hosts", {})
    return {name: _host(name, values_by_name.get(name)) for name, _ in _definitions(values, "hosts")}


_SLOTS = 4
"""The slots of a machine if its entry does not set them."""


def _host(name: str, values: Values | None) -> HostSpec:
    if values is None:
        # A stand-in for an entry that could not be read, which is reported.
        return HostSpec(name=name, use=LOCAL if name == LOCAL else "ssh")
    machines = len(values.get("ssh", ())) or values.get("scale", 1)
    slots = None if values.get("use", LOCAL) == LOCAL else _SLOTS * machines
    fields: dict[str, Any] = {"slots": slots, **values.by_key}
    command = fields.get("command", ())
    fields["command"] = tuple(command.split() if isinstance(command, str) else command)
    if "tls" in fields:
        fields["tls"] = fields["tls"].by_key
    return HostSpec(name=name, **fields)


def pools(values: Values) -> dict[str, Pool]:
    values_by_name: dict[str, int | Values] = values.get("pools", {})
    return {name: _pool(name, values_by_name.get(name, MOST)) for name, _ in _definitions(values, "pools")}


def _pool(name: str, size_or_values: int | Values) -> Pool:
    if isinstance(size_or_values, int):
        return Pool(name=name, size=size_or_values)
    # Unreadable values make the pool as large as possible, so that no claim seems too large.
    values: tuple[str, ...] | None = size_or_values.get("values")
    return Pool(name=name, size=MOST if values is None else len(values), values=values)


def pipelines(values: Values, document: Document) -> dict[str, Pipeline]:
    steps_by_name: dict[str, Sequence[Values]] = values.get("pipelines", {})
    return {
        name: pipeline(
            name,
            steps_by_name[name] if name in steps_by_name else _read_tables(node, STEP, document),
            document,
        )
        for name, node in _definitions(values, "pipelines")
    }


def pipeline(
    name: str | None, step_values: Sequence[Values], document: Document, *, built_in: bool = False
) -> Pipeline:
    """Returns the pipeline; without steps if it is far too long, which is reported elsewhere."""
    steps = tuple(map(step, step_values)) if len(step_values) <= MOST_STEPS else ()
    return Pipeline(name=name, steps=steps, document=document, built_in=built_in)


def _definitions(values: Values, key: str) -> Iterator[tuple[str, Node]]:
    """Yields the names that a mapping defines, with their nodes."""
    node = values.table.get(key)
    for name, (_, value) in node.entries.items() if isinstance(node, Table) else ():
        yield name, value


def read_records(values: Values, key: str, record: Record, document: Document) -> Sequence[Values]:
    """Returns the records of a list; if the list could not be read, those that can be read on their own."""
    # One bad entry makes the whole list unreadable. The good ones are read once more, so that references to them
    # hold.
    records: Sequence[Values] | None = values.get(key)
    return _read_tables(values.table.get(key), record, document) if records is None else records


def _read_tables(node: Node | None, record: Record, document: Document) -> Sequence[Values]:
    """Reads the records of a list that was rejected, and reports nothing."""
    if not isinstance(node, Items):
        return ()
    silent = Reader(document)  # the first reading has already reported the errors
    return [record.read(item, silent, record.name) for item in node.nodes if isinstance(item, Table)]


def _id(values: Values) -> str:
    """Returns the id as written, allowed or not; empty if there is none."""
    node = values.table.get("id")
    return node.text if isinstance(node, Scalar) else ""


def step(values: Values) -> Step:
    fields = values.by_key
    return Step(
        id=_id(values),
        body=_body(fields, values.table),
        is_async=fields.get("async", False),
        depends_on=fields.get("depends_on", ()),
        condition=fields.get("condition"),
        output_schema=fields.get("output_schema"),
        on_error=fields.get("on_error", "abort"),
        # Without `on_error: retry`, the key is an error that is reported elsewhere.
        max_retries=fields.get("max_retries", 0) if fields.get("on_error") == "retry" else 0,
        # Any `on_error` is a decision of the user, so crashes are retried only without it.
        retries_crashes="prompt" in values.table.entries and "on_error" not in fields,
        on_fail=_on_fail(fields.get("on_fail")),
        on_result=tuple(_on_result(fields.get("on_result", ()))),
        pools=_step_pools(fields),
        timeout=fields.get("timeout"),
        idle_timeout=fields.get("idle_timeout"),
        grace=fields.get("grace"),
        env=fields.get("env", {}),
        host=host_choice(fields["host"]) if "host" in fields else None,
        **_sandbox(fields),
        estimate=estimate(fields.get("estimate")),
        source=values.table,
    )


def _body(fields: dict[str, Any], table: Table) -> Body:
    if "prompt" in table.entries:
        names = ("prompt", "agent", "model", "resume", "max_cost", "max_tokens", "read_only")
        work: dict[str, Any] = {"prompt": ""}
        return AgentWork(**work | {name: fields[name] for name in names if name in fields})
    # The order does not matter: a rule of the language allows only one of these keys.
    if "pipeline" in fields:
        return Nested(fields["pipeline"])
    match fields.get("action"):
        case "verify":
            return Verify()
        case "join":
            return Join(wait_for_all=fields.get("on_error") == "wait_for_all")
        case "ask":
            return Ask(fields.get("question", ""))
        case _:
            return RunCommand(fields.get("run", ""))


def _on_fail(values: Values | None) -> OnFail | None:
    if values is None or "retry_from" not in values.by_key:
        return None
    return OnFail(values.by_key["retry_from"], values.get("max"))


def _on_result(rules: Iterable[Values]) -> Iterator[OnResult]:
    for rule in rules:
        yield OnResult(
            rule.get("when", "always"), rule.get("action", "continue"), rule.by_key.get("question")
        )


def _step_pools(fields: dict[str, Any]) -> tuple[tuple[str, int], ...]:
    if "pool" in fields:
        return ((fields["pool"], 1),)
    pools: tuple[str, ...] | dict[str, int] = fields.get("pools", ())
    if isinstance(pools, dict):
        return tuple(pools.items())
    counts: dict[str, int] = {}
    for name in pools:
        counts[name] = counts.get(name, 0) + 1
    return tuple(counts.items())


def estimate(values: Values | None) -> Estimate | None:
    return None if values is None else Estimate(**values.by_key)


def subplan(values: Values, document: Document) -> Subplan:
    """Returns the subplan itself, without its children."""
    fields = values.by_key
    id_ = _id(values)
    steps = read_records(values, "steps", STEP, document)
    return Subplan(
        id=id_,
        title=fields.get("title", id_),
        prompt=fields.get("prompt"),
        depends_on=fields.get("depends_on", ()),
        files=fields.get("files", ()),
        verify=fields.get("verify", ()),
        pipeline=_pipeline_name(fields, values.table),
        steps=pipeline(None, steps, document) if steps else None,
        estimate=estimate(fields.get("estimate")),
        settings=own_settings(values),
        source=values.table,
    )


def _pipeline_name(fields: dict[str, Any], table: Table) -> str | None:
    if "subplans" in table.entries or "steps" in table.entries:
        return None
    # An unreadable `pipeline` is not the default pipeline.
    return fields.get("pipeline", None if "pipeline" in table.entries else "direct")
