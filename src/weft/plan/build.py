"""From what was read to the objects of the model. Nothing is checked here beyond what a key alone can tell."""

from collections.abc import Iterable
from typing import Any

from weft.plan.document import Document, Table
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
from weft.plan.records import Values
from weft.plan.settings import own_settings


def agents(given: dict[str, Values] | None) -> dict[str, Agent]:
    """One that does not say how it is driven has been told so; what names it need not be told, too."""
    return {
        name: Agent(name=name, source=values.table, **({"use": "builtin"} | values.given))
        for name, values in (given or {}).items()
    }


def pools(given: dict[str, Any] | None) -> dict[str, Pool]:
    return {name: _pool(name, value) for name, value in (given or {}).items()}


def _pool(name: str, given: int | Values) -> Pool:
    if isinstance(given, int):
        return Pool(name=name, size=given)
    values: tuple[str, ...] = given.get("values", ())
    return Pool(name=name, size=len(values), values=values)


def pipeline(
    name: str | None, given: Iterable[Values], document: Document, *, built_in: bool = False
) -> Pipeline:
    found = (step(values) for values in given)
    steps = tuple(one for one in found if one is not None)
    return Pipeline(name=name, steps=steps, document=document, built_in=built_in)


def step(values: Values) -> Step | None:
    """None if it has no id or no body: that has been told."""
    given = values.given
    body = _body(given)
    if body is None or "id" not in given:
        return None
    on_fail = given.get("on_fail")
    return Step(
        id=given["id"],
        body=body,
        is_async=given.get("async", False),
        depends_on=given.get("depends_on", ()),
        condition=given.get("condition"),
        output_schema=given.get("output_schema"),
        on_error=given.get("on_error", "abort"),
        max_retries=given.get("max_retries", 0) if given.get("on_error") == "retry" else 0,
        on_fail=OnFail(on_fail.get("retry_from", ""), on_fail.get("max")) if on_fail else None,
        on_result=tuple(_on_result(given.get("on_result", ()))),
        pools=_step_pools(given),
        timeout=given.get("timeout"),
        grace=given.get("grace"),
        env=given.get("env", {}),
        estimate=estimate(given.get("estimate")),
        source=values.table,
    )


def _body(given: dict[str, Any]) -> Body | None:
    if "prompt" in given:
        names = ("agent", "model", "resume", "max_cost", "read_only")
        return AgentWork(prompt=given["prompt"], **{name: given[name] for name in names if name in given})
    if "run" in given:
        return RunCommand(given["run"])
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
            return None


def _on_result(given: Iterable[Values]) -> Iterable[OnResult]:
    for one in given:
        if "when" in one.given and "action" in one.given:
            yield OnResult(one.given["when"], one.given["action"])


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
    id_: str = given.get("id", "")
    steps = given.get("steps")
    return Subplan(
        id=id_,
        title=given.get("title", id_),
        prompt=given.get("prompt"),
        depends_on=given.get("depends_on", ()),
        files=given.get("files", ()),
        verify=given.get("verify", ()),
        pipeline=_pipeline_name(given, values.table),
        steps=None if steps is None else pipeline(None, steps, document),
        estimate=estimate(given.get("estimate")),
        settings=own_settings(values),
        source=values.table,
    )


def _pipeline_name(given: dict[str, Any], table: Table) -> str | None:
    if "subplans" in table.entries or "steps" in table.entries:
        return None
    return given.get("pipeline", None if "pipeline" in table.entries else "direct")
