"""Conversion between events and rows. Both journals store rows, so both store exactly the same."""

from typing import Any

import msgspec
from msgspec.json import Decoder, Encoder

from weft.engine.messages.event_codec import data_text, kind_of, outcome_of, to_event
from weft.engine.messages.events import AnyEvent, Recorded
from weft.engine.messages.facts import AnyFact
from weft.errors import WeftError
from weft.store.failures import not_text

EventRow = tuple[float, str, str, str, str, int, str, int | None, int | None, str, str | None]
"""In the order of the query `add_event`."""
StoredRow = tuple[int, float, str, str, str, int, str, int | None, int | None, str, str | None]
"""In the order of the query `events`: with the sequence number, without the run."""

_encode = Encoder().encode
_decode_data = Decoder(dict[str, Any]).decode
_decode_fact: Decoder[AnyFact] = Decoder(AnyFact)


def to_row(run: str, at: float, event: AnyEvent) -> EventRow:
    fact = event.fact
    try:
        data = data_text(event)
    except UnicodeEncodeError as error:
        raise not_text(error) from None
    return (
        # Without the sign of -0.0, as SQLite returns it: the checksum is verified on reading.
        at + 0.0,
        run,
        kind_of(event),
        event.subplan,
        event.step,
        event.attempt,
        outcome_of(event),
        event.cost,
        event.tokens,
        data,
        None if fact is None else to_json(fact),
    )


def to_recorded(run: str, row: StoredRow) -> Recorded:
    seq, at, kind, subplan, step, attempt, outcome, cost, tokens, data, fact = row
    try:
        its_fact = None if fact is None else _decode_fact.decode(fact)
        event = to_event(kind, subplan, step, attempt, outcome, cost, tokens, data, its_fact)
    except msgspec.DecodeError as error:
        raise _unreadable(seq, error) from None
    return Recorded(seq=seq, at=at, run=run, event=event, data=data)


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
