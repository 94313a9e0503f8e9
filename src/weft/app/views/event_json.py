"""An event of a run as JSON, for whoever follows along."""

from datetime import UTC, datetime
from typing import Any

from weft.engine.messages.events import Recorded
from weft.plan.report.costs import MICRO


def event_json(recorded: Recorded) -> dict[str, Any]:
    """The same fields first in every event, null where they say nothing; then what only its kind has.

    What the engine itself needs to go on from, the fact, is not for others.
    """
    event = recorded.event
    common = {
        "seq": recorded.seq,
        "ts": timestamp(recorded.at),
        "run": recorded.run,
        "event": event.kind,
        "subplan": event.subplan or event.data.get("subplan") or None,
        "step": event.step or None,
        "attempt": event.attempt or None,
        "outcome": event.outcome or None,
        "cost_usd": None if event.cost is None else event.cost / MICRO,
        "tokens": event.tokens,
    }
    own = {name: _value(name, value) for name, value in event.data.items() if name not in common}
    return common | own


def timestamp(at: float) -> str:
    """UTC, to the millisecond."""
    text = datetime.fromtimestamp(round(at, 3), UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def _value(name: str, value: Any) -> Any:  # noqa: ANN401 - whatever the journal holds
    is_time = (name.endswith("_at") or name == "until") and isinstance(value, int | float)
    return timestamp(value) if is_time else value
