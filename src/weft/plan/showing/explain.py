"""What is in force at one place of a plan, value by value, and where each comes from."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from weft.errors import InputError
from weft.plan.loading.slices_check import agent_of
from weft.plan.model import Agent, AgentWork, Nested, Plan, Step
from weft.plan.order.outline import ROOT
from weft.plan.settings import SETTING_NAMES, Settings
from weft.plan.showing import written
from weft.plan.showing.origins import Origin, agent_origin, origin
from weft.plan.showing.show import step_entries
from weft.plan.text.document import Document, Table
from weft.plan.text.emit import Plain
from weft.plan.text.problems import suggestion

WHOLE = "/"
"""The path of the plan itself."""


class InForce(Struct, frozen=True, kw_only=True):
    """A value, as it would be written; None if nothing is set."""

    name: str
    value: Plain
    origin: Origin

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "value": self.value, **self.origin.to_json()}


class Explanation(Struct, frozen=True, kw_only=True):
    path: str
    step: str | None
    settings: tuple[InForce, ...]
    own: tuple[InForce, ...]
    """What a step says itself, besides settings."""
    ceilings: tuple[InForce, ...]
    """The budgets that count what is spent here, from the whole plan inwards, by the path they stand on."""
    token_ceilings: tuple[InForce, ...] = ()
    """The same, in tokens."""

    def to_json(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "step": self.step,
            "settings": [one.to_json() for one in self.settings],
            "own": [one.to_json() for one in self.own],
            "budgets": [_ceiling_json(one, "usd") for one in self.ceilings],
            "token_budgets": [_ceiling_json(one, "tokens") for one in self.token_ceilings],
        }


def _ceiling_json(ceiling: InForce, unit: str) -> dict[str, Any]:
    return {"path": ceiling.name, unit: ceiling.value, **ceiling.origin.to_json()}


def explain(plan: Plan, place: str) -> Explanation:
    """Of a subplan, as `store/model`; of a step of a slice, as `store/model:code`; of the plan, as `/`."""
    path, colon, address = place.strip().partition(":")
    row = find_row(plan, path)
    settings = tuple(_settings(plan, row))
    own: tuple[InForce, ...] = ()
    if colon:
        found = _step(plan, row, address)
        on_step = {one.name: one for one in _on_step(plan, row, found)}
        settings = tuple(on_step.pop(one.name, one) for one in settings)
        own = (*on_step.values(), *_own_keys(found))
    return Explanation(
        path=plan.outline.paths[row] or WHOLE,
        step=address if colon else None,
        settings=settings,
        own=own,
        ceilings=tuple(_ceilings(plan, row, "budget")),
        token_ceilings=tuple(_ceilings(plan, row, "budget.tokens")),
    )


def find_row(plan: Plan, path: str) -> int:
    """The number of the subplan with this path; a `/` before or behind it is no matter."""
    paths: list[str] = [*plan.outline.paths]
    wanted = path.strip("/")
    if wanted in paths and path:
        return paths.index(wanted)
    hint = suggestion(wanted, paths[1:])
    raise InputError(f"the plan has no subplan {path!r}{hint}")


def _settings(plan: Plan, row: int) -> Iterator[InForce]:
    scope = plan.scopes[row]
    for name, value, _ in scope.explained():
        yield InForce(name=name, value=written.setting(name, value), origin=origin(scope, name))


def _ceilings(plan: Plan, row: int, setting: str) -> Iterator[InForce]:
    around = [row]
    while around[-1] != ROOT:
        around.append(plan.outline.parents[around[-1]])
    for one in reversed(around):
        scope = plan.scopes[one]
        value, _ = scope.find(setting)
        if value is not None and (one == ROOT or setting in plan.subplans[one].settings):
            path = plan.outline.paths[one] or WHOLE
            amount = written.dollars(value) if setting == "budget" else value
            yield InForce(name=path, value=amount, origin=origin(scope, setting))


# Steps.


class _Found(Struct, frozen=True, kw_only=True):
    step: Step
    document: Document

    def origin(self, *keys: str) -> Origin:
        """Where the value stands that these keys lead to."""
        node = self.step.source
        for key in keys[:-1]:
            inner = node.get(key)
            assert isinstance(inner, Table)
            node = inner
        return Origin(at=self.document.position(node.key(keys[-1])))


def _step(plan: Plan, row: int, address: str) -> _Found:
    path = plan.outline.paths[row]
    if not plan.outline.is_leaf(row):
        raise InputError(f"{path or WHOLE!r} has no steps: it is a group of subplans")
    steps = dict(_addresses(plan, row))
    if address in steps:
        return steps[address]
    raise InputError(f"{path!r} has no step {address!r}{suggestion(address, [*steps])}")


def _addresses(plan: Plan, row: int) -> Iterator[tuple[str, _Found]]:
    """All steps of a slice by their addresses, those of pipelines within it as `outer.inner`."""
    waiting = [("", plan.pipeline_of(row))]
    for prefix, pipeline in waiting:  # grows while it is walked
        for step in pipeline.steps:
            yield prefix + step.id, _Found(step=step, document=pipeline.document)
            if isinstance(step.body, Nested):
                waiting.append((f"{prefix}{step.id}.", plan.pipelines[step.body.pipeline]))


def _on_step(plan: Plan, row: int, found: _Found) -> Iterator[InForce]:
    """What the step, or its agent, puts in place of a setting."""
    step = found.step
    for name, seconds in (("timeout", step.timeout), ("grace", step.grace)):
        if seconds is not None:
            yield InForce(name=name, value=written.duration(seconds), origin=found.origin(name))
    for part, value in written.sandbox(step.sandbox or {}).items():
        yield InForce(name=f"sandbox.{part}", value=value, origin=found.origin("sandbox"))
    if step.on_fail is not None and step.on_fail.max is not None:
        yield InForce(name="retries", value=step.on_fail.max, origin=found.origin("on_fail", "max"))
    if isinstance(step.body, AgentWork):
        yield from _agent_work(plan, plan.scopes[row].settings, found, step.body)


def _agent_work(plan: Plan, settings: Settings, found: _Found, body: AgentWork) -> Iterator[InForce]:
    agent = agent_of(body, settings, plan.agents)
    assert agent is not None, "a loaded plan has an agent for each step"
    yield from _isolation(plan, agent, found.step)
    if body.agent is not None:
        yield InForce(name="agent", value=body.agent, origin=found.origin("agent"))
    if body.model is not None:
        yield InForce(name="model", value=body.model, origin=found.origin("model"))
    elif settings.model is None and agent.model is not None:
        yield InForce(name="model", value=agent.model, origin=_of_agent(plan, agent))
    if body.max_cost is None and agent.max_cost is not None:
        value = written.dollars(agent.max_cost)
        yield InForce(name="max_cost", value=value, origin=_of_agent(plan, agent))
    if body.max_tokens is None and agent.max_tokens is not None:
        tokens = written.tokens(agent.max_tokens)
        yield InForce(name="max_tokens", value=tokens, origin=_of_agent(plan, agent))


def _isolation(plan: Plan, agent: Agent, step: Step) -> Iterator[InForce]:
    own = step.sandbox or {}
    for part, value in written.sandbox(agent.sandbox or {}).items():
        if part not in own:
            yield InForce(name=f"sandbox.{part}", value=value, origin=_of_agent(plan, agent))
    if agent.isolated_home is not None:
        yield InForce(name="isolated_home", value=agent.isolated_home, origin=_of_agent(plan, agent))


def _of_agent(plan: Plan, agent: Agent) -> Origin:
    at = agent_origin(plan, agent).at
    return Origin(words=f"the agent {agent.name!r}", at=at)


_SETTINGS_TOO = frozenset({"id", "sandbox", *SETTING_NAMES})


def _own_keys(found: _Found) -> Iterator[InForce]:
    entries: Mapping[str, Plain] = dict(step_entries(found.step))
    for name, value in entries.items():
        if name not in _SETTINGS_TOO:
            key = "pool" if name == "pools" and "pool" in found.step.source.entries else name
            yield InForce(name=name, value=value, origin=found.origin(key))
