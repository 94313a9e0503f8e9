"""A step that no ceiling has room for is told before anything is run."""

import json
from typing import Any

import pytest

from weft.plan.loader.load import load_plan


def warnings(
    step: dict[str, Any] | None = None, agent: dict[str, Any] | None = None, **plan: Any
) -> list[str]:
    steps = [{"id": "work", "prompt": "x", **(step or {})}]
    inner = {"id": "a", "steps": steps}
    data = {"weft": 1, "plan": "p", "agents": {"coder": {"use": "claude", **(agent or {})}}, **plan}
    loaded = load_plan(json.dumps(data | {"subplans": [{"id": "g", "budget": 3, "subplans": [inner]}]}))
    return [problem.message for problem in loaded.warnings]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"step": {"max_cost": 3}},
        {"agent": {"max_cost": 9}, "step": {"max_cost": 1}},
        {"budget": 4, "reserve": 3},
    ],
)
def test_what_fits_is_not_reported(settings: dict[str, Any]) -> None:
    assert warnings(**settings) == []


@pytest.mark.parametrize(
    "settings", [{"step": {"max_cost": 3.5}}, {"agent": {"max_cost": 3.5}}, {"reserve": 3.5}]
)
def test_what_can_never_fit_is_reported_with_the_nearest_ceiling(settings: dict[str, Any]) -> None:
    message = "step 'work' can never start: it reserves $3.50, and the budget of g is $3.00"
    assert warnings(**settings, budget=3.25) == [message]


def test_the_ceiling_of_the_plan_counts_too_in_tokens_as_well() -> None:
    message = (
        "step 'work' can never start: it reserves 5,000 tokens, and the budget of the plan is 4,000 tokens"
    )
    assert warnings(step={"max_tokens": "5k"}, budget={"tokens": "4k"}) == [message]
