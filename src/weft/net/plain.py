"""Plain place/transition nets: the form that is analysed, exported and imported.

A plain transition takes its inputs and gives its outputs in one step. `unfold` turns a net with
outcomes into one: a transition with an action becomes `t.start` (inputs → `t.running`) and one
`t.OUTCOME` for each outcome (`t.running` → its outputs); a transition without an action becomes one
plain transition for each outcome, named `t` if there is only one. The net that runs and the net that is
analysed therefore come from one definition.
"""

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct, field
from msgspec.structs import force_setattr

from weft.errors import NetError
from weft.ids import OutcomeName, PlaceId, TransitionId
from weft.net.model import Arc, Arcs, Marking, Net, Outcome, Place, PlaceKind, Transition

FIRED = OutcomeName("fired")
"""The one outcome of a plain transition, where a name is needed."""


class PlainNet(Struct, frozen=True, kw_only=True):
    """A place/transition net by numbers: place *n* is the n-th id, and arcs refer to places by number."""

    place_ids: tuple[PlaceId, ...]
    transition_ids: tuple[TransitionId, ...]
    inputs: tuple[Arcs, ...]
    outputs: tuple[Arcs, ...]
    initial: tuple[int, ...]
    place_kinds: tuple[PlaceKind, ...] = ()

    def __post_init__(self) -> None:
        if not self.place_kinds:
            force_setattr(self, "place_kinds", (PlaceKind.CONTROL,) * len(self.place_ids))
        nodes = (*self.place_ids, *self.transition_ids)
        if len(set(nodes)) < len(nodes):
            duplicate = next(id_ for id_, count in Counter(nodes).items() if count > 1)
            raise NetError(f"two nodes of the net have the id {duplicate!r}; ids must differ")

    def marking(self, tokens: Iterable[int]) -> Marking:
        """Returns the marking with these tokens, one number for each place."""
        return Marking({p: n for p, n in zip(self.place_ids, tokens, strict=True) if n})

    def without_places(self, dropped: Iterable[int]) -> "PlainNet":
        """Returns the net without these places and their arcs."""
        dropped_places = set(dropped)
        remaining = [p for p in range(len(self.place_ids)) if p not in dropped_places]
        renumbered = {old: new for new, old in enumerate(remaining)}

        def renumber_arcs(arcs: Arcs) -> Arcs:
            return tuple((renumbered[p], w) for p, w in arcs if p in renumbered)

        return PlainNet(
            place_ids=tuple(self.place_ids[p] for p in remaining),
            transition_ids=self.transition_ids,
            inputs=tuple(map(renumber_arcs, self.inputs)),
            outputs=tuple(map(renumber_arcs, self.outputs)),
            initial=tuple(self.initial[p] for p in remaining),
            place_kinds=tuple(self.place_kinds[p] for p in remaining),
        )

    def skeleton(self) -> "PlainNet":
        """Returns the control part without the pools, on which soundness is decided."""
        return self.without_places(p for p, kind in enumerate(self.place_kinds) if kind is PlaceKind.POOL)

    def to_net(self) -> Net:
        """Returns the same net in the form that runs: each transition has the single outcome `fired`."""

        def named(arcs: Arcs) -> tuple[Arc, ...]:
            return tuple(Arc(self.place_ids[p], w) for p, w in arcs)

        places = zip(self.place_ids, self.place_kinds, self.initial, strict=True)
        transitions = zip(self.transition_ids, self.inputs, self.outputs, strict=True)
        return Net(
            (Place(id=id_, kind=kind, tokens=tokens) for id_, kind, tokens in places),
            (
                Transition(
                    id=id_, inputs=named(inputs), outcomes=(Outcome(name=FIRED, outputs=named(outputs)),)
                )
                for id_, inputs, outputs in transitions
            ),
        )


def unfold(net: Net) -> PlainNet:
    """Returns the plain net with the same behaviour, with a place for each action in progress."""
    rows = _Rows(list(net.place_ids), list(net.place_kinds), list(net.initial))
    for number, id_ in enumerate(net.transition_ids):
        outcomes = list(zip(net.outcomes[number], net.outputs[number], strict=True))
        inputs = net.inputs[number]
        if net.actions[number] is not None:
            # The place is marked while the action runs, so that interleavings with other transitions are part
            # of the analysis.
            running = rows.add_running_place(f"{id_}.running")
            rows.add_transition(f"{id_}.start", inputs, running)
            inputs = running
        # One outcome needs no choice, so the transition keeps its own name.
        elif len(outcomes) == 1:
            rows.add_transition(id_, inputs, outcomes[0][1])
            continue
        for name, outputs in outcomes:
            rows.add_transition(f"{id_}.{name}", inputs, outputs)
    return rows.net()


class _Rows(Struct):
    place_ids: list[PlaceId]
    kinds: list[PlaceKind]
    initial: list[int]
    transition_ids: list[TransitionId] = field(default_factory=list[TransitionId])
    inputs: list[Arcs] = field(default_factory=list[Arcs])
    outputs: list[Arcs] = field(default_factory=list[Arcs])

    def add_running_place(self, id_: str) -> Arcs:
        self.place_ids.append(PlaceId(id_))
        self.kinds.append(PlaceKind.RUNNING)
        self.initial.append(0)
        return ((len(self.place_ids) - 1, 1),)

    def add_transition(self, id_: str, inputs: Arcs, outputs: Arcs) -> None:
        self.transition_ids.append(TransitionId(id_))
        self.inputs.append(inputs)
        self.outputs.append(outputs)

    def net(self) -> PlainNet:
        return PlainNet(
            place_ids=tuple(self.place_ids),
            transition_ids=tuple(self.transition_ids),
            inputs=tuple(self.inputs),
            outputs=tuple(self.outputs),
            initial=tuple(self.initial),
            place_kinds=tuple(self.kinds),
        )
