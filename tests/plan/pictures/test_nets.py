from hypothesis import given

from parts import arc, outcome, place, transition
from strategies import nets
from weft.net.model import Net, PlaceKind
from weft.plan.pictures import EdgeKind, NodeKind, net_picture


def lines(net):
    return [(edge.source, edge.target, edge.label, edge.kind) for edge in net_picture(net).edges]


def test_places_are_drawn_by_their_kind_with_their_tokens():
    net = Net(
        [
            place("i", tokens=2),
            place("r", kind=PlaceKind.RUNNING),
            place("s", kind=PlaceKind.POOL, tokens=10),
            place("o", kind=PlaceKind.END),
        ],
        [],
    )
    assert [(node.label, node.note, node.kind) for node in net_picture(net).nodes] == [
        ("i", "●●", NodeKind.PLACE),
        ("r", "", NodeKind.RUNNING),
        ("o", "", NodeKind.END),
        ("s", "10 ●", NodeKind.POOL),
    ]


def test_outcomes_that_lead_to_the_same_place_share_a_line():
    to_o, to_p = arc("o"), arc("p", 2)
    outcomes = (outcome("ok", to_o), outcome("bad", to_o, to_p), outcome("off", to_o, to_p))
    net = Net([place("o"), place("p")], [transition("t", (), *outcomes)])
    assert lines(net) == [
        ("t0", "p0", "", EdgeKind.ARC),
        ("t0", "p1", "bad, off 2", EdgeKind.ARC),
    ]


def test_a_pool_that_gets_back_what_was_taken_is_joined_by_one_line():
    slots = place("slots", kind=PlaceKind.POOL, tokens=3)
    net = Net([slots], [transition("t", (arc("slots", 2),), outcome("ok", arc("slots", 2)))])
    assert lines(net) == [("p0", "t0", "2", EdgeKind.CLAIM)]


def test_a_pool_that_does_not_get_all_back_from_every_outcome_has_two_lines():
    slots = place("slots", kind=PlaceKind.POOL, tokens=3)
    net = Net([slots], [transition("t", (arc("slots"),), outcome("ok", arc("slots")), outcome("lost"))])
    assert lines(net) == [("p0", "t0", "", EdgeKind.ARC), ("t0", "p0", "ok", EdgeKind.ARC)]


def test_a_place_that_is_no_pool_has_a_line_each_way():
    net = Net([place("p")], [transition("t", (arc("p"),), outcome("ok", arc("p")))])
    assert [line[3] for line in lines(net)] == [EdgeKind.ARC, EdgeKind.ARC]


def test_nodes_stand_in_the_order_in_which_tokens_come_to_them():
    net = Net(
        [place("end"), place("mid"), place("start", tokens=1)],
        [
            transition("last", (arc("mid"),), outcome("ok", arc("end"))),
            transition("first", (arc("start"),), outcome("ok", arc("mid"))),
        ],
    )
    assert [node.label for node in net_picture(net).nodes] == ["start", "first", "mid", "last", "end"]


def test_what_all_ids_begin_with_is_left_out_of_labels_but_not_of_hints():
    net = Net([place("a/b.ready"), place("a/b.read")], [transition("a/b.run", (), outcome("ok"))])
    nodes = net_picture(net, title="b").nodes
    assert [node.label for node in nodes] == ["ready", "read", "run"]
    assert nodes[0].hint == "a/b.ready"


def test_an_action_is_in_the_hint():
    net = Net([], [transition("t", (), outcome("ok"), action="verify")])
    assert net_picture(net).nodes[0].hint == "t\nverify"


@given(nets())
def test_every_node_is_drawn_once_and_lines_join_what_arcs_join(net):
    picture = net_picture(net)
    assert len({node.id for node in picture.nodes}) == len(picture.nodes)
    assert len(picture.nodes) == len(net.place_ids) + len(net.transition_ids)
    joined = {frozenset((edge.source, edge.target)) for edge in picture.edges}
    assert joined == {
        frozenset((f"p{p}", f"t{number}"))
        for number, inputs in enumerate(net.inputs)
        for arcs in (inputs, *net.outputs[number])
        for p, _ in arcs
    }
