"""Small plans for tests, written down in a few words."""

import json
from typing import Any

from weft.plan.compile.compile import compile_plan
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.loader.load import load_plan

AGENTS = {"coder": {"use": "claude", "pool": 3}, "tester": {"use": "codex", "max_cost": 0.25}}

PIPELINES: dict[str, list[dict[str, Any]]] = {
    "fan": [
        {"id": "a", "agent": "coder", "prompt": "x", "async": True},
        {"id": "b", "agent": "tester", "prompt": "x", "async": True, "pool": "db"},
        {"id": "all", "action": "join", "depends_on": ["a", "b"]},
        {"id": "sum", "agent": "coder", "prompt": "x", "on_error": "retry", "max_retries": 1},
    ],
    "loops": [
        {"id": "one", "agent": "coder", "prompt": "x"},
        {"id": "two", "agent": "tester", "prompt": "x", "on_fail": {"retry_from": "one", "max": 2}},
        {"id": "check", "action": "verify", "on_fail": {"retry_from": "one"}},
    ],
    "outer": [
        {"id": "inner", "pipeline": "loops", "on_error": "retry", "max_retries": 1},
        {"id": "gate", "action": "ask", "question": "Go on?"},
        {"id": "ship", "run": ["ship"], "pools": ["db"], "condition": "attempt == 1"},
        {"id": "idle", "agent": "coder", "prompt": "x", "condition": "never"},
    ],
}


def compiled(*subplans: dict[str, Any], **plan: Any) -> CompiledPlan:
    """A plan of these subplans, with two agents and the pipelines above; slices need not say their prompt."""
    head = {"weft": 1, "plan": "p", "agents": AGENTS, "agent": "coder"}
    if any("pipeline" in entry for entry in _slices(subplans)):
        head |= {"pipelines": PIPELINES, "pools": {"db": 1}}
    text = json.dumps(head | plan | {"subplans": [_complete(entry) for entry in subplans]})
    return compile_plan(load_plan(text))


def _slices(subplans: Any) -> list[dict[str, Any]]:
    return [
        leaf
        for entry in subplans
        for leaf in (_slices(entry["subplans"]) if "subplans" in entry else [entry])
    ]


def _complete(subplan: dict[str, Any]) -> dict[str, Any]:
    if "subplans" in subplan:
        return subplan | {"subplans": [_complete(entry) for entry in subplan["subplans"]]}
    return {"prompt": "x"} | subplan
