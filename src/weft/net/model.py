"""A Petri net as plain data, and its markings.

A *place* holds tokens. A *transition* takes tokens from its input places when it starts and, when it
finishes, puts tokens where the arcs of one of its *named outcomes* lead. The outside world decides the
outcome; the topology alone decides where the tokens go.

`Net` is constructed from `Place` and `Transition`, and stored as numbers: places and transitions are
identified by position, and arcs are pairs (place number, weight). A plan of 100,000 subplans is then a few
tuples of small tuples, on which the token game works directly.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple, Self, cast

from msgspec import Struct, field
from msgspec.structs import force_setattr

from weft.errors import NetError
from weft.ids import OutcomeName, PlaceId, TransitionId

Arcs = tuple[tuple[int, int], ...]
"""Arcs as stored: (place number, weight), each place once, in the order first named."""


class PlaceKind(StrEnum):
    """The meaning of a place's tokens."""

    CONTROL = "control"
    RUNNING = "running"
    POOL = "pool"
    END = "end"


class Place(Struct, frozen=True, kw_only=True):
    """A place of a net, with its tokens in the initial marking."""

    id: PlaceId
    kind: PlaceKind = PlaceKind.CONTROL
    tokens: int = 0
    """How many it holds in the initial marking; for a pool, its size."""


class Arc(NamedTuple):
    """An arc between a transition and a place; its weight is the number of tokens that it moves."""

    place: PlaceId
    weight: int = 1


class Outcome(Struct, frozen=True, kw_only=True):
    """One of the ways in which a transition can finish, with the arcs that it puts tokens along."""

    name: OutcomeName
    outputs: tuple[Arc, ...]


class Transition(Struct, frozen=True, kw_only=True):
    """A transition of a net, with the arcs from its input places and its outcomes."""

    id: TransitionId
    inputs: tuple[Arc, ...]
    outcomes: tuple[Outcome, ...]
    action: str | None = None
    """The work between start and finish; None for a transition that is instantaneous."""
    priority: int = 0
    """The enabled transition with the highest priority starts first; ties go to the one declared first."""


