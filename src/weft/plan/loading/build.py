"""From what was read to the objects of the model. Nothing is checked here beyond what a key alone can tell.

What could not be read has been told; here it gets a stand-in, so that what names it need not be told, too. Such
objects are only ever checked: a plan with an error is not given to anybody.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

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
from weft.plan.settings import own_settings
from weft.plan.text.document import Document, Items, Node, Scalar, Table


def agents(values: Values) -> dict[str, Agent]:
    """Those of a plan or a configuration."""
    given: dict[str, Values] = values.get("agents", {})
    return {name: _agent(name, given.get(name)) for name, _ in _defined(values, "agents")}


def _agent(name: str, values: Values | None) -> Agent:
    own: dict[str, Any] = {"use": "scripted"}  # of what cannot be read, nothing more is said then
    if values is None:
        return Agent(name=name, **own)
    return Agent(name=name, source=values.table, **(own | values.given | _sandbox(values.given)))


def _sandbox(given: dict[str, Any]) -> dict[str, Any]:
    return {"sandbox": sandbox_parts(given["sandbox"])} if "sandbox" in given else {}


def notify(values: Values) -> tuple[Notify, ...] | None:
    """Those of a plan or a configuration; None if it does not say."""
    given: tuple[Values, ...] | Values | None = values.get("notify")
    if given is None:
        return None
    everything: dict[str, Any] = {"on": EVENTS}
    return tuple(Notify(**everything | one.given) for one in _listed(given))


def _listed(given: tuple[Values, ...] | Values) -> tuple[Values, ...]:
    return given if isinstance(given, tuple) else (given,)


def prices(values: Values) -> dict[str, Price]:
    given: dict[str, Values] = values.get("prices", {})
    return {name: Price(**{"input": 0, "output": 0} | one.given) for name, one in given.items()}


def pools(values: Values) -> dict[str, Pool]:
    given: dict[str, int | Values] = values.get("pools", {})
    return {name: _pool(name, given.get(name, MOST)) for name, _ in _defined(values, "pools")}


def _pool(name: str, given: int | Values) -> Pool:
    if isinstance(given, int):
        return Pool(name=name, size=given)
    values: tuple[str, ...] | None = given.get("values")
    return Pool(name=name, size=MOST if values is None else len(values), values=values)


def pipelines(values: Values, document: Document) -> dict[str, Pipeline]:
    given: dict[str, Sequence[Values]] = values.get("pipelines", {})
    return {
        name: pipeline(name, given[name] if name in given else _readable(node, STEP, document), document)
        for name, node in _defined(values, "pipelines")
    }


def pipeline(
    name: str | None, given: Sequence[Values], document: Document, *, built_in: bool = False
) -> Pipeline:
    """One that is much too long is left without steps."""
    steps = tuple(map(step, given)) if len(given) <= MOST_STEPS else ()
    return Pipeline(name=name, steps=steps, document=document, built_in=built_in)


def _defined(values: Values, key: str) -> Iterator[tuple[str, Node]]:
    """The names that a mapping defines, with what they stand for."""
    node = values.table.get(key)
    for name, (_, value) in node.entries.items() if isinstance(node, Table) else ():
        yield name, value


def several(values: Values, key: str, record: Record, document: Document) -> Sequence[Values]:
    """The records in a list; of a list that could not be read, those that can."""
    given: Sequence[Values] | None = values.get(key)
    return _readable(values.table.get(key), record, document) if given is None else given


def _readable(node: Node | None, record: Record, document: Document) -> Sequence[Values]:
    if not isinstance(node, Items):
        return ()
    unheard = Reader(document)  # all has been told when the list was read
    return [record.read(one, unheard, record.name) for one in node.nodes if isinstance(one, Table)]


def _id(values: Values) -> str:
    """Also one that is not allowed; empty if there is none."""
    node = values.table.get("id")
    return node.text if isinstance(node, Scalar) else ""


def step(values: Values) -> Step:
    given = values.given
    return Step(
        id=_id(values),
        body=_body(given, values.table),
        is_async=given.get("async", False),
        depends_on=given.get("depends_on", ()),
        condition=given.get("condition"),
        output_schema=given.get("output_schema"),
        on_error=given.get("on_error", "abort"),
        max_retries=given.get("max_retries", 0) if given.get("on_error") == "retry" else 0,
        retries_crashes="prompt" in values.table.entries and "on_error" not in given,
        on_fail=_on_fail(given.get("on_fail")),
        on_result=tuple(_on_result(given.get("on_result", ()))),
        pools=_step_pools(given),
        timeout=given.get("timeout"),
        grace=given.get("grace"),
        env=given.get("env", {}),
        **_sandbox(given),
        estimate=estimate(given.get("estimate")),
        source=values.table,
    )


def _body(given: dict[str, Any], table: Table) -> Body:
    if "prompt" in table.entries:
        names = ("prompt", "agent", "model", "resume", "max_cost", "max_tokens", "read_only")
        work: dict[str, Any] = {"prompt": ""}
        return AgentWork(**work | {name: given[name] for name in names if name in given})
    if "pipeline" in given:
        return Nested(given["pipeline"])
    match given.get("action"):
        case "verify":
            return Verify()
        case "join":
            return Join(wait_for_all=given.get("on_error") == "wait_for_all")
        case "ask":
            return Ask(given.get("question", ""))
        case _:
            return RunCommand(given.get("run", ""))


def _on_fail(values: Values | None) -> OnFail | None:
    if values is None or "retry_from" not in values.given:
        return None
    return OnFail(values.given["retry_from"], values.get("max"))


def _on_result(given: Iterable[Values]) -> Iterator[OnResult]:
    for one in given:
        yield OnResult(one.get("when", "always"), one.get("action", "continue"), one.given.get("question"))


def _step_pools(given: dict[str, Any]) -> tuple[tuple[str, int], ...]:
    if "pool" in given:
        return ((given["pool"], 1),)
    several: tuple[str, ...] | dict[str, int] = given.get("pools", ())
    if isinstance(several, dict):
        return tuple(several.items())
    counts: dict[str, int] = {}
    for name in several:
        counts[name] = counts.get(name, 0) + 1
    return tuple(counts.items())


def estimate(values: Values | None) -> Estimate | None:
    return None if values is None else Estimate(**values.given)


def subplan(values: Values, document: Document) -> Subplan:
    """The subplan itself, without what is in it."""
    given = values.given
    id_ = _id(values)
    steps = several(values, "steps", STEP, document)
    return Subplan(
        id=id_,
        title=given.get("title", id_),
        prompt=given.get("prompt"),
        depends_on=given.get("depends_on", ()),
        files=given.get("files", ()),
        verify=given.get("verify", ()),
        pipeline=_pipeline_name(given, values.table),
        steps=pipeline(None, steps, document) if steps else None,
        estimate=estimate(given.get("estimate")),
        settings=own_settings(values),
        source=values.table,
    )


def _pipeline_name(given: dict[str, Any], table: Table) -> str | None:
    if "subplans" in table.entries or "steps" in table.entries:
        return None
    return given.get("pipeline", None if "pipeline" in table.entries else "direct")
