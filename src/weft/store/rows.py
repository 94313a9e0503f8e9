"""Conversion between events and rows. Both journals store rows, so both store exactly the same."""

from typing import Any

import msgspec
from msgspec.json import Decoder, Encoder

from weft.engine.messages.events import Event, Recorded
from weft.engine.messages.facts import AnyFact
from weft.errors import WeftError
from weft.store.failures import not_text

EventRow = tuple[float, str, str, str, str, int, str, int | None, int | None, str, str | None]
"""In the order of the query `add_event`."""
StoredRow = tuple[int, float, str, str, str, int, str, int | None, int | None, str, str | None]
"""In the order of the query `events`: with the sequence number, without the run."""

_NO_DATA = "{}"
_encode = Encoder().encode
_decode_data = Decoder(dict[str, Any]).decode
_decode_fact: Decoder[AnyFact] = Decoder(AnyFact)


def to_row(run: str, at: float, event: Event) -> EventRow:
    data, fact = event.data, event.fact
    return (
        float(at),  # as SQLite returns it, because the checksum is verified on reading
        run,
        event.kind,
        event.subplan,
        event.step,
        event.attempt,
        event.outcome,
        event.cost,
        event.tokens,
        to_json(data) if data else _NO_DATA,
        None if fact is None else to_json(fact),
    )


def to_recorded(run: str, row: StoredRow) -> Recorded:
    seq, at, kind, subplan, step, attempt, outcome, cost, tokens, data, fact = row
    event = Event(
        kind=kind,
        subplan=subplan,
        step=step,
        attempt=attempt,
        outcome=outcome,
        cost=cost,
        tokens=tokens,
        data={} if data == _NO_DATA else to_data(seq, data),
        fact=None if fact is None else to_fact(seq, fact),
    )
    return Recorded(seq=seq, at=at, run=run, event=event)


def to_fact(seq: int, text: str) -> AnyFact:
    try:
        return _decode_fact.decode(text)
    except msgspec.DecodeError as error:
        raise _unreadable(seq, error) from None


def to_data(seq: int, text: str) -> dict[str, Any]:
    try:
        return _decode_data(text)
    except msgspec.DecodeError as error:
        raise _unreadable(seq, error) from None


def to_json(value: object) -> str:
    try:
        return _encode(value).decode()
    except UnicodeEncodeError as error:
        raise not_text(error) from None


def _unreadable(seq: int, error: msgspec.DecodeError) -> WeftError:
    return WeftError(
        f"entry {seq} of the journal cannot be read ({error}); it was written by another version of Weft, or "
        f"edited: read it with the version that wrote it"
    )
