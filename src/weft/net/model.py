"""A Petri net as plain data, and its markings.

A *place* holds tokens. A *transition* takes tokens from its input places when it begins and, when
it finishes, puts tokens where the arcs of one of its *named outcomes* lead. Which outcome it is, the
world decides; where the tokens go, the topology alone.

`Net` is written in terms of `Place` and `Transition`, and stored in terms of numbers: a place and a
transition are known by their position, and arcs are pairs (place number, weight). A plan of 100,000
subplans is then some tuples of small tuples, and the interpreter works on them as they are.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple, Self, TypeVar, cast

from weft.errors import NetError
from weft.ids import OutcomeName, PlaceId, TransitionId

T = TypeVar("T")

Arcs = tuple[tuple[int, int], ...]
"""Arcs as stored: (place number, weight), each place once, in the order first named."""


class PlaceKind(StrEnum):
    CONTROL = "control"
    RUNNING = "running"
    POOL = "pool"
    END = "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    id: PlaceId
    kind: PlaceKind = PlaceKind.CONTROL
    tokens: int = 0
    """How many it holds in the initial marking; for a pool, its size."""


class Arc(NamedTuple):
    place: PlaceId
    weight: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    name: OutcomeName
    outputs: tuple[Arc, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    id: TransitionId
    inputs: tuple[Arc, ...]
    outcomes: tuple[Outcome, ...]
    action: str | None = None
    """What is to be done between begin and finish; None: nothing, it happens in an instant."""
    priority: int = 0
    """Among the enabled, the highest goes first; ties go to the one declared first."""


@dataclass(frozen=True, slots=True)
class Marking:
    """How many tokens are where, and how many firings of each transition are in flight."""

    tokens: Mapping[PlaceId, int] = field(default_factory=dict[PlaceId, int])
    running: Mapping[TransitionId, int] = field(default_factory=dict[TransitionId, int])

    def __post_init__(self) -> None:
        for name in ("tokens", "running"):
            counts = cast("Mapping[str, int]", getattr(self, name))
            for key, count in counts.items():
                if type(count) is not int or count < 0:
                    raise NetError(f"{key!r} has {count!r} {name}; a whole number ≥ 0 is needed")
            object.__setattr__(self, name, MappingProxyType({k: n for k, n in counts.items() if n}))

    def __getitem__(self, place: str) -> int:
        return self.tokens.get(PlaceId(place), 0)

    def __hash__(self) -> int:
        return hash((frozenset(self.tokens.items()), frozenset(self.running.items())))

    def to_json(self) -> dict[str, Any]:
        return {"tokens": dict(self.tokens), "running": dict(self.running)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(data.get("tokens", {}), data.get("running", {}))


class Net:
    """Places and transitions, checked when made and never changed. Equal if written alike."""

    __slots__ = (
        "_place_numbers", "_transition_numbers", "actions", "initial", "inputs", "outcomes",
        "outputs", "place_ids", "place_kinds", "priorities", "transition_ids",
    )  # fmt: skip

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
        builder = _Builder()
        for place in places:
            builder.add_place(place)
        for transition in transitions:
            builder.add_transition(transition)
        for name, value in builder.columns.items():
            object.__setattr__(self, name, tuple(value))
        object.__setattr__(self, "_place_numbers", None)
        object.__setattr__(self, "_transition_numbers", None)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Net does not change: cannot set {name!r}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Net) and all(
            getattr(self, name) == getattr(other, name) for name in _COLUMNS
        )

    def __hash__(self) -> int:
        return hash((self.place_ids, self.transition_ids, self.inputs, self.outputs))

    def __repr__(self) -> str:
        return f"<Net of {len(self.place_ids)} places, {len(self.transition_ids)} transitions>"

    @property
    def places(self) -> Iterator[Place]:
        for id_, kind, tokens in zip(self.place_ids, self.place_kinds, self.initial, strict=True):
            yield Place(id=id_, kind=kind, tokens=tokens)

    @property
    def transitions(self) -> Iterator[Transition]:
        return (self.transition(number) for number in range(len(self.transition_ids)))

    def transition(self, number: int) -> Transition:
        outcomes = zip(self.outcomes[number], self.outputs[number], strict=True)
        return Transition(
            id=self.transition_ids[number],
            inputs=self._named(self.inputs[number]),
            outcomes=tuple(Outcome(name=name, outputs=self._named(arcs)) for name, arcs in outcomes),
            action=self.actions[number],
            priority=self.priorities[number],
        )

    def _named(self, arcs: Arcs) -> tuple[Arc, ...]:
        return tuple(Arc(self.place_ids[place], weight) for place, weight in arcs)

    def place_number(self, place: str) -> int:
        if self._place_numbers is None:  # made on first use: a run works on numbers alone
            object.__setattr__(self, "_place_numbers", {p: n for n, p in enumerate(self.place_ids)})
        try:
            return cast("dict[str, int]", self._place_numbers)[place]
        except KeyError:
            raise NetError(f"the net has no place {place!r}") from None

    def transition_number(self, transition: str) -> int:
        if self._transition_numbers is None:
            numbers = {t: n for n, t in enumerate(self.transition_ids)}
            object.__setattr__(self, "_transition_numbers", numbers)
        try:
            return cast("dict[str, int]", self._transition_numbers)[transition]
        except KeyError:
            raise NetError(f"the net has no transition {transition!r}") from None

    def initial_marking(self) -> Marking:
        return self.marking(self.initial)

    def marking(self, tokens: Iterable[int]) -> Marking:
        """The marking with these tokens, one number for each place."""
        return Marking({p: n for p, n in zip(self.place_ids, tokens, strict=True) if n})


_COLUMNS = (
    "place_ids", "place_kinds", "initial",
    "transition_ids", "actions", "priorities", "inputs", "outcomes", "outputs",
)  # fmt: skip


class _Builder:
    """Turns ids into numbers, one column at a time; equal tuples are kept once."""

    def __init__(self) -> None:
        self.columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        self._places: dict[str, int] = {}
        self._transitions: set[str] = set()
        self._kept: dict[Any, Any] = {}

    def add_place(self, place: Place) -> None:
        self._new_id(place.id, "place")
        if type(place.tokens) is not int or place.tokens < 0:
            raise NetError(f"place {place.id!r} has {place.tokens!r} tokens; a whole number ≥ 0 is needed")
        self._places[place.id] = len(self._places)
        self._append(place_ids=place.id, place_kinds=PlaceKind(place.kind), initial=place.tokens)

    def add_transition(self, transition: Transition) -> None:
        self._new_id(transition.id, "transition")
        self._transitions.add(transition.id)
        names = tuple(outcome.name for outcome in transition.outcomes)
        if not names or len(set(names)) < len(names):
            said = ", ".join(names) if names else "none"
            raise NetError(f"transition {transition.id!r} needs outcomes of different names; it has: {said}")
        self._append(
            transition_ids=transition.id,
            actions=transition.action,
            priorities=transition.priority,
            inputs=self._arcs(transition.inputs, transition.id),
            outcomes=self._once(names),
            outputs=self._once(tuple(self._arcs(o.outputs, transition.id) for o in transition.outcomes)),
        )

    def _append(self, **row: Any) -> None:
        for name, value in row.items():
            self.columns[name].append(value)

    def _new_id(self, id_: str, what: str) -> None:
        if not isinstance(id_, str) or not id_:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise NetError(f"a {what} needs an id that is a non-empty string, not {id_!r}")
        if id_ in self._places or id_ in self._transitions:
            raise NetError(f"two nodes of the net have the id {id_!r}; ids must differ")

    def _arcs(self, arcs: Iterable[Arc], transition: str) -> Arcs:
        weights: dict[int, int] = {}
        for place, weight in arcs:
            if place not in self._places:
                raise NetError(
                    f"transition {transition!r} has an arc to a place {place!r} that does not exist"
                )
            if type(weight) is not int or weight < 1:
                raise NetError(
                    f"the arc between {transition!r} and {place!r} has weight {weight!r}; "
                    "a whole number ≥ 1 is needed"
                )
            number = self._places[place]
            weights[number] = weights.get(number, 0) + weight
        return self._once(tuple(self._once(arc) for arc in weights.items()))

    def _once(self, value: T) -> T:
        return cast("T", self._kept.setdefault(value, value))
