import xml.etree.ElementTree as ET
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plan.pictures.plans import plan, plans
from strategies import nets
from weft.errors import InputError
from weft.plan.pictures import (
    Cluster,
    Edge,
    EdgeKind,
    Node,
    NodeKind,
    Picture,
    TooLargeToDrawError,
    dependency_picture,
    fold_rows,
    net_picture,
    picture_to_svg,
    tree_picture,
)

SVG = "{http://www.w3.org/2000/svg}"


def drawn(picture):
    return ET.fromstring(picture_to_svg(picture))


def classes(root, tag):
    return [element.get("class") for element in root.iter(f"{SVG}{tag}") if element.get("class")]


def labelled(text: str) -> Picture:
    return Picture(
        title=text,
        nodes=tuple(
            Node(id=f"n{number}", label=text, note=text, hint=text, kind=kind)
            for number, kind in enumerate(NodeKind)
        ),
        edges=tuple(
            Edge(source="n0", target=f"n{number}", label=text, kind=kind)
            for number, kind in enumerate(EdgeKind, 1)
        ),
        clusters=(Cluster(id="g1", label=text, hint=text, members=("n0", "n3")),),
    )


@given(st.text())
def test_any_text_gives_well_formed_xml(text):
    assert drawn(labelled(text)).tag == f"{SVG}svg"


def test_text_is_shown_as_it_is():
    hint = drawn(labelled('<b>&"\0🎉 שלום')).find(f"{SVG}title")
    assert hint is not None
    assert hint.text == '<b>&"␀🎉 שלום'


@given(plans(circles=True))
def test_every_box_frame_and_line_of_a_plan_is_drawn_once(rows):
    picture = dependency_picture(rows)
    root = drawn(picture)
    lines = Counter(classes(root, "path"))
    assert lines == Counter(f"edge {edge.kind}" for edge in picture.edges)
    groups = Counter(classes(root, "g"))
    assert groups == Counter(["cluster"] * len(picture.clusters) + [f"node {n.kind}" for n in picture.nodes])


@given(nets())
def test_every_node_and_line_of_a_net_is_drawn_once(net):
    picture = net_picture(net)
    root = drawn(picture)
    assert len(classes(root, "path")) == len(picture.edges)
    assert len(classes(root, "g")) == len(picture.nodes)


@given(plans(circles=True))
def test_the_same_picture_is_drawn_the_same_byte_for_byte(rows):
    assert picture_to_svg(dependency_picture(rows)) == picture_to_svg(dependency_picture(list(rows)))


def test_it_stands_alone():
    text = picture_to_svg(tree_picture(plan("a", "a/b"), title="t"))
    root = ET.fromstring(text)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} == {
        "svg", "title", "style", "defs", "rect", "path", "g", "text",
    } | {"marker"}  # fmt: skip
    assert text.count("://") == 1
    assert "ui-sans-serif, system-ui, sans-serif" in text
    assert "prefers-color-scheme: dark" in text


def test_the_size_is_said_twice_the_same():
    root = drawn(tree_picture(plan("a")))
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"


def test_a_long_title_is_cut_in_its_box_and_whole_in_its_hint():
    row = plan("a")[1]
    long = "A title that goes on and on, far beyond what a box has room for"
    picture = Picture(
        title="", nodes=(Node(id="n1", label=row.path, note=long, hint=long, kind=NodeKind.SLICE),), edges=()
    )
    root = drawn(picture)
    (note,) = [e.text or "" for e in root.iter(f"{SVG}text") if e.get("class") == "note"]
    assert note.endswith("…")
    assert long.startswith(note[:-1])
    assert long in {element.text for element in root.iter(f"{SVG}title")}


def test_a_node_without_a_hint_has_its_label_as_one():
    root = drawn(Picture(title="", nodes=(Node(id="n1", label="x", kind=NodeKind.STEP),), edges=()))
    assert [element.text for element in root.iter(f"{SVG}title")] == [None, "x"]


@pytest.mark.parametrize(
    ("kind", "markers"),
    [
        (EdgeKind.DEPENDS, {"marker-end"}),
        (EdgeKind.AFTER, {"marker-end"}),
        (EdgeKind.CONTAINS, set()),
        (EdgeKind.ARC, {"marker-end"}),
        (EdgeKind.CLAIM, {"marker-start", "marker-end"}),
    ],
)
def test_a_line_has_heads_by_its_kind(kind, markers):
    nodes = tuple(Node(id=id_, label=id_, kind=NodeKind.SLICE) for id_ in "ab")
    root = drawn(Picture(title="", nodes=nodes, edges=(Edge(source="a", target="b", kind=kind),)))
    (line,) = [e for e in root.iter(f"{SVG}path") if e.get("class") == f"edge {kind}"]
    assert set(line.attrib) - {"class", "d"} == markers


def test_a_line_that_climbs_is_a_curve_and_a_level_one_is_straight():
    rows = plan("a", "b", "c", "d", needs={"b": ["a"], "c": ["a"]})
    paths = [e.get("d", "") for e in drawn(dependency_picture(rows)).iter(f"{SVG}path") if e.get("class")]
    assert all("C" in path for path in paths)
    chain = plan("a", "b", needs={"b": ["a"]})
    (path,) = [e.get("d", "") for e in drawn(dependency_picture(chain)).iter(f"{SVG}path") if e.get("class")]
    assert path == "M98,41L134,41"


def test_too_many_boxes_are_refused_with_what_to_do():
    many = tree_picture(plan(*(f"s{n}" for n in range(400))))
    with pytest.raises(TooLargeToDrawError, match=r"401 boxes.*name a subplan.*--format dot") as caught:
        picture_to_svg(many)
    assert isinstance(caught.value, InputError)


def test_too_many_lines_are_refused_too():
    nodes = tuple(Node(id=id_, label=id_, kind=NodeKind.SLICE) for id_ in "ab")
    edges = (Edge(source="a", target="b"),) * 2001
    with pytest.raises(TooLargeToDrawError, match="2,001 lines, and more than 2,000"):
        picture_to_svg(Picture(title="", nodes=nodes, edges=edges))


def test_a_large_plan_is_drawn_when_it_is_folded():
    rows = plan(*(path for n in range(25) for path in (f"g{n}", *(f"g{n}/s{m}" for m in range(20)))))
    root = drawn(dependency_picture(fold_rows(rows)))
    assert classes(root, "g") == ["node folded"] * 25
