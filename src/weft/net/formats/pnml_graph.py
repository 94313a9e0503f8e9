"""Join the parts of a PNML document into a net, once all of them have been read.

References and arcs may point forward in the file, so `PartGraph` gets the parts only at the end.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from reprlib import Repr
from typing import NamedTuple

from weft.errors import FileFormatError
from weft.ids import PlaceId, TransitionId
from weft.net.formats.pnml_dialects import REQUIRED, TRAIT_LABELS
from weft.net.model import PlaceKind
from weft.net.plain import PlainNet

_REPR = Repr()
_REPR.maxstring, _REPR.maxlist = 120, 10
shown = _REPR.repr


class PnmlPosition(NamedTuple):
    """A place in the file; both count from 1."""

    line: int
    column: int


Wrong = Callable[[str, str, PnmlPosition], FileFormatError]


@dataclass(slots=True)
class PnmlPart:
    """A net, page, node, reference or arc."""

    element: str
    id: str
    """The XML id, unless Weft's `<toolspecific>` gives a node another. An arc without an id has its ends."""
    at: PnmlPosition
    ends: tuple[str, ...] = ()
    """XML ids: source and target of an arc, or the node that a reference stands for."""
    number: int | None = None
    """Tokens or weight, if stated."""
    kind: PlaceKind = PlaceKind.CONTROL
    traits: dict[str, str] = field(default_factory=dict)
    """The labels of a transition that must be the same for all transitions."""

    def __str__(self) -> str:
        return f"{self.element} {shown(self.id)}"


class PartGraph:
    """The parts by XML id and the arcs, both in the order of the file."""

    def __init__(self, parts: dict[str, PnmlPart], arcs: list[PnmlPart], wrong: Wrong) -> None:
        self._parts = parts
        self._arcs = arcs
        self._wrong = wrong
        self._ids: dict[str, list[str]] = {element: [] for element in ("net", *REQUIRED)}
        for id_, part in parts.items():
            self._ids[part.element].append(id_)

    def net(self) -> PlainNet:
        places, transitions = (list(self._all(element)) for element in ("place", "transition"))
        self._check_ids((*places, *transitions))
        self._check_traits(transitions)
        inputs, outputs = self._join_arcs()
        return PlainNet(
            place_ids=tuple(PlaceId(place.id) for place in places),
            transition_ids=tuple(TransitionId(transition.id) for transition in transitions),
            inputs=tuple(tuple(arcs.items()) for arcs in inputs),
            outputs=tuple(tuple(arcs.items()) for arcs in outputs),
            initial=tuple(place.number or 0 for place in places),
            place_kinds=tuple(place.kind for place in places),
        )

    def _all(self, element: str) -> Iterator[PnmlPart]:
        return (self._parts[id_] for id_ in self._ids[element])

    def _check_ids(self, nodes: Iterable[PnmlPart]) -> None:
        """Checks that the ids from Weft's `<toolspecific>` elements differ. XML ids have been checked already."""
        nodes_by_id: dict[str, PnmlPart] = {}
        for node in nodes:
            first = nodes_by_id.setdefault(node.id, node)
            if first is not node:
                raise self._wrong(f"{node} has the id of line {first.at.line}", "ids must differ", node.at)

    def _check_traits(self, transitions: list[PnmlPart]) -> None:
        """Checks that all transitions have the same traits: timing and priority decide which one fires first."""
        for trait in TRAIT_LABELS:
            stated = [(transition, transition.traits.get(trait)) for transition in transitions]
            deviation = next(((node, value) for node, value in stated if value != stated[0][1]), None)
            if deviation is not None:
                first = f"{shown(stated[0][1] or '')} for {stated[0][0]}"
                message = f"<{trait}> is {shown(deviation[1] or '')} for {deviation[0]} and {first}"
                allowed = "all transitions must have the same, since others decide which one fires first"
                raise self._wrong(message, allowed, deviation[0].at)

    def _join_arcs(self) -> tuple[list[dict[int, int]], list[dict[int, int]]]:
        """Returns for each transition the weights of its input and output arcs by place number."""
        places = self._numbers("place", "referencePlace")
        transitions = self._numbers("transition", "referenceTransition")
        inputs: list[dict[int, int]] = [{} for _ in self._ids["transition"]]
        outputs: list[dict[int, int]] = [{} for _ in self._ids["transition"]]
        for arc in self._arcs:
            source, target = arc.ends
            if source in places and target in transitions and arc.element != "outputArc":
                place, arcs = places[source], inputs[transitions[target]]
            elif source in transitions and target in places and arc.element != "inputArc":
                place, arcs = places[target], outputs[transitions[source]]
            else:
                message = f"{arc} leads from {self._describe(source)} to {self._describe(target)}"
                raise self._wrong(message, _JOINS[arc.element], arc.at)
            arcs[place] = arcs.get(place, 0) + (arc.number or 1)
        return inputs, outputs

    def _numbers(self, element: str, reference: str) -> dict[str, int]:
        """Returns the number of each node, and of the node at the end of each chain of references."""
        numbers = {id_: number for number, id_ in enumerate(self._ids[element])}
        for start in self._ids[reference]:
            chain = {start}
            last = self._parts[start]
            while (ref := last.ends[0]) not in numbers:
                following = self._parts.get(ref)
                if following is None or following.element != reference:
                    message = f"{last} refers to {self._describe(ref)}"
                    raise self._wrong(message, f"a {element} or {reference} is needed", last.at)
                if ref in chain:
                    raise self._wrong(f"{last} closes a circle", f"a {element} is needed", last.at)
                chain.add(ref)
                last = following
            numbers.update(dict.fromkeys(chain, numbers[ref]))
        return numbers

    def _describe(self, id_: str) -> str:
        return str(self._parts.get(id_) or f"{shown(id_)} (no such node)")


_JOINS = {
    "arc": "it must join a place and a transition",
    "inputArc": "it must lead from a place to a transition",
    "outputArc": "it must lead from a transition to a place",
}
