"""What is in force at a place: the step before its agent, the nearest subplan before those around it."""

from typing import Any

import pytest

from weft.plan.display.explain import Explanation, explain
from weft.plan.loader.load import load_plan, read_config

PLAN = """\
weft: 1
plan: p
agents:
  coder: {use: claude, model: large, max_cost: 2}
  plain: {use: codex}
subplans:
  - id: group
    grace: 1m
    verify: make
    subplans:
      - id: a
        budget: 3
        steps:
          - {id: by-agent, prompt: x}
          - {id: by-step, prompt: x, agent: plain, model: small, grace: 2s, max_cost: 1}
          - {id: named, prompt: x, agent: plain, pools: {db: 2}}
          - {id: run, run: [ls, -l]}
      - {id: b, prompt: x, verify: make, model: medium}
pools: {db: 2}
"""


def explained(place: str, *configs: str) -> Explanation:
    return explain(load_plan(PLAN, configs=[read_config(text, "c.yaml", "user") for text in configs]), place)


def in_force(place: str, name: str, *configs: str) -> tuple[Any, str]:
    explanation = explained(place, *configs)
    return next(
        (entry.value, str(entry.origin))
        for entry in (*explanation.settings, *explanation.own)
        if entry.name == name
    )


@pytest.mark.parametrize(
    ("place", "name", "value", "origin"),
    [
        ("group/a:by-agent", "agent", "coder", "weft.yaml:4, the first of the plan's agents"),
        ("group/a:by-agent", "model", "large", "weft.yaml:4, the agent 'coder'"),
        ("group/a:by-agent", "max_cost", 2, "weft.yaml:4, the agent 'coder'"),
        ("group/a:by-agent", "grace", "1m", "weft.yaml:8"),
        ("group/a:by-step", "agent", "plain", "weft.yaml:15"),
        ("group/a:by-step", "model", "small", "weft.yaml:15"),
        ("group/a:by-step", "max_cost", 1, "weft.yaml:15"),
        ("group/a:by-step", "grace", "2s", "weft.yaml:15"),
        ("group/a:named", "model", None, "default"),
        ("group/a:named", "pools", {"db": 2}, "weft.yaml:16"),
        ("group/a:run", "agent", "coder", "weft.yaml:4, the first of the plan's agents"),
        ("group/a:run", "run", ["ls", "-l"], "weft.yaml:17"),
        ("group/b:work", "model", "medium", "weft.yaml:18"),
        ("group/b:check", "on_fail", {"retry_from": "work"}, "built-in pipelines:8"),
        ("group", "grace", "1m", "weft.yaml:8"),
        ("/", "grace", "10s", "default"),
    ],
)
def test_a_value_comes_from_the_nearest_place(place: str, name: str, value: object, origin: str) -> None:
    assert in_force(place, name) == (value, origin)


def test_a_model_that_is_set_outranks_the_agent_s_own() -> None:
    assert in_force("group/a:by-agent", "model", "model: tiny") == ("tiny", "c.yaml:1")


def test_budgets_are_those_of_all_levels_around() -> None:
    ceilings = explained("group/a", "budget: 9").ceilings
    assert [(entry.name, entry.value) for entry in ceilings] == [("/", 9), ("group/a", 3)]
    assert explained("group/b").ceilings == ()


def test_budgets_in_tokens_are_reported_apart() -> None:
    explanation = explained("group/a", "budget: {usd: 9, tokens: 5M}")
    assert [(entry.name, entry.value) for entry in explanation.ceilings] == [("/", 9), ("group/a", 3)]
    assert [(entry.name, entry.value) for entry in explanation.token_ceilings] == [("/", 5_000_000)]
    assert explanation.to_json()["token_budgets"] == [
        {"path": "/", "tokens": 5_000_000, "origin": "c.yaml:1", "file": "c.yaml", "line": 1}
    ]


def test_what_an_agent_may_use_at_most_is_in_force_where_the_step_does_not_say() -> None:
    text = PLAN.replace("max_cost: 2", "max_cost: 2, max_tokens: 50k")
    own = {entry.name: entry.value for entry in explain(load_plan(text), "group/a:by-agent").own}
    assert own["max_tokens"] == "50k"
