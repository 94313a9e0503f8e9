import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parts import arc, outcome, place
from weft.errors import FileFormatError, NetError
from weft.ids import TransitionId
from weft.net.formats import dump_net, load_net, marking_from_json, net_from_json, net_to_json
from weft.net.model import Arc, Marking, Net, Outcome, Place, PlaceKind, Transition

ids = st.sampled_from(["a/b", "a b", "<&>", "\"'", "\\", "\0\n", "\ud800", "é😀"]) | st.text(min_size=1)
numbers = st.integers(1, 3) | st.integers(1, 10**40)


@st.composite
def nets(draw):
    every = draw(st.lists(ids, unique=True, max_size=10))
    split = draw(st.integers(0, len(every)))
    places, transitions = every[:split], every[split:]
    some_arc = st.builds(Arc, st.sampled_from(places or [""]), numbers)
    arcs = st.lists(some_arc, max_size=4).map(tuple) if places else st.just(())
    some_outcome = st.builds(Outcome, name=st.text(), outputs=arcs)
    outcomes = st.lists(some_outcome, min_size=1, max_size=3, unique_by=lambda o: o.name).map(tuple)
    return Net(
        [
            Place(id=id_, kind=draw(st.sampled_from(PlaceKind)), tokens=draw(st.just(0) | numbers))
            for id_ in places
        ],
        [
            draw(
                st.builds(
                    Transition,
                    id=st.just(id_),
                    inputs=arcs,
                    outcomes=outcomes,
                    action=st.none() | st.text(),
                    priority=st.integers(),
                )
            )
            for id_ in transitions
        ],
    )


def good() -> dict[str, Any]:
    outputs = [{"place": "p", "weight": 2}]
    inputs = [{"place": "p", "weight": 3}]
    transition = {"id": "t", "inputs": inputs, "outcomes": [{"name": "ok", "outputs": outputs}]}
    return {"weft": 1, "net": {"places": [{"id": "p"}], "transitions": [transition]}}


def changed(path: tuple[Any, ...], value: object) -> dict[str, Any]:
    data = good()
    at: Any = data
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return data


@given(nets())
def test_a_net_comes_back_as_it_was(net):
    assert net_from_json(net_to_json(net)) == net
    assert load_net(dump_net(net), file="net.json") == net
    assert load_net(dump_net(net).encode(), file="net.json") == net


def test_the_shape_is_the_documented_one():
    transition = Transition(
        id=TransitionId("t"),
        inputs=(arc("p"), arc("slots", 2)),
        outcomes=(outcome("ok", arc("p")), outcome("lost")),
        action="do",
        priority=-1,
    )
    net = Net([place("p", tokens=1), place("slots", kind=PlaceKind.POOL, tokens=4)], [transition])
    assert net_to_json(net) == {
        "weft": 1,
        "net": {
            "places": [
                {"id": "p", "kind": "control", "tokens": 1},
                {"id": "slots", "kind": "pool", "tokens": 4},
            ],
            "transitions": [
                {
                    "id": "t",
                    "inputs": [{"place": "p", "weight": 1}, {"place": "slots", "weight": 2}],
                    "outcomes": [
                        {"name": "ok", "outputs": [{"place": "p", "weight": 1}]},
                        {"name": "lost", "outputs": []},
                    ],
                    "action": "do",
                    "priority": -1,
                }
            ],
        },
    }
    assert {type(place["kind"]) for place in net_to_json(net)["net"]["places"]} == {str}


def test_what_is_left_out_has_its_usual_value():
    data = good()
    del data["net"]["transitions"][0]["inputs"][0]["weight"]
    net = net_from_json(data)
    assert list(net.places) == [place("p")]
    ok = outcome("ok", arc("p", 2))
    assert list(net.transitions) == [Transition(id=TransitionId("t"), inputs=(arc("p"),), outcomes=(ok,))]


