import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plan.pictures.plans import plan, plans
from weft.plan.pictures import (
    Cluster,
    Edge,
    EdgeKind,
    Node,
    NodeKind,
    Picture,
    dependency_picture,
    picture_to_dot,
    picture_to_mermaid,
)

NESTED = dependency_picture(
    plan("a", "a/b", "a/b/x", "a/y", "z", needs={"a/y": ["a/b"], "z": ["a"], "a": []}), title="Say: hi"
)
EVERYTHING = Picture(
    title="",
    nodes=tuple(Node(id=f"n{number}", label=kind, kind=kind) for number, kind in enumerate(NodeKind)),
    edges=tuple(Edge(source="n0", target="n1", label="l", kind=kind) for kind in EdgeKind),
)


def labelled(text: str) -> Picture:
    return Picture(
        title=text,
        nodes=tuple(Node(id=id_, label=text, note=text, kind=NodeKind.SLICE) for id_ in ("n1", "n2")),
        edges=(Edge(source="g1", target="n2", label=text),),
        clusters=(Cluster(id="g1", label=text, members=("n1",)),),
    )


def test_a_picture_in_dot():
    assert picture_to_dot(NESTED).splitlines() == [
        "digraph picture {",
        "  rankdir=LR;",
        "  compound=true;",
        '  label="Say: hi";',
        "  labelloc=t;",
        '  n5 [shape=box, style=rounded, label="z\\nZ"];',
        "  subgraph cluster_g1 {",
        '    label="a · A";',
        '    n4 [shape=box, style=rounded, label="y\\nA/Y"];',
        "    subgraph cluster_g2 {",
        '      label="b · A/B";',
        '      n3 [shape=box, style=rounded, label="x\\nA/B/X"];',
        "    }",
        "  }",
        "  n3 -> n4 [ltail=cluster_g2];",
        "  n4 -> n5 [ltail=cluster_g1];",
        "}",
    ]


def test_a_picture_in_mermaid():
    assert picture_to_mermaid(NESTED).splitlines() == [
        "---",
        'title: "Say\\U0000003a hi"',
        "---",
        "flowchart LR",
        '  n5("z<br/>Z")',
        '  subgraph g1 ["a #183; A"]',
        '    n4("y<br/>A/Y")',
        '    subgraph g2 ["b #183; A/B"]',
        '      n3("x<br/>A/B/X")',
        "    end",
        "  end",
        "  g2 --> n4",
        "  g1 --> n5",
    ]


def test_the_kinds_of_lines_differ_in_mermaid():
    written = picture_to_mermaid(EVERYTHING).splitlines()[-len(EdgeKind) :]
    assert written == [
        '  n0 -->|"l"| n1',
        '  n0 -.->|"l"| n1',
        '  n0 ---|"l"| n1',
        '  n0 -->|"l"| n1',
        '  n0 <-.->|"l"| n1',
    ]


def test_the_kinds_of_lines_differ_in_dot():
    written = picture_to_dot(EVERYTHING).splitlines()[-len(EdgeKind) - 1 : -1]
    assert written == [
        '  n0 -> n1 [label="l"];',
        '  n0 -> n1 [style=dashed, label="l"];',
        '  n0 -> n1 [arrowhead=none, label="l"];',
        '  n0 -> n1 [label="l"];',
        '  n0 -> n1 [dir=both, style=dotted, label="l"];',
    ]


def test_a_line_to_a_group_of_groups_ends_at_its_frame_in_dot():
    picture = dependency_picture(plan("z", "a", "a/b", "a/b/x", needs={"a": ["z"]}))
    assert picture_to_dot(picture).splitlines()[-2] == "  n1 -> n4 [lhead=cluster_g2];"


def test_a_line_without_anything_special_is_plain_in_dot():
    picture = dependency_picture(plan("x", "y", needs={"y": ["x"]}))
    assert picture_to_dot(picture).splitlines()[-2] == "  n1 -> n2;"


@given(st.text(min_size=1))
def test_no_text_gets_out_of_its_quotes_in_dot(text):
    outside = re.sub(r'"(?:[^"\\\n]|\\.)*"', "S", picture_to_dot(labelled(text)))
    assert outside.split("\n") == [
        "digraph picture {",
        "  rankdir=LR;",
        "  compound=true;",
        "  label=S;",
        "  labelloc=t;",
        "  n2 [shape=box, style=rounded, label=S];",
        "  subgraph cluster_g1 {",
        "    label=S;",
        "    n1 [shape=box, style=rounded, label=S];",
        "  }",
        "  n1 -> n2 [label=S, ltail=cluster_g1];",
        "}",
        "",
    ]


@given(st.text(min_size=1))
def test_no_text_gets_out_of_its_quotes_in_mermaid(text):
    written = picture_to_mermaid(labelled(text))
    outside = re.sub(r'"(?:[\w /.,()=●-]|<br/>|#[0-9]+;|\\U[0-9a-f]{8}|[^\W_])+"', "S", written)
    assert outside.split("\n") == [
        "---",
        "title: S",
        "---",
        "flowchart LR",
        "  n2(S)",
        "  subgraph g1 [S]",
        "    n1(S)",
        "  end",
        "  g1 -->|S| n2",
        "",
    ]
    assert written.encode()


@given(plans(circles=True))
def test_every_node_cluster_and_line_is_written_once(rows):
    picture = dependency_picture(rows)
    for written in (picture_to_dot(picture), picture_to_mermaid(picture)):
        assert len(re.findall(r"^ *n\d+ ?[\[(]", written, re.MULTILINE)) == len(picture.nodes)
        assert len(re.findall(r"^ *subgraph ", written, re.MULTILINE)) == len(picture.clusters)
        assert len(re.findall(r"^  [ng]\d+ -\S+ [ng]\d+", written, re.MULTILINE)) == len(picture.edges)
        assert len(re.findall(r"^ +(?:end|})$", written, re.MULTILINE)) == len(picture.clusters)


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
@pytest.mark.parametrize("picture", [NESTED, EVERYTHING, labelled('"\\<&\0{|}é')])
def test_graphviz_reads_it(picture):
    process = subprocess.run(
        ["dot", "-Tcanon"], input=picture_to_dot(picture).encode(), capture_output=True, check=True
    )
    assert process.stderr == b""


def test_groups_deeper_than_the_interpreter_s_stack_are_written():
    paths = ["/".join(["a"] * depth) for depth in range(1, 1200)]
    picture = dependency_picture(plan(*paths))
    assert picture_to_dot(picture).count("subgraph") == 1198
