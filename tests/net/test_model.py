import pytest
from hypothesis import given

from strategies import nets
from weft.errors import NetError
from weft.ids import OutcomeName, PlaceId, TransitionId
from weft.net.model import Arc, Marking, Net, NetBuilder, Outcome, Place, PlaceKind, Transition


def place(id_: str, tokens: int = 0) -> Place:
    return Place(id=PlaceId(id_), tokens=tokens)


def transition(id_: str, takes: tuple[Arc, ...] = (), **outcomes: tuple[Arc, ...]) -> Transition:
    outcome_structs = tuple(Outcome(name=OutcomeName(name), outputs=arcs) for name, arcs in outcomes.items())
    return Transition(id=TransitionId(id_), inputs=takes, outcomes=outcome_structs)


def arc(place_id: str, weight: int = 1) -> Arc:
    return Arc(PlaceId(place_id), weight)


@given(nets())
def test_a_net_made_from_the_parts_of_a_net_is_equal_to_it(net: Net) -> None:
    again = Net(net.places, net.transitions)
    assert again == net
    assert hash(again) == hash(net)


def test_nets_that_differ_in_one_arc_are_not_equal() -> None:
    places = [place("a"), place("b")]
    first_net = Net(places, [transition("t", (arc("a"),), done=(arc("b"),))])
    two = Net(places, [transition("t", (arc("a"),), done=(arc("b", 2),))])
    assert first_net != two
    assert first_net != "a net"


def test_a_net_does_not_change() -> None:
    net = Net([place("a", 1)], [])
    with pytest.raises(AttributeError, match="does not change"):
        net.initial = (2,)


def test_arcs_between_the_same_nodes_add_up() -> None:
    net = Net([place("a")], [transition("t", (arc("a"), arc("a", 2)), done=())])
    assert net.transition(0).inputs == (arc("a", 3),)


def test_numbers_and_ids_lead_to_each_other() -> None:
    net = Net([place("a"), place("b", 2)], [transition("t", done=()), transition("u", done=())])
    assert net.place_number("b") == 1
    assert net.transition_number("u") == 1
    assert net.initial_marking() == Marking({PlaceId("b"): 2})
    with pytest.raises(NetError, match="no place 'x'"):
        net.place_number("x")
    with pytest.raises(NetError, match="no transition 'x'"):
        net.transition_number("x")
    assert repr(net) == "<Net of 2 places, 2 transitions>"


@pytest.mark.parametrize(
    ("places", "transitions", "message"),
    [
        ([place("a"), place("a")], [], "two nodes of the net have the id 'a'"),
        ([place("a")], [transition("a", done=())], "two nodes of the net have the id 'a'"),
        ([place("")], [], "has the id ''; a non-empty string"),
        ([Place(id=3)], [], "has the id 3; a non-empty string"),  # type: ignore[arg-type]
        ([place("a", -1)], [], "place 'a' has -1 tokens"),
        ([place("a", True)], [], "place 'a' has True tokens"),
        (
            [place("a")],
            [transition("t", (arc("b"),), done=())],
            "'t' has an arc to a place 'b' that does not exist",
        ),
        (
            [place("a")],
            [transition("t", done=(arc("b"),))],
            "'t' has an arc to a place 'b' that does not exist",
        ),
        ([place("a")], [transition("t", (arc("a", 0),), done=())], "between 't' and 'a' has weight 0"),
        ([place("a")], [transition("t", (arc("a", -2),), done=())], "has weight -2; a whole number ≥ 1"),
        ([place("a")], [transition("t", (arc("a", True),), done=())], "has weight True"),
        ([place("a")], [transition("t")], "'t' needs outcomes of different names; it has: none"),
    ],
)
def test_what_is_not_a_net_is_refused_by_name(
    places: list[Place], transitions: list[Transition], message: str
) -> None:
    with pytest.raises(NetError, match=message):
        Net(places, transitions)


def test_two_outcomes_of_one_name_are_refused() -> None:
    twice = (Outcome(name=OutcomeName("x"), outputs=()),) * 2
    with pytest.raises(NetError, match="different names; it has: x, x"):
        Net([], [Transition(id=TransitionId("t"), inputs=(), outcomes=twice)])


def test_a_builder_makes_the_net_that_its_parts_would() -> None:
    builder = NetBuilder()
    a = builder.add_place("a", tokens=1)
    pool = builder.add_place("pool", kind=PlaceKind.POOL, tokens=2)
    names = (OutcomeName("done"),)
    builder.add_transition("t", ((a, 1), (pool, 2)), names, (((pool, 2),),), action="work", priority=7)
    built = Transition(
        id=TransitionId("t"),
        inputs=(arc("a"), arc("pool", 2)),
        outcomes=(Outcome(name=OutcomeName("done"), outputs=(arc("pool", 2),)),),
        action="work",
        priority=7,
    )
    pool_place = Place(id=PlaceId("pool"), kind=PlaceKind.POOL, tokens=2)
    assert builder.build() == Net([place("a", 1), pool_place], [built])


def test_a_marking_forgets_zeros_and_compares_by_content() -> None:
    some = Marking({PlaceId("a"): 1, PlaceId("b"): 0}, {TransitionId("t"): 2})
    same = Marking({PlaceId("a"): 1}, {TransitionId("t"): 2})
    assert some == same
    assert hash(some) == hash(same)
    assert (some["a"], some["b"]) == (1, 0)
    assert Marking.from_json(some.to_json()) == some


@pytest.mark.parametrize("count", [-1, 1.5, "2", True])
def test_a_marking_holds_whole_numbers_only(count: object) -> None:
    with pytest.raises(NetError, match="a whole number ≥ 0"):
        Marking({PlaceId("a"): count})  # type: ignore[dict-item]


def test_a_marking_cannot_be_changed_through_the_dict_it_was_made_of() -> None:
    counts = {PlaceId("a"): 1}
    marking = Marking(counts)
    counts[PlaceId("a")] = 5
    assert marking["a"] == 1
    with pytest.raises(TypeError):
        marking.tokens[PlaceId("a")] = 2  # type: ignore[index]
