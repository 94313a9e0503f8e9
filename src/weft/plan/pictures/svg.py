"""Writes a picture as a self-contained SVG file: no scripts, no fonts, no other programs."""

from collections.abc import Iterator
from html import escape

from weft.net.formats.labels import visible
from weft.plan.pictures.geometry import Box, Layout, Point, Route
from weft.plan.pictures.grid import MARGIN
from weft.plan.pictures.layout import layout_of
from weft.plan.pictures.model import Cluster, Edge, EdgeKind, Node, NodeKind, Picture, TooLargeToDrawError
from weft.plan.pictures.shapes import (
    BAR_HEIGHT,
    BAR_WIDTH,
    NOTE_SIZE,
    RADIUS,
    ROUND,
    SMALL_SIZE,
    TITLE_SIZE,
    NodeShape,
    cluster_label,
    shape_of,
)
from weft.plan.pictures.style import STYLE
from weft.plan.pictures.svg_path import number_text, path_data
from weft.plan.pictures.text import elide, one_line

MAX_NODES, MAX_EDGES = 400, 2_000


def picture_to_svg(picture: Picture) -> str:
    for noun, count, most in (
        ("boxes", len(picture.nodes), MAX_NODES),
        ("lines", len(picture.edges), MAX_EDGES),
    ):
        if count > most:
            raise TooLargeToDrawError(
                f"the picture has {count:,} {noun}, and more than {most:,} are not drawn as SVG; "
                "name a subplan to draw less, or use --format dot and lay it out with Graphviz"
            )
    return "".join(f"{line}\n" for line in _lines(picture, layout_of(picture)))


def _lines(picture: Picture, layout: Layout) -> Iterator[str]:
    width, height = number_text(layout.width), number_text(layout.height)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img">'
    )
    yield f"<title>{_escape(picture.title)}</title>"
    yield f"<style>{STYLE}</style>"
    yield from _heads(picture)
    yield f'<rect class="paper" width="{width}" height="{height}"/>'
    for cluster, frame in zip(picture.clusters, layout.frames, strict=True):
        yield _frame(cluster, frame)
    for edge, route in zip(picture.edges, layout.routes, strict=True):
        yield _line(edge, route)
    for node, box in zip(picture.nodes, layout.boxes, strict=True):
        yield _node(node, box)
    # Texts come last, so that no line covers them.
    yield from _texts(picture, layout)
    yield "</svg>"


def _heads(picture: Picture) -> Iterator[str]:
    yield "<defs>"
    for kind in EdgeKind:
        if any(edge.kind is kind for edge in picture.edges):
            yield (
                f'<marker id="head-{kind}" class="head {kind}" viewBox="0 0 8 8" refX="7.5" refY="4" '
                'markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto-start-reverse">'
                '<path d="M0,0.5L8,4L0,7.5L1.5,4z"/></marker>'
            )
    yield "</defs>"


def _frame(cluster: Cluster, frame: Box) -> str:
    return f'<g class="cluster">{_hint(cluster.hint)}<rect {_rectangle(frame)} rx="8"/></g>'


def _line(edge: Edge, route: Route) -> str:
    head = "" if edge.kind is EdgeKind.CONTAINS else f' marker-end="url(#head-{edge.kind})"'
    tail = f' marker-start="url(#head-{edge.kind})"' if edge.kind is EdgeKind.CLAIM else ""
    return f'<path class="edge {edge.kind}" d="{path_data(route)}"{tail}{head}/>'


def _node(node: Node, box: Box) -> str:
    # The layout used the same shape, so the texts fit.
    shape = shape_of(node)
    drawn = "".join(_circle(node, shape, box) if node.kind in ROUND else _box_lines(node, shape, box))
    return f'<g class="node {node.kind}">{_hint(node.hint or node.label)}{drawn}</g>'


def _circle(node: Node, shape: NodeShape, box: Box) -> Iterator[str]:
    x, y = box.middle
    yield f'<circle cx="{number_text(x)}" cy="{number_text(y)}" r="{number_text(RADIUS)}"/>'
    if node.kind in {NodeKind.POOL, NodeKind.END}:
        yield f'<circle cx="{number_text(x)}" cy="{number_text(y)}" r="{number_text(RADIUS - 3)}"/>'
    if shape.note:
        yield _text("tokens", (x, y + 3.5), elide(shape.note, SMALL_SIZE, 2 * RADIUS))
    yield _text("small", (x, box.bottom - 2), shape.label)


def _box_lines(node: Node, shape: NodeShape, box: Box) -> Iterator[str]:
    x, y = box.middle
    if node.kind is NodeKind.TRANSITION:
        bar = Box(x - BAR_WIDTH / 2, y - BAR_HEIGHT / 2, BAR_WIDTH, BAR_HEIGHT)
        yield f'<rect {_rectangle(bar)} rx="2"/>'
        yield _text("small", (x, box.bottom - 2), shape.label)
        return
    if node.kind is NodeKind.FOLDED:
        behind = Box(box.left + 4, box.top + 4, box.width, box.height)
        yield f'<rect {_rectangle(behind)} rx="6"/>'
    yield f'<rect {_rectangle(box)} rx="6"/>'
    yield _text("label", (x, y - 3 if shape.note else y + 4.5), shape.label)
    if shape.note:
        yield _text("note", (x, y + 12.5), shape.note)


def _texts(picture: Picture, layout: Layout) -> Iterator[str]:
    """Yields the texts that are drawn above everything else, with an outline in the colour of the background."""
    for cluster, frame in zip(picture.clusters, layout.frames, strict=True):
        label = cluster_label(cluster, frame.width - 20)
        yield _text("heading", (frame.left + 10, frame.top + NOTE_SIZE + 6), label)
    for edge, route in zip(picture.edges, layout.routes, strict=True):
        if edge.label:
            place = "ends" if route.label_ends else "begins"
            yield _text(f"small on-line {place}", route.label_at, one_line(edge.label))
    if picture.title:
        title = elide(one_line(picture.title), TITLE_SIZE, layout.width - 2 * MARGIN)
        yield _text("title", (MARGIN, MARGIN + TITLE_SIZE), title)


def _text(classes: str, position: Point, text: str) -> str:
    x, y = map(number_text, position)
    return f'<text class="{classes}" x="{x}" y="{y}">{_escape(text)}</text>'


def _hint(text: str) -> str:
    return f"<title>{chr(10).join(map(_escape, text.split(chr(10))))}</title>" if text else ""


def _rectangle(box: Box) -> str:
    return (
        f'x="{number_text(box.left)}" y="{number_text(box.top)}" '
        f'width="{number_text(box.width)}" height="{number_text(box.height)}"'
    )


def _escape(text: str) -> str:
    return escape(visible(text))
