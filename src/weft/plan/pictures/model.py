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
    """Order only: nothing is handed over."""
    CONTAINS = "contains"
    ARC = "arc"
    CLAIM = "claim"
    """Both ways: taken from a pool at the beginning and given back at the end, whatever came out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    id: str
    """Letters and digits; it is written into every format as it is."""
    label: str
    note: str = ""
    """A second line, in small print."""
    hint: str = ""
    """All there is to say, for pictures that can show it on demand."""
    kind: NodeKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """From a node or cluster to another one that is not around it or within it."""

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
    """The id of the cluster around it; empty: the whole picture."""
    members: tuple[str, ...] = ()
    """The ids of the nodes directly in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A cluster stands after the one it is in; where an order is free, things are drawn in the order given."""

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    clusters: tuple[Cluster, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A subplan, as pictures need it.

    Rows stand in plan order, a group before what is in it; row 0 is the plan itself.
    """

    path: str
    title: str = ""
    parent: int
    """The number of the row it is in; -1 for row 0."""
    is_leaf: bool
    depends_on: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    """Rows it comes after for the sake of order alone."""
    note: str = ""
    folded: int = 0
    """How many slices are folded into this row; 0: it stands for itself."""


class TooLargeToDrawError(InputError):
    """A picture of so many boxes would take long to lay out, and nobody could read it."""
