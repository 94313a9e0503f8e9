"""Events of which somebody is told, or is not."""

from collections.abc import Iterable
from typing import Any

from stored_events import make_event
from weft.engine.messages.events import AnyEvent, Recorded


def event(kind: str, subplan: str = "", step: str = "", outcome: str = "", **data: Any) -> AnyEvent:
    return make_event(kind=kind, subplan=subplan, step=step, outcome=outcome, data=data)


def failed(subplan: str, **data: Any) -> AnyEvent:
    return event("subplan_state", subplan, outcome="failed", **({"reason": "error"} | data))


def held(subplan: str, step: str = "@land", **data: Any) -> AnyEvent:
    return event("step_finished", subplan, step, "held", **data)


def ended(subplan: str, outcome: str, step: str = "@land") -> AnyEvent:
    return event("step_finished", subplan, step, outcome)


def asked(subplan: str, firing: int) -> AnyEvent:
    return event("ask", subplan, "gate", question="Go on?", firing=firing)


def spent(percent: int, subplan: str = "") -> AnyEvent:
    outcome = "reached" if percent == 100 else "alert"
    return event(
        "budget", subplan, outcome=outcome, percent=percent, spent=percent * 10_000, ceiling=1_000_000
    )


def finished(outcome: str, **data: Any) -> AnyEvent:
    return event("run_finished", outcome=outcome, **data)


def recorded(events: Iterable[AnyEvent]) -> list[Recorded]:
    return [Recorded(seq=seq, at=1_000.0 + seq, run="r1", event=item) for seq, item in enumerate(events)]
