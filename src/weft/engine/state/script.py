"""A shape made ready to be played, many times over and by each slice for itself.

The one net of a plan holds a copy of a shape for each subplan; that net is for proofs and pictures. To run a
plan, the copies need not exist: what a slice has of its own is where its tokens are, and all else it shares with
the others of its shape. A token at a place meets a free choice, as the compiler made it: to go on, to stop, or to
skip. Which of them it is, the engine decides when the token arrives, so no search for enabled transitions is ever
needed.
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from weft.net.model import Arcs, PlaceKind
from weft.plan.compile.parts import END, MERGE, SLOT, Act, Role, Shape

_STOPS = frozenset({Role.STOP, Role.DROP})


class OutcomeRoute(Struct, frozen=True):
    """Where an outcome leads."""

    places: tuple[int, ...] = ()
    ends: bool = False
    """The subplan has ended."""
    frees: bool = False
    """The slots of the slice are given back."""


class ShapeTransition(Struct, frozen=True, eq=False, kw_only=True):
    """A transition of a shape."""

    number: int
    name: str
    act: Act
    inputs: tuple[int, ...]
    """The places whose tokens it takes, those of pools left out."""
    takes_slot: bool
    claims: Arcs
    """What it takes from pools and brings back, by the shape's own numbers and in their order; slots left out."""
    is_shared: bool
    """Whether what it claims is the same for all who have the same turn: nothing of a slice's or a group's own."""
    ways: dict[str, OutcomeRoute]
    final: frozenset[str]
    """The outcomes after which nothing is tried again: they lead where success leads, or to the end.

    However an agent's try to resolve a conflict ends, the merge is tried again.
    """
    again: bool
    """Whether it is a further try of what was lost or could not be started."""


class PlaceRules(Struct, frozen=True):
    """What can happen to a token at a place."""

    go: ShapeTransition | None = None
    stop: ShapeTransition | None = None
    skip: ShapeTransition | None = None

    @property
    def frame(self) -> str:
        """The pipeline whose failure stops a token here.

        What comes back from a question goes on to where its own pipeline ends, if that has failed; only where the
        whole slice has failed it need not come back.
        """
        stop = self.stop
        if stop is None or (self.go is not None and self.go.act.role is Role.RETURN):
            return ""
        return stop.act.frame


class Script(Struct, frozen=True, eq=False):
    shape: Shape
    spots: tuple[PlaceRules, ...]
    """By place."""
    frames: tuple[str, ...]
    """By place, the pipeline whose failure stops a token there."""
    local_pools: tuple[tuple[int, int], ...]
    """Pools that each slice has for itself: place and size."""


def script(shape: Shape) -> Script:
    net = shape.net
    pools = {place for place, kind in enumerate(net.place_kinds) if kind is PlaceKind.POOL}
    spots = [PlaceRules() for _ in net.place_ids]
    for number in range(len(shape.acts)):
        move = _move(shape, number, pools)
        for place in move.inputs:
            spots[place] = _with(spots[place], move)
    local = tuple((place, net.initial[place]) for place in sorted(pools) if place >= shape.own)
    return Script(shape, tuple(spots), tuple(spot.frame for spot in spots), local)


def _with(spot: PlaceRules, move: ShapeTransition) -> PlaceRules:
    if move.act.role in _STOPS:
        return replace(spot, stop=move)
    if move.act.role is Role.SKIP:
        return replace(spot, skip=move)
    assert spot.go is None, "what a token can go on with is one thing"
    return replace(spot, go=move)


def _move(shape: Shape, number: int, pools: set[int]) -> ShapeTransition:
    net = shape.net
    arcs, name = net.inputs[number], net.transition_ids[number]
    claims = tuple(sorted((place, weight) for place, weight in arcs if place in pools and place != SLOT))
    ways = {
        str(outcome): _way(outputs, pools)
        for outcome, outputs in zip(net.outcomes[number], net.outputs[number], strict=True)
    }
    return ShapeTransition(
        number=number,
        name=name,
        act=shape.acts[number],
        inputs=tuple(place for place, _ in arcs if place not in pools),
        takes_slot=any(place == SLOT for place, _ in arcs),
        claims=claims,
        is_shared=all(place != MERGE and place < shape.own for place, _ in claims),
        ways=ways,
        final=frozenset(_final(ways)) if shape.acts[number].role is not Role.RESOLVE else frozenset(),
        again="~" in name,
    )


def _final(ways: Mapping[str, OutcomeRoute]) -> Iterator[str]:
    return (outcome for outcome, way in ways.items() if way.ends or way == ways["done"])


def _way(arcs: Arcs, pools: set[int]) -> OutcomeRoute:
    places = [place for place, _ in arcs]
    return OutcomeRoute(
        tuple(place for place in places if place not in pools and place != END), END in places, SLOT in places
    )
