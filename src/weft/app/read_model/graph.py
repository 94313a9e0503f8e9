"""The graph of a plan with places: what depends on what, folded where it is large.

The places do not change while a run runs, so a page asks once and colours the boxes itself.
"""

from collections.abc import Iterator
from typing import Literal

from weft.app.inspect.plan_pictures import picture_rows
from weft.app.read_model.chart_shapes import Graph, GraphEdge, GraphNode
from weft.errors import InputError
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.order.outline import ROOT
from weft.plan.pictures import EdgeKind, Node, NodeKind, Picture, PictureRow, dependency_picture, fold_rows
from weft.plan.pictures.geometry import Box, Layout
from weft.plan.pictures.layout import layout_of
from weft.plan.pictures.shapes import cluster_label, shape_of
from weft.plan.pictures.svg_path import path_data

MOST_BOXES = 60
_SIGN = "▶ "
"""The page puts a sign of this width before each name."""
_LONGEST_STATE = "10,000 of 10,000 completed"
"""The page puts the progress of a folded box below its name."""


def plan_graph(compiled: CompiledPlan, group: int = ROOT, part: range | None = None) -> Graph:
    """Returns the graph of a group, or of some of the siblings in it."""
    outline = compiled.plan.outline
    rows = picture_rows(compiled, group, part)
    folded = fold_rows(rows, max_rows=MOST_BOXES)
    picture = _with_room(dependency_picture(folded))
    layout = layout_of(picture)
    by_id = {f"{kind}{number}": row for number, row in enumerate(folded) for kind in "ng"}
    return Graph(
        width=round(layout.width, 1),
        height=round(layout.height, 1),
        nodes=[*_frames(picture, layout, by_id), *_boxes(picture, layout, by_id)],
        edges=list(edges_of(picture, layout)),
        is_folded=len(folded) < len(rows),
        of=outline.paths[group],
    )


def siblings(compiled: CompiledPlan, group: int, first: int, last: int) -> range:
    """Returns the rows of the siblings from one to another with all that is in them."""
    outline = compiled.plan.outline
    if not {first, last} <= {*outline.below(group)} or first > last:
        raise InputError(f"rows {first} to {last} are not parts of {outline.paths[group] or 'the plan'}")
    children = set(outline.children(group))
    if first not in children or last + 1 not in {*children, group + outline.sizes[group]}:
        raise InputError(
            f"rows {first} to {last} are not whole parts of {outline.paths[group] or 'the plan'}"
        )
    return range(first, last + 1)


def _with_room(picture: Picture) -> Picture:
    """Returns the picture with the texts that are as wide as those of the page."""

    def widened(node: Node) -> Node:
        note = _LONGEST_STATE if node.kind is NodeKind.FOLDED else node.note
        return Node(id=node.id, label=_SIGN + node.label, note=note, hint=node.hint, kind=node.kind)

    return Picture(
        title="",
        nodes=tuple(map(widened, picture.nodes)),
        edges=picture.edges,
        clusters=picture.clusters,
    )


def _boxes(picture: Picture, layout: Layout, rows: dict[str, PictureRow]) -> Iterator[GraphNode]:
    for node, box in zip(picture.nodes, layout.boxes, strict=True):
        row, shape = rows[node.id], shape_of(node)
        is_folded = node.kind is NodeKind.FOLDED
        yield _placed(
            node.id, "folded" if is_folded else "slice", row, shape.label.removeprefix(_SIGN), box,
            note=row.note if is_folded else shape.note,
        )  # fmt: skip


def _frames(picture: Picture, layout: Layout, rows: dict[str, PictureRow]) -> Iterator[GraphNode]:
    for cluster, box in zip(picture.clusters, layout.frames, strict=True):
        yield _placed(cluster.id, "frame", rows[cluster.id], cluster_label(cluster, box.width - 36), box)


def _placed(
    id_: str, kind: Literal["slice", "folded", "frame"], row: PictureRow, label: str, box: Box, note: str = ""
) -> GraphNode:
    return GraphNode(
        id=id_,
        kind=kind,
        path=row.path,
        label=label,
        note=note,
        x=round(box.left, 1),
        y=round(box.top, 1),
        width=round(box.width, 1),
        height=round(box.height, 1),
        span=row.span,
    )


def edges_of(picture: Picture, layout: Layout) -> Iterator[GraphEdge]:
    """Yields the lines of a picture."""
    for edge, route in zip(picture.edges, layout.routes, strict=True):
        yield GraphEdge(
            source=edge.source,
            target=edge.target,
            line=path_data(route),
            is_order=edge.kind is EdgeKind.AFTER,
            is_claim=edge.kind is EdgeKind.CLAIM,
            label=edge.label,
        )
