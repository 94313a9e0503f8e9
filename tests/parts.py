"""Parts of nets, written short."""

from typing import Any

from weft.ids import OutcomeName, PlaceId, TransitionId
from weft.net.model import Arc, Outcome, Place, Transition
from weft.net.plain import PlainNet


def plain(**columns: Any) -> PlainNet:
    return PlainNet(**columns)


def one_place(id_: str) -> PlainNet:
    return plain(place_ids=(id_,), transition_ids=(), inputs=(), outputs=(), initial=(0,))


def place(id_: str, **more: Any) -> Place:
    return Place(id=PlaceId(id_), **more)


def arc(id_: str, weight: int = 1) -> Arc:
    return Arc(PlaceId(id_), weight)


def outcome(name: str, *outputs: Arc) -> Outcome:
    return Outcome(name=OutcomeName(name), outputs=outputs)


def transition(id_: str, inputs: tuple[Arc, ...], *outcomes: Outcome, **more: Any) -> Transition:
    return Transition(id=TransitionId(id_), inputs=inputs, outcomes=outcomes, **more)
