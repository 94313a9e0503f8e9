"""Made-up runs, told event by event."""

import json
from typing import Any

from stored_events import make_event
from weft.app.views.run_view import RunView
from weft.engine.messages.events import AnyEvent
from weft.plan.loader.load import load_plan
from weft.plan.model import Plan

PIPELINES = {
    "tdd": [
        {"id": "tests", "prompt": "x"},
        {"id": "code", "prompt": "x"},
        {"id": "check", "run": "pytest -q", "on_fail": {"retry_from": "code", "max": 3}},
    ],
    "gated": [{"id": "code", "prompt": "x"}, {"id": "gate", "action": "ask", "question": "Go on?"}],
    "outer": [{"id": "inner", "pipeline": "tdd", "on_error": "retry", "max_retries": 1}],
}


def slices(*ids: str, **more: Any) -> list[dict[str, Any]]:
    return [{"id": item, "prompt": "x", "pipeline": "tdd"} | more for item in ids]


def group(name: str, *subplans: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": name, "subplans": list(subplans)} | more


def plan_of(*subplans: dict[str, Any], **more: Any) -> Plan:
    head = {"weft": 1, "plan": "notes", "agent": "coder", "agents": {"coder": {"use": "claude"}}}
    return load_plan(json.dumps(head | {"pipelines": PIPELINES, "subplans": list(subplans)} | more))


class Story:
    """Each thing that happens is told to a view; time passes when it is said so."""

    def __init__(self, *subplans: dict[str, Any], **plan: Any) -> None:
        self.plan = plan_of(*subplans, **plan)
        self.view = RunView(self.plan)
        self.at = 1_000.0
        self.firing = 0
        self.told: list[AnyEvent] = []
        self.firings: dict[tuple[str, str], int] = {}

    def tell(self, kind: str, subplan: str = "", step: str = "", **more: Any) -> AnyEvent:
        event = make_event(
            kind=kind,
            subplan=subplan,
            step=step,
            **{
                name: more.pop(name)
                for name in ("attempt", "outcome", "cost", "tokens", "fact")
                if name in more
            },
            data=more,
        )
        self.told.append(event)
        self.view.apply(event, self.at)
        return event

    def wait(self, seconds: float) -> None:
        self.at += seconds

    def start(self, **more: Any) -> AnyEvent:
        return self.tell("run_started", run="r1", plan="notes", subplans=len(self.plan.subplans), **more)

    def finish(self, outcome: str = "completed") -> AnyEvent:
        return self.tell("run_finished", outcome=outcome, counts={}, seconds=1.0)

    def begin(self, *paths: str) -> None:
        for path in paths:
            self.tell("subplan_state", path, outcome="running", **{"from": "pending"})

    def complete(self, *paths: str, **more: Any) -> None:
        for path in paths:
            self.tell("subplan_state", path, outcome="completed", **{"from": "running"}, **more)

    def fail(self, path: str, reason: str = "error", **more: Any) -> AnyEvent:
        return self.tell(
            "subplan_state", path, outcome="failed", reason=reason, **{"from": "running"}, **more
        )

    def step(self, path: str, step: str, attempt: int = 1, **more: Any) -> AnyEvent:
        self.firing += 1
        self.firings[path, step] = self.firing
        return self.tell("step_started", path, step, attempt=attempt, firing=self.firing, execution=1, **more)

    def end(self, path: str, step: str, outcome: str = "done", **more: Any) -> AnyEvent:
        firing = self.firings[path, step]
        return self.tell("step_finished", path, step, outcome=outcome, firing=firing, execution=1, **more)

    def run(self, path: str, seconds: float = 0.0, **more: Any) -> None:
        """A slice that does one step and completes."""
        self.begin(path)
        self.step(path, "code", agent="coder")
        self.wait(seconds)
        self.end(path, "code", **more)
        self.complete(path)