class Marking(Struct, frozen=True):
    """The number of tokens in each place, and of firings in flight of each transition."""

    tokens: Mapping[PlaceId, int] = field(default_factory=dict[PlaceId, int])
    running: Mapping[TransitionId, int] = field(default_factory=dict[TransitionId, int])

    def __post_init__(self) -> None:
        for name in ("tokens", "running"):
            counts = cast("Mapping[str, int]", getattr(self, name))
            for key, count in counts.items():
                if type(count) is not int or count < 0:
                    raise NetError(f"{key!r} has {count!r} {name}; a whole number ≥ 0 is needed")
            force_setattr(self, name, MappingProxyType({k: n for k, n in counts.items() if n}))

    def __getitem__(self, place: str) -> int:
        return self.tokens.get(PlaceId(place), 0)

    def __hash__(self) -> int:
        return hash((frozenset(self.tokens.items()), frozenset(self.running.items())))

    def to_json(self) -> dict[str, Any]:
        """Returns the marking as JSON data."""
        return {"tokens": dict(self.tokens), "running": dict(self.running)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Returns the marking from the data of `to_json`."""
        return cls(data.get("tokens", {}), data.get("running", {}))


class Net:
    """Places and transitions, checked when created and immutable. Nets with equal columns are equal."""

    __slots__ = (
        "_place_numbers", "_transition_numbers", "actions", "initial", "inputs", "outcomes",
        "outputs", "place_ids", "place_kinds", "priorities", "transition_ids",
    )  # fmt: skip

    _place_numbers: dict[str, int] | None
    _transition_numbers: dict[str, int] | None
    place_ids: tuple[PlaceId, ...]
    place_kinds: tuple[PlaceKind, ...]
    initial: tuple[int, ...]
    """Tokens of each place in the initial marking."""
    transition_ids: tuple[TransitionId, ...]
    actions: tuple[str | None, ...]
    priorities: tuple[int, ...]
    inputs: tuple[Arcs, ...]
    outcomes: tuple[tuple[OutcomeName, ...], ...]
    """Names of each transition's outcomes."""
    outputs: tuple[tuple[Arcs, ...], ...]
    """The arcs of each of those outcomes, in the same order."""

    def __init__(self, places: Iterable[Place], transitions: Iterable[Transition]) -> None:
        builder = NetBuilder()
        for place in places:
            builder.add_place(place.id, kind=PlaceKind(place.kind), tokens=place.tokens)
        numbers = {place: number for number, place in enumerate(builder.place_ids)}
        for transition in transitions:
            _add_transition(builder, transition, numbers)
        self._fill(builder)

    def _fill(self, builder: "NetBuilder") -> None:
        for name in _COLUMNS:
            # `__setattr__` of a net raises, so its fields are set through `object`.
            object.__setattr__(self, name, tuple(getattr(builder, name)))
        object.__setattr__(self, "_place_numbers", None)
        object.__setattr__(self, "_transition_numbers", None)
        _check(self)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Net does not change: cannot set {name!r}")

    def __eq__(self, candidate: object) -> bool:
        return isinstance(candidate, Net) and all(
            getattr(self, name) == getattr(candidate, name) for name in _COLUMNS
        )

    def __hash__(self) -> int:
        return hash((self.place_ids, self.transition_ids, self.inputs, self.outputs))

    def __repr__(self) -> str:
        return f"<Net of {len(self.place_ids)} places, {len(self.transition_ids)} transitions>"

    @property
    def places(self) -> Iterator[Place]:
        """The places, in the order of their numbers."""
        for id_, kind, tokens in zip(self.place_ids, self.place_kinds, self.initial, strict=True):
            yield Place(id=id_, kind=kind, tokens=tokens)

    @property
    def transitions(self) -> Iterator[Transition]:
        """The transitions, in the order of their numbers."""
        return (self.transition(number) for number in range(len(self.transition_ids)))

    def transition(self, number: int) -> Transition:
        """Returns the transition with this number."""
        outcomes = zip(self.outcomes[number], self.outputs[number], strict=True)
        return Transition(
            id=self.transition_ids[number],
            inputs=self._named_arcs(self.inputs[number]),
            outcomes=tuple(Outcome(name=name, outputs=self._named_arcs(arcs)) for name, arcs in outcomes),
            action=self.actions[number],
            priority=self.priorities[number],
        )

    def _named_arcs(self, arcs: Arcs) -> tuple[Arc, ...]:
        return tuple(Arc(self.place_ids[place], weight) for place, weight in arcs)

    # The maps from ids to numbers are built on first use: a run works on numbers alone.

    def place_number(self, place: str) -> int:
        """Returns the number of the place with this id; raises `NetError` if there is none."""
        numbers = self._place_numbers
        if numbers is None:
            numbers = {str(id_): number for number, id_ in enumerate(self.place_ids)}
            object.__setattr__(self, "_place_numbers", numbers)
        if place not in numbers:
            raise NetError(f"the net has no place {place!r}")
        return numbers[place]

    def transition_number(self, transition: str) -> int:
        """Returns the number of the transition with this id; raises `NetError` if there is none."""
        numbers = self._transition_numbers
        if numbers is None:
            numbers = {str(id_): number for number, id_ in enumerate(self.transition_ids)}
            object.__setattr__(self, "_transition_numbers", numbers)
        if transition not in numbers:
            raise NetError(f"the net has no transition {transition!r}")
        return numbers[transition]

    def initial_marking(self) -> Marking:
        """Returns the initial marking."""
        return self.marking(self.initial)

    def marking(self, tokens: Iterable[int]) -> Marking:
        """Returns the marking with these tokens, one number for each place."""
        return Marking({p: n for p, n in zip(self.place_ids, tokens, strict=True) if n})


_COLUMNS = (
    "place_ids", "place_kinds", "initial",
    "transition_ids", "actions", "priorities", "inputs", "outcomes", "outputs",
)  # fmt: skip


class NetBuilder:
    """Builds a net step by step, by numbers: for compilers, where ids are only labels.

    Nothing is checked until `build`, and then all at once, which is several times faster.
    """

    __slots__ = _COLUMNS

    def __init__(self) -> None:
        self.place_ids: list[PlaceId] = []
        self.place_kinds: list[PlaceKind] = []
        self.initial: list[int] = []
        self.transition_ids: list[TransitionId] = []
        self.actions: list[str | None] = []
        self.priorities: list[int] = []
        self.inputs: list[Arcs] = []
        self.outcomes: list[tuple[OutcomeName, ...]] = []
        self.outputs: list[tuple[Arcs, ...]] = []

    def add_place(self, id_: str, *, kind: PlaceKind = PlaceKind.CONTROL, tokens: int = 0) -> int:
        """Returns the number of the new place."""
        self.place_ids.append(cast("PlaceId", id_))
        self.place_kinds.append(kind)
        self.initial.append(tokens)
        return len(self.place_ids) - 1

    def add_transition(
        self,
        id_: str,
        inputs: Arcs,
        outcomes: tuple[OutcomeName, ...],
        outputs: tuple[Arcs, ...],
        *,
        action: str | None = None,
        priority: int = 0,
    ) -> int:
        """Returns the number of the new transition; `outputs` holds the arcs of each outcome."""
        self.transition_ids.append(cast("TransitionId", id_))
        self.actions.append(action)
        self.priorities.append(priority)
        self.inputs.append(inputs)
        self.outcomes.append(outcomes)
        self.outputs.append(outputs)
        return len(self.transition_ids) - 1

    def build(self) -> Net:
        net = Net.__new__(Net)
        net._fill(self)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        return net


def _add_transition(builder: NetBuilder, transition: Transition, numbers: Mapping[PlaceId, int]) -> None:
    def numbered(arcs: Iterable[Arc]) -> Arcs:
        weights: dict[int, int] = {}
        for place, weight in arcs:
            if place not in numbers:
                raise NetError(
                    f"transition {transition.id!r} has an arc to a place {place!r} that does not exist"
                )
            _check_weight(weight, transition.id, place)
            number = numbers[place]
            weights[number] = weights.get(number, 0) + weight  # arcs between the same nodes add up
        return tuple(weights.items())

    builder.add_transition(
        transition.id,
        numbered(transition.inputs),
        tuple(outcome.name for outcome in transition.outcomes),
        tuple(numbered(outcome.outputs) for outcome in transition.outcomes),
        action=transition.action,
        priority=transition.priority,
    )


def _check(net: Net) -> None:
    """Checks the distinct values of each column at once; searches for the culprit only on failure."""
    nodes = (*net.place_ids, *net.transition_ids)
    distinct_ids = set(nodes)
    if set(map(type, nodes)) - {str} or "" in distinct_ids:
        invalid_id = next(id_ for id_ in nodes if type(id_) is not str or not id_)
        raise NetError(f"a node of the net has the id {invalid_id!r}; a non-empty string is needed")
    if len(distinct_ids) < len(nodes):
        duplicate = next(id_ for id_, count in Counter(nodes).items() if count > 1)
        raise NetError(f"two nodes of the net have the id {duplicate!r}; ids must differ")
    # Columns have few distinct values, so a net of 500,000 transitions is checked in a handful of steps.
    for tokens in set(net.initial):
        if type(tokens) is not int or tokens < 0:
            place = net.place_ids[net.initial.index(tokens)]
            raise NetError(f"place {place!r} has {tokens!r} tokens; a whole number ≥ 0 is needed")
    for names in set(net.outcomes):
        if not names or len(set(names)) < len(names):
            transition = net.transition_ids[net.outcomes.index(names)]
            outcome_names = ", ".join(names) if names else "none"
            raise NetError(
                f"transition {transition!r} needs outcomes of different names; it has: {outcome_names}"
            )


def _check_weight(weight: object, transition: str, place: str) -> None:
    if type(weight) is not int or weight < 1:
        raise NetError(
            f"the arc between {transition!r} and {place!r} has weight {weight!r}; a whole number ≥ 1 is needed"
        )
