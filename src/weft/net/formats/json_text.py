"""Nets and markings as JSON: `{"weft": 1, "net": {"places": […], "transitions": […]}}`.

Reading is strict: each value has its type, no key is unknown, and an error names the path to the value.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from reprlib import Repr
from typing import Any, TypeVar, cast

from weft.errors import FileFormatError, NetError
from weft.ids import OutcomeName, PlaceId, TransitionId
from weft.net.model import Arc, Marking, Net, Outcome, Place, PlaceKind, Transition

VERSION = 1

T = TypeVar("T")

_REPR = Repr()
_REPR.maxstring = 120


def net_to_json(net: Net) -> dict[str, Any]:
    places = [{"id": place.id, "kind": str(place.kind), "tokens": place.tokens} for place in net.places]
    transitions = [
        {
            "id": transition.id,
            "inputs": _arcs_to_json(transition.inputs),
            "outcomes": [
                {"name": outcome.name, "outputs": _arcs_to_json(outcome.outputs)}
                for outcome in transition.outcomes
            ],
            "action": transition.action,
            "priority": transition.priority,
        }
        for transition in net.transitions
    ]
    return {"weft": VERSION, "net": {"places": places, "transitions": transitions}}


def _arcs_to_json(arcs: Iterable[Arc]) -> list[dict[str, Any]]:
    return [{"place": arc.place, "weight": arc.weight} for arc in arcs]


def net_from_json(data: object) -> Net:
    """Reads the net that `net_to_json` wrote. Omitted keys have defaults; raises `NetError` if it is invalid."""
    top = _Object(data, "", required=("weft", "net"))
    if top.number("weft") != VERSION:
        raise top.wrong("weft", f"version {VERSION} is needed")
    net = _Object(top.values["net"], "net", required=("places", "transitions"))
    return Net(net.each("places", _place), net.each("transitions", _transition))


def marking_from_json(data: object) -> Marking:
    """Reads the marking that `Marking.to_json` wrote; raises `NetError` if it is invalid."""
    marking = _Object(data, "", optional=("tokens", "running"))
    return Marking(
        {PlaceId(id_): count for id_, count in marking.counts("tokens").items()},
        {TransitionId(id_): count for id_, count in marking.counts("running").items()},
    )


def dump_net(net: Net) -> str:
    return json.dumps(net_to_json(net), indent=1) + "\n"


def load_net(text: str | bytes, *, file: str) -> Net:
    """Reads the net that `dump_net` wrote; raises `FileFormatError`, with the name `file`, if it is invalid."""
    try:
        return net_from_json(_parse(text, file))
    except NetError as error:
        raise FileFormatError(str(error), file=file) from None


def _parse(text: str | bytes, file: str) -> object:
    try:
        return cast("object", json.loads(text, object_pairs_hook=_reject_duplicates))
    except json.JSONDecodeError as error:
        message = f"not JSON: {error.msg}; a net in JSON is needed"
        raise FileFormatError(message, file=file, line=error.lineno, column=error.colno) from None
    except UnicodeDecodeError as error:
        message = f"not text: {error.reason} at byte {error.start}; JSON in UTF-8 is needed"
        raise FileFormatError(message, file=file) from None
    except (RecursionError, ValueError):  # too many brackets, too many digits
        message = "nested too deep, or a number too long; a net in JSON is needed"
        raise FileFormatError(message, file=file) from None


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        duplicate = next(key for key in keys if keys.count(key) > 1)
        raise NetError(f"the key {_REPR.repr(duplicate)} stands twice in one object; keys must differ")
    return values


def _place(data: object, path: str) -> Place:
    place = _Object(data, path, required=("id",), optional=("kind", "tokens"))
    kind = place.text("kind", PlaceKind.CONTROL)
    if kind not in tuple(PlaceKind):
        raise place.wrong("kind", f"one of {', '.join(PlaceKind)} is needed")
    return Place(
        id=PlaceId(place.text("id")), kind=PlaceKind(kind), tokens=place.number("tokens", 0, least=0)
    )


def _transition(data: object, path: str) -> Transition:
    needed, optional = ("id", "inputs", "outcomes"), ("action", "priority")
    transition = _Object(data, path, required=needed, optional=optional)
    return Transition(
        id=TransitionId(transition.text("id")),
        inputs=transition.each("inputs", _arc),
        outcomes=transition.each("outcomes", _outcome),
        action=None if transition.values.get("action") is None else transition.text("action"),
        priority=transition.number("priority", 0),
    )


def _outcome(data: object, path: str) -> Outcome:
    outcome = _Object(data, path, required=("name", "outputs"))
    return Outcome(name=OutcomeName(outcome.text("name")), outputs=outcome.each("outputs", _arc))


def _arc(data: object, path: str) -> Arc:
    arc = _Object(data, path, required=("place",), optional=("weight",))
    return Arc(PlaceId(arc.text("place")), arc.number("weight", 1, least=1))


class _Object:
    """A JSON object with checked keys, and its path in the document."""

    def __init__(
        self, data: object, path: str, *, required: tuple[str, ...] = (), optional: tuple[str, ...] = ()
    ) -> None:
        self._path = path
        if not isinstance(data, Mapping):
            raise _wrong(path, data, "an object is needed")
        self.values = cast("Mapping[str, object]", data)
        for key in self.values:
            if key not in required and key not in optional:
                allowed = ", ".join((*required, *optional))
                raise NetError(f"{path or 'the whole'}: the key {_REPR.repr(key)}; allowed are {allowed}")
        for key in required:
            if key not in self.values:
                raise NetError(f"{self._path_to(key)}: missing; it is needed")

    def _path_to(self, key: str) -> str:
        return f"{self._path}.{key}" if self._path else key

    def wrong(self, key: str, needed: str) -> NetError:
        return _wrong(self._path_to(key), self.values[key], needed)

    def text(self, key: str, usual: str = "") -> str:
        value = self.values.get(key, usual)
        if not isinstance(value, str):
            raise self.wrong(key, "a string is needed")
        return value

    def number(self, key: str, usual: int = 0, *, least: int | None = None) -> int:
        value = self.values.get(key, usual)
        if type(value) is not int or (least is not None and value < least):  # a boolean is not a number
            raise self.wrong(key, _describe_integer(least))
        return value

    def each(self, key: str, read: Callable[[object, str], T]) -> tuple[T, ...]:
        value = self.values[key]
        if not isinstance(value, list | tuple):
            raise self.wrong(key, "a list is needed")
        path = self._path_to(key)
        entries = cast("Iterable[object]", value)
        return tuple(read(entry, f"{path}[{number}]") for number, entry in enumerate(entries))

    def counts(self, key: str) -> dict[str, int]:
        value = self.values.get(key, {})
        if not isinstance(value, Mapping):
            raise self.wrong(key, "an object is needed")
        path = self._path_to(key)
        counts: dict[str, int] = {}
        for id_, count in cast("Mapping[object, object]", value).items():
            if not isinstance(id_, str):
                raise _wrong(path, id_, "ids that are strings are needed")
            if type(count) is not int or count < 0:
                raise _wrong(f"{path}[{_REPR.repr(id_)}]", count, _describe_integer(0))
            counts[id_] = count
        return counts


def _describe_integer(least: int | None) -> str:
    return "a whole number is needed" if least is None else f"a whole number ≥ {least} is needed"


def _wrong(path: str, value: object, needed: str) -> NetError:
    return NetError(f"{path or 'the whole'}: {_REPR.repr(value)}; {needed}")
