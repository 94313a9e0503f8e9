"""A plan prepared for its rehearsal: the same net, limits and rules, without texts that only a real run can fill.

A forecast knows that a step takes eleven minutes and succeeds; it does not know the text that the step produces.
So nothing in a rehearsed plan reads a result: prompts, commands and questions are empty, conditions hold, and
results are not checked. Failures come from the estimates instead, and take the plan's own ways: retries,
`on_fail` loops, failure modes. Results land without the approval of a person.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from weft.ids import SubplanPath
from weft.plan.model import AgentWork, Ask, Body, Pipeline, Plan, Pool, RunCommand, Step
from weft.plan.order.outline import ROOT
from weft.plan.settings import Layer, Scope

_AUTO = {"merge.mode": "auto"}


def rehearsed(plan: Plan) -> Plan:
    """Returns the plan without anything that depends on the results of steps."""
    pipelines: dict[int, Pipeline] = {}
    scopes: dict[int, Scope] = {}

    # Slices that share a pipeline or settings must share them afterwards: the compiler builds one shape for all.
    def pipeline(original: Pipeline) -> Pipeline:
        if id(original) not in pipelines:
            pipelines[id(original)] = replace(original, steps=tuple(map(_step, original.steps)))
        return pipelines[id(original)]

    def scope(original: Scope) -> Scope:
        if id(original) not in scopes:
            scopes[id(original)] = _with(original, _AUTO)
        return scopes[id(original)]

    return replace(
        plan,
        pipelines={name: pipeline(each) for name, each in plan.pipelines.items()},
        subplans=tuple(
            subplan if subplan.steps is None else replace(subplan, steps=pipeline(subplan.steps))
            for subplan in plan.subplans
        ),
        scopes=tuple(map(scope, plan.scopes)),
    )


def _with(scope: Scope, values: Mapping[str, object]) -> Scope:
    outer: Mapping[str, object] = {} if scope.flags is None else scope.flags.values
    return Scope(scope.layers, Layer("the forecast", {**outer, **values}))


def _step(step: Step) -> Step:
    return replace(step, body=_body(step.body), condition=None, output_schema=None, on_result=(), env={})


def _body(body: Body) -> Body:
    match body:
        case AgentWork():
            return replace(body, prompt="")
        case RunCommand():
            return RunCommand(("true",))
        case Ask():
            return Ask("")
        case _:
            return body


# Other sizes


def with_width(plan: Plan, width: int, path: str = "") -> Plan:
    """Returns the plan with another `max_parallel` of the plan, or of a group. Limits inside it stay."""
    row = plan.outline.paths.index(SubplanPath(path)) if path else ROOT
    scopes = list(plan.scopes)
    scopes[row] = _with(scopes[row], {"max_parallel": width})
    return replace(plan, scopes=tuple(scopes))


def with_pool(plan: Plan, name: str, size: int) -> Plan:
    """Returns the plan with another size of a pool.

    `pool:NAME` is a pool of the plan, `agent:NAME` limits the calls of an agent, `host:NAME` the steps on a host.
    """
    kind, _, label = name.partition(":")
    if kind == "host":
        return replace(plan, hosts={**plan.hosts, label: replace(plan.hosts[label], slots=size)})
    if kind == "agent":
        return replace(plan, agents={**plan.agents, label: replace(plan.agents[label], pool=size)})
    return replace(plan, pools={**plan.pools, label: _resize(plan.pools[label], size)})


def _resize(pool: Pool, size: int) -> Pool:
    if pool.values is None:
        return replace(pool, size=size)
    extra = tuple(f"{pool.name}-{number}" for number in range(len(pool.values), size))
    return replace(pool, size=size, values=(*pool.values, *extra)[:size])
