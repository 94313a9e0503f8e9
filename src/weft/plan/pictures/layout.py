"""Lays out a picture: columns, order, heights, then the lines.

Lines climb only in the free strip between two columns, where there is no box and no edge of a frame; through a
column and along frames they are horizontal. So a line never crosses a box.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from weft.plan.pictures.geometry import Layout, Point, Route
from weft.plan.pictures.grid import MARGIN, STRIP, Grid
from weft.plan.pictures.heights import Heights, Neighbours, effort
from weft.plan.pictures.layers import Columns, EdgePath, columns_of
from weft.plan.pictures.model import Picture
from weft.plan.pictures.node_order import order_of
from weft.plan.pictures.ports import Ports
from weft.plan.pictures.shapes import TITLE_SIZE, NodeShape, shape_of
from weft.plan.pictures.text import one_line, width_of

_ROUNDS, _LEAST_ROUNDS, _STRAIGHTENINGS = 40, 5, 6
_BEND, _LABELLED_BEND = 2.0, 12.0
_TITLE_ROOM, _WIDEST_TITLE = 2 * TITLE_SIZE, 600.0


def layout_of(picture: Picture) -> Layout:
    columns = columns_of(picture)
    shapes = [shape_of(node) for node in picture.nodes]
    heights = _heights(columns, _sizes(picture, columns, shapes))
    ports = Ports(columns, shapes, heights)
    # Levelling bends changes heights, so the ports are computed again below.
    ports.level_bends(columns.chains)
    heights.move_to(MARGIN + (_TITLE_ROOM if picture.title else 0.0))
    ports = Ports(columns, shapes, heights)
    grid = Grid(picture, columns, shapes, heights, ports)
    boxes = tuple(grid.box(node) for node in range(columns.nodes))
    frames = tuple(grid.frame(cluster) for cluster in range(1, len(columns.parents)))
    routes = tuple(_route(grid, ports, number, chain) for number, chain in enumerate(columns.chains))
    title = min(_WIDEST_TITLE, width_of(one_line(picture.title), TITLE_SIZE))
    right = [box.right for box in (*boxes, *frames)] + [x + r.bulge for r in routes for x, _ in r.points]
    bottom = [box.bottom for box in (*boxes, *frames)] + [y for r in routes for _, y in r.points]
    return Layout(
        width=max([*right, MARGIN + title]) + MARGIN,
        height=max([*bottom, _TITLE_ROOM]) + MARGIN,
        boxes=boxes,
        frames=frames,
        routes=routes,
        columns=tuple(columns.layers[: columns.nodes]),
    )


def _sizes(picture: Picture, columns: Columns, shapes: Sequence[NodeShape]) -> list[float]:
    sizes = [shape.height for shape in shapes] + [_BEND] * (len(columns.layers) - columns.nodes)
    for chain in columns.chains:
        if chain.bends and picture.edges[chain.edge].label:
            sizes[chain.bends[-1 if chain.backwards else 0]] = _LABELLED_BEND
    return sizes


def _heights(columns: Columns, sizes: Sequence[float]) -> Heights:
    neighbours = Neighbours(columns)
    heights = Heights(columns, order_of(columns, sizes, neighbours), sizes)
    heights.relax(neighbours, effort(columns, _ROUNDS, _LEAST_ROUNDS))
    heights.straighten(
        neighbours, [chain.bends for chain in columns.chains], effort(columns, _STRAIGHTENINGS, 1)
    )
    heights.squeeze()
    return heights


def _route(grid: Grid, ports: Ports, number: int, chain: EdgePath) -> Route:
    stops = ports.stops(number, chain)
    start = (grid.edge_of(chain.left, stops[0][1], at_right=True), stops[0][1])
    end = (grid.edge_of(chain.right, stops[-1][1], at_right=chain.sideways), stops[-1][1])
    if chain.sideways:
        bulge = abs(start[0] - end[0]) + STRIP * 0.8
        middle = (max(start[0], end[0]) + bulge / 2, (start[1] + end[1]) / 2)
        return Route(points=(start, end), bulge=bulge, label_at=middle, label_ends=False)
    climbs: list[tuple[Point, Point]] = []
    for (own, y), (_, z) in pairwise(stops):
        from_x, to_x = grid.strip(grid.columns.last(own))
        climbs.append(((from_x, y), (to_x, z)))
    points = _corners((start, *(point for climb in climbs for point in climb), end))
    # At the height of the next stop the line is away from its neighbours, so the label is put there.
    (from_x, y), (to_x, z) = climbs[-1 if chain.backwards else 0]
    label_at = (from_x + 4, y - 4) if chain.backwards else (to_x - 4, z - 4)
    return Route(
        points=points[::-1] if chain.backwards else points,
        label_at=label_at,
        label_ends=not chain.backwards,
    )


def _corners(points: Iterable[Point]) -> tuple[Point, ...]:
    """Returns the points without those in the middle of a horizontal run, and without duplicates."""
    corners: list[Point] = []
    for point in dict.fromkeys((round(x, 3), round(y, 3)) for x, y in points):
        if len(corners) > 1 and corners[-1][1] == corners[-2][1] == point[1]:
            corners.pop()
        corners.append(point)
    return tuple(corners)
