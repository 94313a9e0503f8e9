"""The values in force at one place of a plan, each with its origin."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from weft.errors import InputError
from weft.plan.display import notation
from weft.plan.display.origins import Origin, agent_origin, origin
from weft.plan.display.show import step_entries
from weft.plan.loader.slices_check import agent_of
from weft.plan.model import Agent, AgentWork, Nested, Plan, Step
from weft.plan.order.outline import ROOT
from weft.plan.settings import SETTING_NAMES, Settings
from weft.plan.text.document import Document, Table
from weft.plan.text.emit import Plain
from weft.plan.text.problems import suggestion

WHOLE = "/"
"""The path of the plan itself."""


class EffectiveValue(Struct, frozen=True, kw_only=True):
    """A value as it would be written, with its origin; None if nothing is set."""

    name: str
    value: Plain
    origin: Origin

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "value": self.value, **self.origin.to_json()}


class Explanation(Struct, frozen=True, kw_only=True):
    """The values in force at one place."""

    path: str
    step: str | None
    settings: tuple[EffectiveValue, ...]
    own: tuple[EffectiveValue, ...]
    """What a step sets itself, besides settings."""
    ceilings: tuple[EffectiveValue, ...]
    """The ceilings that apply here, from the whole plan inwards; the name is the path of their subplan."""
    token_ceilings: tuple[EffectiveValue, ...] = ()
    """The ceilings in tokens."""

    def to_json(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "step": self.step,
            "settings": [setting.to_json() for setting in self.settings],
            "own": [entry.to_json() for entry in self.own],
            "budgets": [_ceiling_json(ceiling, "usd") for ceiling in self.ceilings],
            "token_budgets": [_ceiling_json(ceiling, "tokens") for ceiling in self.token_ceilings],
        }


def _ceiling_json(ceiling: EffectiveValue, unit: str) -> dict[str, Any]:
    return {"path": ceiling.name, unit: ceiling.value, **ceiling.origin.to_json()}


def explain(plan: Plan, place: str) -> Explanation:
    """Returns the values in force for a subplan (`a/b`), a step of a slice (`a/b:code`) or the plan (`/`)."""
    path, colon, address = place.strip().partition(":")
    row = find_row(plan, path)
    settings = tuple(_settings(plan, row))
    own: tuple[EffectiveValue, ...] = ()
    if colon:
        step = _step(plan, row, address)
        on_step = {entry.name: entry for entry in _on_step(plan, row, step)}
        # Values of the step replace settings of the same name; the rest are its own.
        settings = tuple(on_step.pop(setting.name, setting) for setting in settings)
        own = (*on_step.values(), *_own_keys(step))
    return Explanation(
        path=plan.outline.paths[row] or WHOLE,
        step=address if colon else None,
        settings=settings,
        own=own,
        ceilings=tuple(_ceilings(plan, row, "budget")),
        token_ceilings=tuple(_ceilings(plan, row, "budget.tokens")),
    )


def find_row(plan: Plan, path: str) -> int:
    """Returns the number of the subplan with this path. A `/` before or after the path is ignored."""
    paths: list[str] = [*plan.outline.paths]
    stripped = path.strip("/")
    if stripped in paths and path:
        return paths.index(stripped)
    hint = suggestion(stripped, paths[1:])
    raise InputError(f"the plan has no subplan {path!r}{hint}")


def _settings(plan: Plan, row: int) -> Iterator[EffectiveValue]:
    scope = plan.scopes[row]
    for name, value, _ in scope.settings_with_origin():
        yield EffectiveValue(name=name, value=notation.setting(name, value), origin=origin(scope, name))


def _ceilings(plan: Plan, row: int, setting: str) -> Iterator[EffectiveValue]:
    rows = [row]
    while rows[-1] != ROOT:
        rows.append(plan.outline.parents[rows[-1]])
    for group in reversed(rows):
        scope = plan.scopes[group]
        value, _ = scope.find(setting)
        if value is not None and (group == ROOT or setting in plan.subplans[group].settings):
            path = plan.outline.paths[group] or WHOLE
            amount = notation.dollars(value) if setting == "budget" else value
            yield EffectiveValue(name=path, value=amount, origin=origin(scope, setting))


# Steps.


class _LocatedStep(Struct, frozen=True, kw_only=True):
    """A step with its document."""

    step: Step
    document: Document

    def origin(self, *keys: str) -> Origin:
        """Returns the origin of the value under these keys."""
        node = self.step.source
        for key in keys[:-1]:
            inner = node.get(key)
            assert isinstance(inner, Table)
            node = inner
        return Origin(at=self.document.position(node.key(keys[-1])))


def _step(plan: Plan, row: int, address: str) -> _LocatedStep:
    path = plan.outline.paths[row]
    if not plan.outline.is_leaf(row):
        raise InputError(f"{path or WHOLE!r} has no steps: it is a group of subplans")
    steps = dict(_addresses(plan, row))
    if address in steps:
        return steps[address]
    raise InputError(f"{path!r} has no step {address!r}{suggestion(address, [*steps])}")


def _addresses(plan: Plan, row: int) -> Iterator[tuple[str, _LocatedStep]]:
    """Yields all steps of a slice by address; those of nested pipelines as `outer.inner`."""
    # Pipelines are free of cycles, so this ends.
    waiting = [("", plan.pipeline_of(row))]
    for prefix, pipeline in waiting:  # grows while it is walked
        for step in pipeline.steps:
            yield prefix + step.id, _LocatedStep(step=step, document=pipeline.document)
            if isinstance(step.body, Nested):
                waiting.append((f"{prefix}{step.id}.", plan.pipelines[step.body.pipeline]))


def _on_step(plan: Plan, row: int, located: _LocatedStep) -> Iterator[EffectiveValue]:
    """Yields the values with which the step or its agent overrides settings."""
    step = located.step
    limits = (("timeout", step.timeout), ("idle_timeout", step.idle_timeout), ("grace", step.grace))
    for name, seconds in limits:
        if seconds is not None:
            yield EffectiveValue(name=name, value=notation.duration(seconds), origin=located.origin(name))
    if step.host is not None:
        yield EffectiveValue(
            name="host", value=notation.host_choice(step.host), origin=located.origin("host")
        )
    for part, value in notation.sandbox(step.sandbox or {}).items():
        yield EffectiveValue(name=f"sandbox.{part}", value=value, origin=located.origin("sandbox"))
    if step.on_fail is not None and step.on_fail.max is not None:
        yield EffectiveValue(name="retries", value=step.on_fail.max, origin=located.origin("on_fail", "max"))
    if isinstance(step.body, AgentWork):
        yield from _agent_work(plan, plan.scopes[row].settings, located, step.body)


def _agent_work(
    plan: Plan, settings: Settings, located: _LocatedStep, body: AgentWork
) -> Iterator[EffectiveValue]:
    agent = agent_of(body, settings, plan.agents)
    assert agent is not None, "a loaded plan has an agent for each step"
    yield from _isolation(plan, agent, located.step)
    if body.agent is not None:
        yield EffectiveValue(name="agent", value=body.agent, origin=located.origin("agent"))
    if body.model is not None:
        yield EffectiveValue(name="model", value=body.model, origin=located.origin("model"))
    # A model in the settings is nearer to the step than that of the agent.
    elif settings.model is None and agent.model is not None:
        yield EffectiveValue(name="model", value=agent.model, origin=_of_agent(plan, agent))
    if body.max_cost is None and agent.max_cost is not None:
        value = notation.dollars(agent.max_cost)
        yield EffectiveValue(name="max_cost", value=value, origin=_of_agent(plan, agent))
    if body.max_tokens is None and agent.max_tokens is not None:
        tokens = notation.tokens(agent.max_tokens)
        yield EffectiveValue(name="max_tokens", value=tokens, origin=_of_agent(plan, agent))


def _isolation(plan: Plan, agent: Agent, step: Step) -> Iterator[EffectiveValue]:
    own = step.sandbox or {}
    for part, value in notation.sandbox(agent.sandbox or {}).items():
        if part not in own:
            yield EffectiveValue(name=f"sandbox.{part}", value=value, origin=_of_agent(plan, agent))
    if agent.isolated_home is not None:
        yield EffectiveValue(name="isolated_home", value=agent.isolated_home, origin=_of_agent(plan, agent))


def _of_agent(plan: Plan, agent: Agent) -> Origin:
    at = agent_origin(plan, agent).at
    return Origin(words=f"the agent {agent.name!r}", at=at)


_SETTINGS_TOO = frozenset({"id", "sandbox", *SETTING_NAMES})


def _own_keys(located: _LocatedStep) -> Iterator[EffectiveValue]:
    entries: Mapping[str, Plain] = dict(step_entries(located.step))
    for name, value in entries.items():
        if name not in _SETTINGS_TOO:
            key = "pool" if name == "pools" and "pool" in located.step.source.entries else name
            yield EffectiveValue(name=name, value=value, origin=located.origin(key))
