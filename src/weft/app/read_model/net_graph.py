"""The net of a subplan with its tokens, and the places where a page draws them."""

from collections.abc import Mapping
from typing import Literal

from weft.app.read_model.chart_shapes import NetGraph, NetPlace, NetTransition
from weft.app.read_model.graph import edges_of
from weft.app.read_model.live_run import LiveRun
from weft.errors import InputError
from weft.net.model import PlaceKind
from weft.plan.pictures import net_picture
from weft.plan.pictures.geometry import Box
from weft.plan.pictures.layout import layout_of
from weft.plan.pictures.shapes import shape_of

MOST_NODES = 400
"""More cannot be read."""
_KINDS: dict[PlaceKind, Literal["pool", "end"]] = {PlaceKind.POOL: "pool", PlaceKind.END: "end"}


def net_graph(live: LiveRun, row: int) -> NetGraph:
    """Returns the net of a subplan. Raises `InputError` if it has none, or one that is too large to draw."""
    live.catch_up()
    path = live.view.outline.paths[row]
    number = live.compiled.shape_of[row]
    if number < 0:
        raise InputError(f"{path or 'the plan'} has no net of its own: it completes with its parts")
    net = live.compiled.shapes[number].net
    nodes = len(net.place_ids) + len(net.transition_ids)
    if nodes > MOST_NODES:
        raise InputError(f"the net of {path} has {nodes:,} places and transitions; {MOST_NODES} can be drawn")
    engine = live.engine()
    position = None if engine is None else engine.position(row)
    tokens: Mapping[int, int] = {} if position is None else position.tokens
    firing = () if position is None else position.firing
    picture = net_picture(net)
    layout = layout_of(picture)
    boxes = {
        node.id: (shape_of(node).label, box) for node, box in zip(picture.nodes, layout.boxes, strict=True)
    }
    return NetGraph(
        of=path,
        width=round(layout.width, 1),
        height=round(layout.height, 1),
        is_live=position is not None,
        places=[
            _place(place, kind, boxes[f"p{index}"], tokens.get(index, 0))
            for index, (place, kind) in enumerate(zip(net.place_ids, net.place_kinds, strict=True))
        ],
        transitions=[
            _transition(name, action, boxes[f"t{index}"], firing.count(index))
            for index, (name, action) in enumerate(zip(net.transition_ids, net.actions, strict=True))
        ],
        edges=list(edges_of(picture, layout)),
    )


def _place(id_: str, kind: PlaceKind, placed: tuple[str, Box], tokens: int) -> NetPlace:
    (label, box) = placed
    x, y = box.middle
    return NetPlace(
        id=id_, label=label, x=round(x, 1), y=round(y, 1), tokens=tokens, kind=_KINDS.get(kind, "place")
    )


def _transition(id_: str, action: str | None, placed: tuple[str, Box], firing: int) -> NetTransition:
    (label, box) = placed
    x, y = box.middle
    return NetTransition(
        id=id_, label=label, action=action or "", x=round(x, 1), y=round(y, 1), firing=firing
    )
