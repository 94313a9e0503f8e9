"""A shape in the form in which the engine runs it, shared by all slices of that shape.

The net of a whole plan has a copy of a shape for each subplan; it exists for proofs and pictures. The engine
does not need the copies: a slice owns only the positions of its tokens and shares everything else. The
compiler makes each place a free choice: a token there can continue, stop or skip. The engine decides which
when the token arrives, so it never searches for enabled transitions.
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from weft.net.model import Arcs, PlaceKind
from weft.plan.compile.parts import END, HOST, MERGE, SLOT, Act, Role, Shape

_STOPS = frozenset({Role.STOP, Role.DROP})


class OutcomeRoute(Struct, frozen=True):
    """The effect of an outcome on the tokens of a slice."""

    places: tuple[int, ...] = ()
    ends: bool = False
    """Whether the subplan ends."""
    frees: bool = False
    """Whether the slice returns its slots."""


class ShapeTransition(Struct, frozen=True, eq=False, kw_only=True):
    """A transition of a shape."""

    number: int
    name: str
    act: Act
    inputs: tuple[int, ...]
    """The places from which it takes tokens, without pools."""
    takes_slot: bool
    claims: Arcs
    """The tokens that it takes from pools and returns, by the place numbers of the shape, without slots."""
    host: str
    """The pool that stands for the slots of its host; empty if it takes none."""
    is_shared: bool
    """Whether slices with the same turn share its claims: it uses no pool of a single slice or group."""
    ways: dict[str, OutcomeRoute]
    final: frozenset[str]
    """The outcomes after which there is no retry: they lead to the end, or to where success leads.

    Empty for the resolution of a conflict: the merge is retried, whatever its outcome.
    """
    again: bool
    """Whether it repeats an execution that was lost or could not be started."""


class PlaceRules(Struct, frozen=True):
    """The transitions that a token at a place can take."""

    go: ShapeTransition | None = None
    stop: ShapeTransition | None = None
    skip: ShapeTransition | None = None

    @property
    def frame(self) -> str:
        """The pipeline whose failure stops a token here.

        A token that returns from a question must regain its slots and reach the end of its own pipeline even if
        that pipeline has failed. Only a failure of the whole slice stops it.
        """
        stop = self.stop
        if stop is None or (self.go is not None and self.go.act.role is Role.RETURN):
            return ""
        return stop.act.frame


class Script(Struct, frozen=True, eq=False):
    """A shape with the rules for each of its places."""

    shape: Shape
    place_rules: tuple[PlaceRules, ...]
    """By place."""
    frames: tuple[str, ...]
    """By place: the pipeline whose failure stops a token there."""
    local_pools: tuple[tuple[int, int], ...]
    """The pools that each slice has to itself: place and size."""


def script(shape: Shape) -> Script:
    """Returns the script of a shape."""
    net = shape.net
    pools = {place for place, kind in enumerate(net.place_kinds) if kind is PlaceKind.POOL}
    place_rules = [PlaceRules() for _ in net.place_ids]
    for number in range(len(shape.acts)):
        move = _move(shape, number, pools)
        for place in move.inputs:
            place_rules[place] = _add_transition(place_rules[place], move)
    local = tuple((place, net.initial[place]) for place in sorted(pools) if place >= shape.own)
    return Script(shape, tuple(place_rules), tuple(rules.frame for rules in place_rules), local)


def _add_transition(rules: PlaceRules, move: ShapeTransition) -> PlaceRules:
    if move.act.role in _STOPS:
        return replace(rules, stop=move)
    if move.act.role is Role.SKIP:
        return replace(rules, skip=move)
    assert rules.go is None, "a place has at most one transition that continues"
    return replace(rules, go=move)


def _move(shape: Shape, number: int, pools: set[int]) -> ShapeTransition:
    net = shape.net
    arcs, name = net.inputs[number], net.transition_ids[number]
    claims = tuple(sorted((place, weight) for place, weight in arcs if place in pools and place != SLOT))
    ways = {
        str(outcome): _way(outputs, pools)
        for outcome, outputs in zip(net.outcomes[number], net.outputs[number], strict=True)
    }
    named = [(place, shape.pools[place - MERGE - 1]) for place, _ in claims if MERGE < place < shape.own]
    host = next((pool for _, pool in named if pool.startswith(HOST)), "")
    return ShapeTransition(
        number=number,
        name=name,
        act=shape.acts[number],
        inputs=tuple(place for place, _ in arcs if place not in pools),
        takes_slot=any(place == SLOT for place, _ in arcs),
        claims=claims,
        host=host,
        is_shared=not host and all(place != MERGE and place < shape.own for place, _ in claims),
        ways=ways,
        final=frozenset(_final(ways)) if shape.acts[number].role is not Role.RESOLVE else frozenset(),
        again=shape.acts[number].rerun > 0,
    )


def _final(ways: Mapping[str, OutcomeRoute]) -> Iterator[str]:
    return (outcome for outcome, way in ways.items() if way.ends or way == ways["done"])


def _way(arcs: Arcs, pools: set[int]) -> OutcomeRoute:
    places = [place for place, _ in arcs]
    return OutcomeRoute(
        tuple(place for place in places if place not in pools and place != END), END in places, SLOT in places
    )
