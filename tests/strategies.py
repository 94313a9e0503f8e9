"""Random nets, for properties that hold of every net."""

from hypothesis import strategies as st

from weft.ids import OutcomeName, PlaceId, TransitionId
from weft.net.model import Arc, Net, Outcome, Place, PlaceKind, Transition


def arcs(places: list[Place], *, most: int, weights: int = 2) -> st.SearchStrategy[tuple[Arc, ...]]:
    arc = st.builds(Arc, st.sampled_from([p.id for p in places]), st.integers(1, weights))
    return st.lists(arc, max_size=most, unique_by=lambda a: a.place).map(tuple)


@st.composite
def nets(
    draw: st.DrawFn, *, max_places: int = 6, max_transitions: int = 6, pools: bool = True, tokens: int = 3
) -> Net:
    """Any small net: weights, several outcomes, pools, transitions without inputs or without outputs."""
    kinds = st.sampled_from([PlaceKind.CONTROL, PlaceKind.CONTROL, *[PlaceKind.POOL] * pools])
    places = [
        Place(
            id=PlaceId(f"p{n}"),
            kind=draw(kinds),
            tokens=draw(st.integers(0, tokens)),
        )
        for n in range(draw(st.integers(1, max_places)))
    ]
    transitions: list[Transition] = []
    for n in range(draw(st.integers(0, max_transitions))):
        outcomes = tuple(
            Outcome(name=OutcomeName(name), outputs=draw(arcs(places, most=3)))
            for name in ("ok", "no", "off")[: draw(st.integers(1, 3))]
        )
        transitions.append(
            Transition(
                id=TransitionId(f"t{n}"),
                inputs=draw(arcs(places, most=3)),
                outcomes=outcomes,
                action=draw(st.sampled_from([None, "work"])),
                priority=draw(st.integers(0, 3)),
            )
        )
    return Net(places, transitions)
