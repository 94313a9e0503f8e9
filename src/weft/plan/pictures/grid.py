"""Computes the widths of columns and of the strips between them, and from these every box and frame."""

from collections.abc import Sequence
from itertools import pairwise

from weft.plan.pictures.geometry import Box
from weft.plan.pictures.heights import PADDING, Heights
from weft.plan.pictures.layers import WHOLE, Columns
from weft.plan.pictures.model import Picture
from weft.plan.pictures.ports import Ports
from weft.plan.pictures.shapes import SMALL_SIZE, NodeShape
from weft.plan.pictures.text import one_line, width_of

MARGIN = 20.0
STRIP = 36.0
"""The least width of a strip."""
_WIDEST_STRIP, _BY_HEIGHT, _BESIDE_LABEL = 110.0, 0.2, 20.0


class Grid:
    """Between two columns are the right edges of frames, a free strip, and the left edges of frames."""

    def __init__(
        self, picture: Picture, columns: Columns, shapes: Sequence[NodeShape], heights: Heights, ports: Ports
    ) -> None:
        self.columns = columns
        self.shapes = shapes
        self.heights = heights
        self.count = max(columns.layers, default=-1) + 1
        self.opening = self._insets(columns.firsts)
        self.closing = self._insets(columns.lasts)
        self.before = self._widest(columns.firsts, self.opening)
        self.after = self._widest(columns.lasts, self.closing)
        self.widths = [0.0] * self.count
        for layer, shape in zip(columns.layers, shapes, strict=False):
            self.widths[layer] = max(self.widths[layer], shape.width)
        self.strips = self._strips(picture, ports)
        self.lefts: list[float] = []
        left = MARGIN
        for layer in range(self.count):
            self.lefts.append(left + self.before[layer])
            left = self.strip(layer)[1]

    def strip(self, layer: int) -> tuple[float, float]:
        """Returns where the free strip after the column starts and ends."""
        start = self.lefts[layer] + self.widths[layer] + self.after[layer]
        return start, start + self.strips[layer]

    def box(self, node: int) -> Box:
        """Returns the box of a node: as wide as its column, unless it has a shape of its own."""
        layer, shape = self.columns.layers[node], self.shapes[node]
        width = shape.width if shape.reach else self.widths[layer]
        left = self.lefts[layer] + (self.widths[layer] - width) / 2
        return Box(left, self.heights.at[node] - shape.height / 2, width, shape.height)

    def frame(self, cluster: int) -> Box:
        left = self.lefts[self.columns.firsts[cluster]] - self.opening[cluster]
        last = self.columns.lasts[cluster]
        right = self.lefts[last] + self.widths[last] + self.closing[cluster]
        top = self.heights.at[self.heights.top(cluster)]
        return Box(left, top, right - left, self.heights.at[self.heights.bottom(cluster)] - top)

    def edge_of(self, end: int, height: float, *, at_right: bool) -> float:
        """Returns where a line at this height meets the side of a node or a frame."""
        if end < 0:
            frame = self.frame(~end)
            return frame.right if at_right else frame.left
        box, shape = self.box(end), self.shapes[end]
        reach = shape.reach or box.width / 2
        if shape.round:
            # A line meets a circle on its outline, not on the box around it.
            reach = (reach**2 - (height - self.heights.at[end]) ** 2) ** 0.5
        return box.middle[0] + (reach if at_right else -reach)

    def _insets(self, edges: Sequence[int]) -> list[float]:
        """Returns the distance of each cluster's frame from its outermost column; inner frames are nearer."""
        insets = [PADDING] * len(edges)
        for cluster in range(len(edges) - 1, WHOLE, -1):
            parent = self.columns.parents[cluster]
            if edges[parent] == edges[cluster]:
                insets[parent] = max(insets[parent], insets[cluster] + PADDING)
        return insets

    def _widest(self, edges: Sequence[int], insets: Sequence[float]) -> list[float]:
        widest = [0.0] * self.count
        for cluster in range(1, len(edges)):
            widest[edges[cluster]] = max(widest[edges[cluster]], insets[cluster])
        return widest

    def _strips(self, picture: Picture, ports: Ports) -> list[float]:
        """Returns the widths of the strips: wider where lines climb far or have labels."""
        strips = [STRIP] * self.count
        for number, chain in enumerate(self.columns.chains):
            stops = ports.stops(number, chain)
            for (left, y), (_, z) in pairwise(stops):
                layer = self.columns.last(left)
                strips[layer] = max(strips[layer], min(_WIDEST_STRIP, abs(z - y) * _BY_HEIGHT))
            label = one_line(picture.edges[chain.edge].label)
            if label:
                layer = self.columns.last(stops[-2 if chain.backwards else 0][0])
                strips[layer] = max(strips[layer], width_of(label, SMALL_SIZE) + _BESIDE_LABEL)
        return strips
