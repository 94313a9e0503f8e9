"""The only conversion between events and their stored form.

The journal stores an event as a kind, an outcome, the columns of the envelope, and its data: a JSON object. Users
see the same data in `weft events --json`. A class of events declares all of this; this module derives from each
class the names, the defaults and a decoder.

Journals of other versions stay readable: unknown keys are ignored, and missing keys have the defaults of the
class. A row that no class fits becomes an `UnknownEvent`, which keeps everything and which readers ignore.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from operator import attrgetter
from sys import intern
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, ValidationError, defstruct
from msgspec.json import Decoder, Encoder
from msgspec.structs import FieldInfo, fields, force_setattr

from weft.engine.messages.event_base import Event
from weft.engine.messages.events import AnyEvent, UnknownEvent
from weft.engine.messages.facts import AnyFact

NO_DATA = "{}"
_ENVELOPE = frozenset(field.name for field in fields(Event)) | {"outcome"}

_encode = Encoder().encode
_decode_plain = Decoder(dict[str, Any]).decode


class _Format:
    """The stored form of one class of events."""

    def __init__(self, event_class: type[AnyEvent]) -> None:
        own = [field for field in fields(event_class) if field.name not in _ENVELOPE]
        self.data_class = defstruct(
            f"{event_class.__name__}Data",
            [_data_field(field) for field in own],
            omit_defaults=True,
            rename={field.name: field.encode_name for field in own},
        )
        """The fields of the class without the envelope."""
        # Of a single name, attrgetter returns the bare value: such a class has a getter that makes a tuple of it.
        names = [field.name for field in own]
        self.values: Callable[[AnyEvent], tuple[Any, ...]] = (
            attrgetter(*names)
            if len(names) > 1
            else lambda event: tuple(getattr(event, name) for name in names)
        )
        self.is_empty = not own
        self.decode = Decoder(event_class).decode
        self.read_outcome = _outcome_reader(event_class)


def _data_field(field: FieldInfo) -> tuple[str, Any] | tuple[str, Any, Any]:
    # A field that is always stored has no default here, so the encoder never omits it.
    return (field.name, Any) if field.default is NODEFAULT else (field.name, Any, field.default)


def _outcome_reader(event_class: type[AnyEvent]) -> Callable[[str], str | None]:
    """Returns a function that converts a stored outcome; its result is None if the class has no such outcome."""
    hint = get_type_hints(event_class).get("outcome")
    if hint is str:
        return str
    outcomes: dict[str, str] = {"": ""}
    if get_origin(hint) is Literal:
        outcomes = {value: value for value in get_args(hint)}
    elif isinstance(hint, type) and issubclass(hint, StrEnum):
        outcomes = {member.value: member for member in hint}
    return outcomes.get


class _Formats(dict[type[AnyEvent], _Format]):
    """The formats by class. Each is made when it is needed first, as all together take several milliseconds."""

    def __missing__(self, event_class: type[AnyEvent]) -> _Format:
        return self.setdefault(event_class, _Format(event_class))


_FORMATS = _Formats()
_KINDS = {event_class: str(event_class.__struct_config__.tag) for event_class in get_args(AnyEvent)}
CLASSES: Mapping[str, type[AnyEvent]] = MappingProxyType(
    {kind: event_class for event_class, kind in _KINDS.items() if event_class is not UnknownEvent}
)
"""The classes of events by kind."""
_Reader = tuple[Callable[[str], AnyEvent], Callable[[str], str | None]]
_NO_READER: _Reader = (Decoder(UnknownEvent).decode, lambda _outcome: None)


class _Readers(dict[str, _Reader]):
    """By kind: the decoder of the data, and that of the outcome."""

    def __missing__(self, kind: str) -> _Reader:
        event_class = CLASSES.get(kind)
        if event_class is None:
            return _NO_READER
        format_ = _FORMATS[event_class]
        return self.setdefault(kind, (format_.decode, format_.read_outcome))


_READERS = _Readers()


def kind_of(event: AnyEvent) -> str:
    return event.kind if isinstance(event, UnknownEvent) else _KINDS[type(event)]


def kinds_of(*event_classes: type[AnyEvent]) -> frozenset[str]:
    """Returns the kinds of these classes, to choose among stored events before they are decoded."""
    return frozenset(_KINDS[event_class] for event_class in event_classes)


def outcome_of(event: AnyEvent) -> str:
    """Returns the stored outcome; empty for a kind without outcomes."""
    outcome: str = getattr(event, "outcome", "")
    return outcome


def data_text(event: AnyEvent) -> str:
    """Returns the data as a JSON object. Raises `UnicodeEncodeError` for text that is not Unicode."""
    if isinstance(event, UnknownEvent):
        return _encode(event.data).decode()
    format_ = _FORMATS[type(event)]
    return NO_DATA if format_.is_empty else _encode(format_.data_class(*format_.values(event))).decode()


def data_of(event: AnyEvent) -> dict[str, Any]:
    """Returns the data as it is stored: plain values, as from JSON."""
    return _decode_plain(data_text(event))


def to_event(  # noqa: C901, PLR0913 - the columns of the journal
    kind: str,
    subplan: str = "",
    step: str = "",
    attempt: int = 0,
    outcome: str = "",
    cost: int | None = None,
    tokens: int | None = None,
    data: str = NO_DATA,
    fact: AnyFact | None = None,
) -> AnyEvent:
    """Returns the event that is stored in this form.

    Raises `msgspec.DecodeError` if the data is not a JSON object.
    """
    decode, read_outcome = _READERS[kind]
    typed_outcome = read_outcome(outcome)
    event: AnyEvent
    try:
        if typed_outcome is None:
            event = UnknownEvent(kind=kind, outcome=outcome, data=_decode_plain(data))
        else:
            event = decode(data)
            if typed_outcome:
                force_setattr(event, "outcome", typed_outcome)
    except ValidationError:  # a value of a type that this version does not expect
        event = UnknownEvent(kind=kind, outcome=outcome, data=_decode_plain(data))
    # The decoder made the event just now, and nothing else has it: it may still be changed. This costs a fraction
    # of another construction, and journals have tens of thousands of events.
    # Interned, as each slice has a dozen events, and readers keep the names. In memory, a name may be of an enum.
    if subplan:
        force_setattr(event, "subplan", intern(str(subplan)))
    if step:
        force_setattr(event, "step", intern(str(step)))
    if attempt:
        force_setattr(event, "attempt", attempt)
    if cost is not None:
        force_setattr(event, "cost", cost)
    if tokens is not None:
        force_setattr(event, "tokens", tokens)
    if fact is not None:
        force_setattr(event, "fact", fact)
    return event


def to_plain(event: AnyEvent, stored: str = "") -> dict[str, Any]:
    """Returns the event as plain values, without the parts that are not set.

    `stored` is the data of an event that was read, which may be that of another version.
    """
    fact = event.fact
    parts: dict[str, Any] = {
        "kind": kind_of(event),
        "subplan": event.subplan or None,
        "step": event.step or None,
        "attempt": event.attempt or None,
        "outcome": outcome_of(event) or None,
        "cost": event.cost,
        "tokens": event.tokens,
        "data": (_decode_plain(stored) if stored else data_of(event)) or None,
        "fact": None if fact is None else _decode_plain(_encode(fact)),
    }
    return {name: value for name, value in parts.items() if value is not None}
