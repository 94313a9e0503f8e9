"""The heights at which each line leaves its left end and meets its right end.

Lines that arrive at the left side of a node end side by side, in the order of their origins, so that each
arrowhead is visible. Lines that leave at the right start from one point and fan out, unless arrowheads are among
them.
"""

from collections.abc import Sequence

from weft.plan.pictures.heights import PORT_MARGIN, Heights
from weft.plan.pictures.layers import Columns, EdgePath
from weft.plan.pictures.shapes import NodeShape

_STEP = 8.0

Side = tuple[int, bool]
"""A node or cluster, and whether its right side is meant."""


class Ports:
    """The heights of both ends of each chain."""

    def __init__(self, columns: Columns, shapes: Sequence[NodeShape], heights: Heights) -> None:
        self.shapes = shapes
        self.heights = heights
        count = len(columns.chains)
        self.left, self.right = [0.0] * count, [0.0] * count
        """The heights by chain."""
        for side, lines in _by_side(columns.chains).items():
            self._spread(columns, side, lines)

    def level_bends(self, chains: Sequence[EdgePath]) -> None:
        """Moves rows of bends to the height of an end of their line, if there is room."""
        for number, chain in enumerate(chains):
            if chain.bends:
                now = self.heights.at[chain.bends[0]]
                height = min(self.left[number], self.right[number], key=lambda port: abs(port - now))
                self.heights.level(chain.bends, height)

    def stops(self, number: int, chain: EdgePath) -> list[tuple[int, float]]:
        """Returns the stops of the chain from left to right, with the height at which it passes each."""
        bends = ((bend, self.heights.at[bend]) for bend in chain.bends)
        return [(chain.left, self.left[number]), *bends, (chain.right, self.right[number])]

    def _spread(self, columns: Columns, side: Side, lines: Sequence[tuple[int, int]]) -> None:
        end, at_right = side
        ideals = sorted((self._ideal(end, neighbour), number) for number, neighbour in lines)
        if end < 0:
            heights = self._along_frame(~end, [height for height, _ in ideals])
        # Lines without heads may share a point; heads would cover each other.
        elif at_right and not any(_has_head_at(columns.chains[number], side) for number, _ in lines):
            heights = [self.heights.at[end]] * len(lines)
        else:
            heights = self._side_by_side(end, len(lines))
        for height, (_, number) in zip(heights, ideals, strict=True):
            ports = self.left if columns.chains[number].left == end else self.right
            ports[number] = height

    def _ideal(self, end: int, neighbour: int) -> float:
        return self.heights.near(neighbour, self.heights.middle(end))

    def _side_by_side(self, node: int, count: int) -> list[float]:
        step = min(_STEP, 2 * self.shapes[node].spread / max(1, count - 1))
        return [self.heights.at[node] + (index - (count - 1) / 2) * step for index in range(count)]

    def _along_frame(self, cluster: int, ideals: Sequence[float]) -> list[float]:
        """Returns the ideal heights, kept away from the corners and from each other."""
        top = self.heights.at[self.heights.top(cluster)] + PORT_MARGIN
        bottom = self.heights.at[self.heights.bottom(cluster)] - PORT_MARGIN
        last = len(ideals) - 1
        step = min(_STEP, (bottom - top) / max(1, last))
        heights: list[float] = []
        for index, height in enumerate(ideals):
            least = heights[-1] + step if heights else top
            heights.append(max(least, min(height, bottom - step * (last - index))))
        return heights


def _by_side(chains: Sequence[EdgePath]) -> dict[Side, list[tuple[int, int]]]:
    """Returns the chains that end at each side, with the next stop on them."""
    sides: dict[Side, list[tuple[int, int]]] = {}
    for number, chain in enumerate(chains):
        stops = (chain.left, *chain.bends, chain.right)
        sides.setdefault((chain.left, True), []).append((number, stops[1]))
        sides.setdefault((chain.right, chain.sideways), []).append((number, stops[-2]))
    return sides


def _has_head_at(chain: EdgePath, side: Side) -> bool:
    return side[0] == (chain.left if chain.backwards else chain.right)
