"""Where things stand, in pixels from the upper left."""

from dataclasses import dataclass

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Box:
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
    """Where a line goes, from its source to its target: level at each point, and curved where heights differ."""

    points: tuple[Point, ...]
    bulge: float = 0.0
    """Above 0: the line has two points, above each other, and swings out to the right by this much."""
    label_at: Point
    label_ends: bool
    """There its label ends; else it begins there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The boxes of nodes and clusters and the ways of edges, each in the order of the picture."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    frames: tuple[Box, ...]
    routes: tuple[Route, ...]
    columns: tuple[int, ...]
    """The column of each node."""
