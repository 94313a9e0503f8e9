"""Events as the journal stores them, for tests that name kinds and data."""

import json
from collections.abc import Iterable
from typing import Any

from msgspec import Struct, field

from weft.engine.messages.event_codec import CLASSES, data_of, kind_of, outcome_of, to_event
from weft.engine.messages.events import AnyEvent, UnknownEvent
from weft.engine.messages.facts import AnyFact


class StoredEvent(Struct, frozen=True, kw_only=True):
    kind: str
    subplan: str = ""
    step: str = ""
    attempt: int = 0
    outcome: str = ""
    cost: int | None = None
    tokens: int | None = None
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    fact: AnyFact | None = None


def make_event(*, kind: str, data: dict[str, Any] | None = None, **envelope: Any) -> AnyEvent:
    """Returns the event that is stored in this form."""
    if kind not in CLASSES:
        return UnknownEvent(kind=kind, data=data or {}, **envelope)
    return to_event(kind, data=json.dumps(data or {}), **envelope)


def stored(event: AnyEvent) -> StoredEvent:
    return StoredEvent(
        kind=kind_of(event),
        subplan=event.subplan,
        step=event.step,
        attempt=event.attempt,
        outcome=outcome_of(event),
        cost=event.cost,
        tokens=event.tokens,
        data=data_of(event),
        fact=event.fact,
    )


def all_stored(events: Iterable[AnyEvent]) -> list[StoredEvent]:
    return [stored(event) for event in events]
