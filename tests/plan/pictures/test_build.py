from collections import Counter

from hypothesis import given

from plan.pictures.plans import plan, plans
from weft.plan.pictures import Edge, EdgeKind, Node, NodeKind, PictureRow, dependency_picture, tree_picture


def test_the_tree_has_a_node_for_each_row_and_a_line_to_each_from_what_it_is_in():
    picture = tree_picture(plan("a", "a/x", "b"), title="notes")
    assert [(node.id, node.label, node.kind) for node in picture.nodes] == [
        ("n0", "notes", NodeKind.PLAN),
        ("n1", "a", NodeKind.GROUP),
        ("n2", "x", NodeKind.SLICE),
        ("n3", "b", NodeKind.SLICE),
    ]
    assert picture.edges == tuple(
        Edge(source=source, target=target, kind=EdgeKind.CONTAINS)
        for source, target in (("n0", "n1"), ("n1", "n2"), ("n0", "n3"))
    )


def test_a_slice_is_drawn_in_the_frames_of_its_groups():
    picture = dependency_picture(plan("a", "a/b", "a/b/x", "a/y", "z"))
    assert [(c.id, c.parent, c.members) for c in picture.clusters] == [
        ("g1", "", ("n4",)),
        ("g2", "g1", ("n3",)),
    ]
    assert [node.id for node in picture.nodes] == ["n3", "n4", "n5"]


def test_a_line_leads_from_what_comes_first_to_what_needs_it():
    rows = [*plan("a", "a/x"), PictureRow(path="b", parent=0, is_leaf=True, depends_on=(1,), after=(1, 2))]
    assert dependency_picture(rows).edges == (
        Edge(source="g1", target="n3", kind=EdgeKind.DEPENDS),
        Edge(source="n2", target="n3", kind=EdgeKind.AFTER),
    )


def test_a_box_says_its_id_its_title_and_its_note_and_the_hint_its_path():
    row = PictureRow(path="a/x", title="Do it", parent=0, is_leaf=True, note="2 steps")
    (node,) = dependency_picture([*plan(), row]).nodes
    assert node == Node(
        id="n1", label="x", note="Do it · 2 steps", hint="a/x\nDo it\n2 steps", kind=NodeKind.SLICE
    )


def test_a_title_that_is_the_id_is_not_said_twice():
    (node,) = dependency_picture([*plan(), PictureRow(path="a/x", title="x", parent=0, is_leaf=True)]).nodes
    assert (node.label, node.note, node.hint) == ("x", "", "a/x")


def test_a_folded_box_says_how_many_beside_its_id_if_it_has_a_title():
    titled = PictureRow(path="a", title="Store", parent=0, is_leaf=True, note="3 slices", folded=3)
    run = PictureRow(path="a/x … z", parent=0, is_leaf=True, note="3 slices", folded=3)
    nodes = dependency_picture([*plan(), titled, run]).nodes
    assert [(node.kind, node.label, node.note) for node in nodes] == [
        (NodeKind.FOLDED, "a · 3 slices", "Store"),
        (NodeKind.FOLDED, "x … z", "3 slices"),
    ]


def test_a_frame_says_the_group_and_its_title():
    (cluster,) = dependency_picture(plan("a", "a/x")).clusters
    assert (cluster.label, cluster.hint) == ("a · A", "a\nA")


def test_a_plan_without_a_title_is_called_by_its_own_or_just_plan():
    assert (
        tree_picture([PictureRow(path="", title="mine", parent=-1, is_leaf=False)]).nodes[0].label == "mine"
    )
    assert tree_picture(plan()).nodes[0].label == "plan"


@given(plans(circles=True))
def test_every_row_is_drawn_once_and_every_dependency_is_one_line(rows):
    picture = dependency_picture(rows)
    drawn = [node.id for node in picture.nodes] + [cluster.id for cluster in picture.clusters]
    assert sorted(int(id_[1:]) for id_ in drawn) == list(range(1, len(rows)))
    assert len(picture.edges) == sum(len(row.depends_on) + len(row.after) for row in rows)
    framed = Counter(member for cluster in picture.clusters for member in cluster.members)
    assert framed.total() == len(framed)