T = ("net", "transitions", 0)
WRONG = [
    (("weft",), 2, "weft: 2; version 1 is needed"),
    (("weft",), "1", "weft: '1'; a whole number is needed"),
    (("net",), [], "net: []; an object is needed"),
    (("more",), 1, "the whole: the key 'more'; allowed are weft, net"),
    (("net", "arcs"), [], "net: the key 'arcs'; allowed are places, transitions"),
    (("net", "places"), {}, "net.places: {}; a list is needed"),
    (("net", "places", 0), "p", "net.places[0]: 'p'; an object is needed"),
    (("net", "places", 0), {}, "net.places[0].id: missing; it is needed"),
    (("net", "places", 0, "id"), 7, "net.places[0].id: 7; a string is needed"),
    (
        ("net", "places", 0, "kind"),
        "odd",
        "net.places[0].kind: 'odd'; one of control, running, pool, end is needed",
    ),
    (("net", "places", 0, "kind"), None, "net.places[0].kind: None; a string is needed"),
    (("net", "places", 0, "tokens"), -1, "net.places[0].tokens: -1; a whole number ≥ 0 is needed"),
    (("net", "places", 0, "tokens"), 1.0, "net.places[0].tokens: 1.0; a whole number ≥ 0 is needed"),
    (("net", "places", 0, "tokens"), True, "net.places[0].tokens: True; a whole number ≥ 0 is needed"),
    (
        (*T, "inputs", 0, "weight"),
        -1,
        "net.transitions[0].inputs[0].weight: -1; a whole number ≥ 1 is needed",
    ),
    (
        (*T, "outcomes", 0, "outputs", 0, "weight"),
        0,
        "net.transitions[0].outcomes[0].outputs[0].weight: 0; a whole number ≥ 1 is needed",
    ),
    ((*T, "inputs", 0, "place"), None, "net.transitions[0].inputs[0].place: None; a string is needed"),
    ((*T, "inputs", 0), ["p", 1], "net.transitions[0].inputs[0]: ['p', 1]; an object is needed"),
    ((*T, "inputs"), "p", "net.transitions[0].inputs: 'p'; a list is needed"),
    ((*T, "outcomes", 0, "name"), 1, "net.transitions[0].outcomes[0].name: 1; a string is needed"),
    ((*T, "action"), 1, "net.transitions[0].action: 1; a string is needed"),
    ((*T, "priority"), "high", "net.transitions[0].priority: 'high'; a whole number is needed"),
    (
        (*T, "guard"),
        "x",
        "net.transitions[0]: the key 'guard'; allowed are id, inputs, outcomes, action, priority",
    ),
    ((*T, "outcomes"), [], "transition 't' needs outcomes of different names; it has: none"),
    ((*T, "inputs", 0, "place"), "no", "transition 't' has an arc to a place 'no' that does not exist"),
    ((*T, "id"), "p", "two nodes of the net have the id 'p'; ids must differ"),
]


@pytest.mark.parametrize(("path", "value", "said"), WRONG)
def test_a_wrong_value_is_refused_with_the_path_to_it(path, value, said):
    data = changed(path, value)
    with pytest.raises(NetError) as of_data:
        net_from_json(data)
    assert str(of_data.value) == said
    with pytest.raises(FileFormatError) as of_text:
        load_net(json.dumps(data), file="net.json")
    assert str(of_text.value) == f"net.json: {said}"


@pytest.mark.parametrize("data", [None, [], "net", 1])
def test_what_is_no_object_is_refused(data):
    with pytest.raises(NetError) as caught:
        net_from_json(data)
    assert str(caught.value) == f"the whole: {data!r}; an object is needed"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"weft": 1,\n  net}', "2:3: not JSON: Expecting property name enclosed in double quotes; "),
        ("", "1:1: not JSON: Expecting value; "),
        (b'{"weft": "\xff"}', " not text: invalid start byte at byte 10; JSON in UTF-8 is needed"),
        ("[" * 1_000_000, " nested too deep, or a number too long; "),
        ('{"weft": ' + "1" * 5000 + "}", " nested too deep, or a number too long; "),
        ('{"weft": 1, "weft": 1}', " the key 'weft' stands twice in one object; keys must differ"),
        ('{"weft": NaN, "net": {}}', " weft: nan; a whole number is needed"),
    ],
)
def test_a_text_that_is_no_json_is_refused(text, said):
    with pytest.raises(FileFormatError) as caught:
        load_net(text, file="net.json")
    assert str(caught.value).startswith(f"net.json:{said}")


def test_a_long_value_is_cut_short_in_the_message():
    with pytest.raises(NetError) as caught:
        net_from_json(changed(("net", "places", 0, "tokens"), "x" * 10_000))
    assert len(str(caught.value)) < 200


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats() | st.sampled_from(["p", "t", "ok", "pool"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "place", "weight", "name", "outputs", "x"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)
PATHS = sorted({path[:depth] for path, _, _ in WRONG for depth in range(1, len(path) + 1)}, key=repr)


@given(st.sampled_from(PATHS), json_values)
def test_any_other_value_anywhere_is_read_or_refused_and_nothing_else(path, value):
    try:
        net = net_from_json(changed(path, value))
    except NetError:
        net = None
    assert net is None or net_from_json(net_to_json(net)) == net


@given(st.dictionaries(ids, numbers), st.dictionaries(ids, numbers))
def test_a_marking_comes_back_as_it_was(tokens, running):
    marking = Marking(tokens, running)
    assert marking_from_json(json.loads(json.dumps(marking.to_json()))) == marking


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "the whole: []; an object is needed"),
        ({"token": {}}, "the whole: the key 'token'; allowed are tokens, running"),
        ({"tokens": []}, "tokens: []; an object is needed"),
        ({"tokens": {"a/b": -1}}, "tokens['a/b']: -1; a whole number ≥ 0 is needed"),
        ({"running": {"t": True}}, "running['t']: True; a whole number ≥ 0 is needed"),
        ({"running": {"t": "1"}}, "running['t']: '1'; a whole number ≥ 0 is needed"),
        ({"tokens": {1: 1}}, "tokens: 1; ids that are strings are needed"),
    ],
)
def test_a_wrong_marking_is_refused_with_the_path_to_the_value(data, said):
    with pytest.raises(NetError) as caught:
        marking_from_json(data)
    assert str(caught.value) == said


def test_a_marking_of_nothing_is_empty():
    assert marking_from_json({}) == Marking()
