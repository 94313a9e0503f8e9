"""Decide whether a plan needs sandboxes, and whether this machine can provide them."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from weft.app.project.plan_agents import agents_of
from weft.errors import InputError
from weft.plan.model import Plan, Step
from weft.plan.pipelines.hierarchy import inner_first
from weft.plan.sandbox import Sandbox
from weft.plan.text.problems import Position


class SandboxRequest(Struct, frozen=True):
    """The needs of a plan that uses sandboxes."""

    network: bool
    """False if a sandbox must have no network."""


def requested_sandboxes(plan: Plan) -> SandboxRequest | None:
    """Returns the sandboxes that a plan needs; None if no step uses one."""
    sandboxes = [sandbox for sandbox in (*_settings(plan), *_own_sandboxes(plan)) if sandbox.is_on]
    return SandboxRequest(network=all(sandbox.network for sandbox in sandboxes)) if sandboxes else None


def needs_homes(plan: Plan) -> bool:
    """Returns whether a step has a home directory of its own."""
    settings = (scope.settings.isolated_home for scope in plan.scopes)
    return (
        requested_sandboxes(plan) is not None
        or any(settings)
        or any(agent.isolated_home for agent in plan.agents.values())
    )


def slices_in_sandboxes(plan: Plan) -> frozenset[int]:
    """Returns the rows of slices that may have a step in a sandbox."""
    rows = [row for row in range(len(plan.subplans)) if plan.outline.is_leaf(row)]
    # Any slice may call the agent, in a resolver of conflicts too, so all of them count.
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
    # Slices without settings of their own share the scope object of their group.
    scopes = {id(scope): scope for scope in plan.scopes}
    return (scope.settings.sandbox for scope in scopes.values())


def _own_sandboxes(plan: Plan) -> Iterator[Sandbox]:
    """Yields the sandbox settings of agents and steps."""
    for agent in {agent.name: agent for agent in agents_of(plan)}.values():
        yield Sandbox(**agent.sandbox or {})
    for step in _steps(plan):
        yield Sandbox(**step.sandbox or {})


def _steps(plan: Plan) -> Iterator[Step]:
    """Yields the steps of each used pipeline once."""
    rows = range(len(plan.subplans))
    used = [plan.pipeline_of(row) for row in rows if plan.outline.is_leaf(row)]
    for pipeline in {id(pipeline): pipeline for pipeline in used}.values():
        yield from pipeline.steps
        for name in inner_first(pipeline.steps, plan.pipelines):
            yield from plan.pipelines[name].steps


def trouble(plan: Plan, environ: Mapping[str, str]) -> str:
    """Returns why this machine cannot provide the plan's sandboxes, and what to type; empty if it can."""
    request = requested_sandboxes(plan)
    if request is None:
        return ""
    from weft.runtime.sandbox.probe import probe  # noqa: PLC0415 - most plans have no sandboxes

    result = probe(environ, network=request.network)
    if not result.trouble:
        return ""
    at = _place(plan) or Position(plan.document.file, 1, 1)
    return f"{at}: `sandbox: bwrap` does not work here: {result.trouble}; to fix it, type: {result.command}"


def refuse_without(plan: Plan, environ: Mapping[str, str]) -> None:
    """Raises `InputError` if the plan needs sandboxes that this machine cannot provide."""
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
