"""Sizes of drawn nodes, and how much text fits into them."""

from dataclasses import dataclass

from weft.plan.pictures.model import Cluster, Node, NodeKind
from weft.plan.pictures.text import elide, elide_start, one_line, width_of

LABEL_SIZE, NOTE_SIZE, SMALL_SIZE, TITLE_SIZE = 13.0, 11.0, 10.0, 16.0
RADIUS = 13.0
BAR_WIDTH, BAR_HEIGHT = 9.0, 34.0
_BOX_ROOM, _BOX_LEAST, _BOX_BESIDES = 190.0, 52.0, 26.0
_BELOW_ROOM = 104.0
"""The width of the text below a circle or a bar."""

ROUND = frozenset({NodeKind.PLACE, NodeKind.RUNNING, NodeKind.POOL, NodeKind.END})
_NET_KINDS = ROUND | {NodeKind.TRANSITION}


@dataclass(frozen=True, slots=True)
class NodeShape:
    """The space that a node takes, including its text, and the distance at which lines end."""

    width: float
    height: float
    reach: float
    """The distance from the middle to the left and right, for lines; 0 means the whole width of its column."""
    spread: float
    """The distance from the middle up and down, for lines that end side by side."""
    label: str
    note: str
    round: bool = False


def shape_of(node: Node) -> NodeShape:
    return _shape_with_text_below(node) if node.kind in _NET_KINDS else _box(node)


def _box(node: Node) -> NodeShape:
    label = elide(one_line(node.label), LABEL_SIZE, _BOX_ROOM)
    note = elide(one_line(node.note), NOTE_SIZE, _BOX_ROOM)
    width = max(width_of(label, LABEL_SIZE), width_of(note, NOTE_SIZE), _BOX_LEAST) + _BOX_BESIDES
    height = 42.0 if note else 30.0
    return NodeShape(width=width, height=height, reach=0.0, spread=height / 2 - 6, label=label, note=note)


def _shape_with_text_below(node: Node) -> NodeShape:
    label = elide_start(one_line(node.label), SMALL_SIZE, _BELOW_ROOM)
    is_round = node.kind in ROUND
    half = RADIUS if is_round else BAR_HEIGHT / 2
    note = one_line(node.note) if is_round else ""
    return NodeShape(
        width=max(width_of(label, SMALL_SIZE), 2 * RADIUS),
        height=2 * (half + SMALL_SIZE + 5),
        reach=RADIUS if is_round else BAR_WIDTH / 2,
        spread=half * 0.7,
        label=label,
        note=note,
        round=is_round,
    )


def cluster_label(cluster: Cluster, room: float) -> str:
    return elide(one_line(cluster.label), NOTE_SIZE, room)
