"""Whether a plan wants sandboxes, and whether it can have them here."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from weft.app.project.plan_agents import agents_of
from weft.errors import InputError
from weft.plan.model import Plan, Step
from weft.plan.pipelines.hierarchy import inner_first
from weft.plan.sandbox import Sandbox
from weft.plan.text.problems import Position
from weft.runtime.sandbox.probe import Probe, probe


class SandboxRequest(Struct, frozen=True):
    """Sandboxes."""

    network: bool
    """False: one of them is to be without."""


def wanted(plan: Plan) -> SandboxRequest | None:
    """None if no step is in one."""
    found = [one for one in (*_settings(plan), *_said(plan)) if one.is_on]
    return SandboxRequest(network=all(one.network for one in found)) if found else None


def homes_wanted(plan: Plan) -> bool:
    """Whether a step has a home of its own."""
    settings = (scope.settings.isolated_home for scope in plan.scopes)
    return wanted(plan) is not None or any(settings) or any(one.isolated_home for one in plan.agents.values())


def slices_in_sandboxes(plan: Plan) -> frozenset[int]:
    """The rows of slices of which a step may be in a sandbox."""
    rows = [row for row in range(len(plan.subplans)) if plan.outline.is_leaf(row)]
    if any(Sandbox(**agent.sandbox or {}).is_on for agent in agents_of(plan)):
        return frozenset(rows)
    return frozenset(
        row
        for row in rows
        if plan.scopes[row].settings.sandbox.is_on
        or any(Sandbox(**step.sandbox or {}).is_on for step in _steps_of(plan, row))
    )


def _steps_of(plan: Plan, row: int) -> Iterator[Step]:
    pipeline = plan.pipeline_of(row)
    yield from pipeline.steps
    for name in inner_first(pipeline.steps, plan.pipelines):
        yield from plan.pipelines[name].steps


def _settings(plan: Plan) -> Iterator[Sandbox]:
    scopes = {id(scope): scope for scope in plan.scopes}
    return (scope.settings.sandbox for scope in scopes.values())


def _said(plan: Plan) -> Iterator[Sandbox]:
    """What agents and steps say themselves."""
    for agent in {agent.name: agent for agent in agents_of(plan)}.values():
        yield Sandbox(**agent.sandbox or {})
    for step in _steps(plan):
        yield Sandbox(**step.sandbox or {})


def _steps(plan: Plan) -> Iterator[Step]:
    """Those of each pipeline that is used, once."""
    rows = range(len(plan.subplans))
    used = [plan.pipeline_of(row) for row in rows if plan.outline.is_leaf(row)]
    for pipeline in {id(one): one for one in used}.values():
        yield from pipeline.steps
        for name in inner_first(pipeline.steps, plan.pipelines):
            yield from plan.pipelines[name].steps


def trouble(plan: Plan, environ: Mapping[str, str]) -> str:
    """Why the plan cannot have the sandboxes that it wants, and what to type; empty if it can."""
    need = wanted(plan)
    found = Probe() if need is None else probe(environ, network=need.network)
    if not found.trouble:
        return ""
    at = _place(plan) or Position(plan.document.file, 1, 1)
    return f"{at}: `sandbox: bwrap` cannot be had here: {found.trouble}; what helps: {found.command}"


def refuse_without(plan: Plan, environ: Mapping[str, str]) -> None:
    """Raises `InputError` if the plan wants what there cannot be."""
    message = trouble(plan, environ)
    if message:
        raise InputError(message)


def _place(plan: Plan) -> Position | None:
    return next(
        (
            at
            for scope in plan.scopes
            if (at := scope.find("sandbox.use")[1].origin("sandbox.use")) and scope.settings.sandbox.is_on
        ),
        None,
    )
