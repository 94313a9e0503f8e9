"""Positions and sizes, in pixels from the upper left."""

from dataclasses import dataclass

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def bottom(self) -> float:
        return self.top + self.height

    @property
    def middle(self) -> Point:
        return self.left + self.width / 2, self.top + self.height / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The route of a line from source to target: horizontal at each point, and curved between heights."""

    points: tuple[Point, ...]
    bulge: float = 0.0
    """If above 0, the line has two points above each other and bulges to the right by this much."""
    label_at: Point
    label_ends: bool
    """Whether the label ends at that point; otherwise it starts there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The boxes of nodes and clusters and the routes of edges, each in the order of the picture."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    frames: tuple[Box, ...]
    routes: tuple[Route, ...]
    columns: tuple[int, ...]
    """The column of each node."""
