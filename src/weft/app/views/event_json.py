"""Events of a run as JSON."""

import json
from datetime import UTC, datetime
from typing import Any

from weft.engine.messages.event_codec import data_of, kind_of, outcome_of
from weft.engine.messages.events import Recorded
from weft.terms import MICRO


def event_json(recorded: Recorded) -> dict[str, Any]:
    """Returns the fields that every event has, null where they do not apply, then the fields of its kind.

    The fact is left out: it is internal to the engine.
    """
    event = recorded.event
    # The stored text is preferred: it also holds fields that a newer or older version wrote and this one does not
    # know.
    data: dict[str, Any] = json.loads(recorded.data) if recorded.data else data_of(event)
    common = {
        "seq": recorded.seq,
        "ts": timestamp(recorded.at),
        "run": recorded.run,
        "event": kind_of(event),
        "subplan": event.subplan or data.get("subplan") or None,
        "step": event.step or None,
        "attempt": event.attempt or None,
        "outcome": outcome_of(event) or None,
        "cost_usd": None if event.cost is None else event.cost / MICRO,
        "tokens": event.tokens,
    }
    own = {name: _value(name, value) for name, value in data.items() if name not in common}
    return common | own


def timestamp(at: float) -> str:
    """Returns a time in UTC with milliseconds, as `2026-01-31T12:00:00.000Z`."""
    # Rounded first, since `isoformat` cuts off and would show 11:59:59.999 for a float just below 12:00.
    text = datetime.fromtimestamp(round(at, 3), UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def _value(name: str, value: Any) -> Any:  # noqa: ANN401 - whatever the journal holds
    is_time = (name.endswith("_at") or name == "until") and isinstance(value, int | float)
    return timestamp(value) if is_time else value
