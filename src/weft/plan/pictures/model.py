"""A picture as plain data: boxes, lines between them, and frames around them. It runs from left to right."""

from dataclasses import dataclass
from enum import StrEnum

from weft.errors import InputError


class NodeKind(StrEnum):
    PLAN = "plan"
    GROUP = "group"
    SLICE = "slice"
    STEP = "step"
    FOLDED = "folded"
    """Many slices in one box."""
    PLACE = "place"
    RUNNING = "running"
    POOL = "pool"
    END = "end"
    TRANSITION = "transition"


class EdgeKind(StrEnum):
    DEPENDS = "depends"
    AFTER = "after"
    """Order only: no result is handed over."""
    CONTAINS = "contains"
    ARC = "arc"
    CLAIM = "claim"
    """In both directions: taken from a pool at the start and returned at the end, whatever the outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A box."""

    id: str
    """Letters and digits, which every format accepts unchanged."""
    label: str
    note: str = ""
    """A second line, in small print."""
    hint: str = ""
    """The full text, for formats that can show it on demand."""
    kind: NodeKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A line from a node or cluster to another that neither contains it nor is in it."""

    source: str
    target: str
    label: str = ""
    kind: EdgeKind = EdgeKind.DEPENDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A frame around at least one node or other cluster."""

    id: str
    label: str
    hint: str = ""
    parent: str = ""
    """The id of the cluster around it; empty for the whole picture."""
    members: tuple[str, ...] = ()
    """The ids of the nodes directly in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Boxes, lines and frames.

    A cluster comes after the one that contains it; the order decides where it is free.
    """

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    clusters: tuple[Cluster, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureRow:
    """A subplan as pictures need it.

    Rows are in plan order, a group before its parts; row 0 is the plan itself.
    """

    path: str
    title: str = ""
    parent: int
    """The number of the row that contains it; -1 for row 0."""
    is_leaf: bool
    depends_on: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    """Rows that it comes after for the sake of order only."""
    note: str = ""
    folded: int = 0
    """The number of slices folded into this row; 0 if it stands for itself."""
    span: tuple[int, int] = (0, 0)
    """The first and the last row of the plan that are folded into this row."""


class TooLargeToDrawError(InputError):
    """A picture has so many boxes that the layout would take long and be unreadable."""
