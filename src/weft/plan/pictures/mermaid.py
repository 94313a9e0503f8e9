"""Writes a picture as a Mermaid flowchart, for pages that render it."""

from collections.abc import Iterator
from typing import assert_never

from weft.net.formats.labels import visible
from weft.net.formats.mermaid import escaped
from weft.plan.pictures.clusters import nested
from weft.plan.pictures.model import Cluster, Edge, EdgeKind, Node, NodeKind, Picture

_SHAPES = {
    NodeKind.PLAN: ("([", "])"),
    NodeKind.GROUP: ("[", "]"),
    NodeKind.SLICE: ("(", ")"),
    NodeKind.STEP: ("[", "]"),
    NodeKind.FOLDED: ("[[", "]]"),
    NodeKind.PLACE: ("((", "))"),
    NodeKind.RUNNING: ("((", "))"),
    NodeKind.POOL: ("(((", ")))"),
    NodeKind.END: ("((", "))"),
    NodeKind.TRANSITION: ("[", "]"),
}
_LINES = {
    EdgeKind.DEPENDS: "-->",
    EdgeKind.AFTER: "-.->",
    EdgeKind.CONTAINS: "---",
    EdgeKind.ARC: "-->",
    EdgeKind.CLAIM: "<-.->",
}


def picture_to_mermaid(picture: Picture) -> str:
    return "".join(f"{line}\n" for line in _lines(picture))


def _lines(picture: Picture) -> Iterator[str]:
    if picture.title:
        yield "---"
        yield f'title: "{_in_yaml(picture.title)}"'
        yield "---"
    yield "flowchart LR"
    for depth, part in nested(picture):
        yield "  " * depth + _part(part)
    for edge in picture.edges:
        yield _edge(edge)


def _part(part: Cluster | Node | None) -> str:
    match part:
        case None:
            return "end"
        case Cluster():
            return f'subgraph {part.id} ["{escaped(part.label)}"]'
        case Node():
            left, right = _SHAPES[part.kind]
            note = f"<br/>{escaped(part.note)}" if part.note else ""
            return f'{part.id}{left}"{escaped(part.label)}{note}"{right}'
        case _:
            assert_never(part)


def _edge(edge: Edge) -> str:
    label = f'|"{escaped(edge.label)}"|' if edge.label else ""
    return f"  {edge.source} {_LINES[edge.kind]}{label} {edge.target}"


def _in_yaml(title: str) -> str:
    """Returns the title escaped for a YAML header, which differs from the escapes of Mermaid."""
    return "".join(c if c == " " or c.isalnum() else f"\\U{ord(c):08x}" for c in visible(title))
