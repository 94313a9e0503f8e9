"""Writes a picture in the DOT language, for Graphviz.

Graphviz draws lines between nodes only. A line of a cluster is drawn from a node inside it and clipped at the
frame.
"""

from collections.abc import Iterator
from typing import assert_never

from weft.net.formats.dot import escaped
from weft.plan.pictures.clusters import nested
from weft.plan.pictures.model import Cluster, Edge, EdgeKind, Node, NodeKind, Picture

_BOX = "shape=box, style=rounded"
_NODES = {
    NodeKind.PLAN: "shape=box, style=bold",
    NodeKind.GROUP: "shape=folder",
    NodeKind.SLICE: _BOX,
    NodeKind.STEP: "shape=box",
    NodeKind.FOLDED: "shape=box3d",
    NodeKind.PLACE: "shape=circle",
    NodeKind.RUNNING: "shape=circle, style=dashed",
    NodeKind.POOL: "shape=doublecircle",
    NodeKind.END: "shape=circle, style=bold",
    NodeKind.TRANSITION: "shape=box",
}
_EDGES = {
    EdgeKind.DEPENDS: "",
    EdgeKind.AFTER: "style=dashed",
    EdgeKind.CONTAINS: "arrowhead=none",
    EdgeKind.ARC: "",
    EdgeKind.CLAIM: "dir=both, style=dotted",
}


def picture_to_dot(picture: Picture) -> str:
    return "".join(f"{line}\n" for line in _lines(picture))


def _lines(picture: Picture) -> Iterator[str]:
    yield "digraph picture {"
    yield "  rankdir=LR;"
    yield "  compound=true;"
    if picture.title:
        yield f'  label="{escaped(picture.title)}";'
        yield "  labelloc=t;"
    for depth, part in nested(picture):
        yield from _part("  " * depth, part)
    inner = _inner(picture)
    for edge in picture.edges:
        yield _edge(edge, inner)
    yield "}"


def _part(indent: str, part: Cluster | Node | None) -> Iterator[str]:
    match part:
        case None:
            yield f"{indent}}}"
        case Cluster():
            yield f"{indent}subgraph cluster_{part.id} {{"
            yield f'{indent}  label="{escaped(part.label)}";'
        case Node():
            note = f"\\n{escaped(part.note)}" if part.note else ""
            yield f'{indent}{part.id} [{_NODES[part.kind]}, label="{escaped(part.label)}{note}"];'
        case _:
            assert_never(part)


def _inner(picture: Picture) -> dict[str, str]:
    """Returns a node inside each cluster."""
    inner: dict[str, str] = {}
    for cluster in reversed(picture.clusters):
        if cluster.members:
            inner[cluster.id] = cluster.members[0]
        # Inner clusters come later, so in reverse each has a node before its parent asks.
        inner.setdefault(cluster.parent, inner[cluster.id])
    return inner


def _edge(edge: Edge, inner: dict[str, str]) -> str:
    attributes = [_EDGES[edge.kind]]
    if edge.label:
        attributes.append(f'label="{escaped(edge.label)}"')
    if edge.source in inner:
        attributes.append(f"ltail=cluster_{edge.source}")
    if edge.target in inner:
        attributes.append(f"lhead=cluster_{edge.target}")
    written = ", ".join(filter(None, attributes))
    ends = f"{inner.get(edge.source, edge.source)} -> {inner.get(edge.target, edge.target)}"
    return f"  {ends} [{written}];" if written else f"  {ends};"
