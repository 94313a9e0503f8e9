"""Computes the height of each spot, such that nothing overlaps and lines are straight where possible.

Constraints against overlap are *distances*: variable v is at least d below variable u. A spot is one variable,
its middle; a cluster is two, its top and its bottom. The order of the drawing gives the distances, and in that
order every one of them leads forward.

Ideally a spot is level with its neighbours. To come near that, each spot is put at its ideal height and pushed
down as far as the distances require; then the same upwards. Both results satisfy all distances, and so does their
mean, since distances are linear. Some rounds of this give a good drawing, but with lines that are only almost
straight. So finally spots, and whole rows of bends, are moved within their room until they are exactly level with
a neighbour.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf
from statistics import median, median_low

from weft.plan.pictures.layers import WHOLE, Columns

HEADER, PADDING = 26.0, 12.0
"""The space above and below the contents of a cluster."""
PORT_MARGIN = 10.0
"""The least distance between a line and the corners of a frame."""
_BETWEEN_NODES, _BETWEEN_BENDS, _BESIDE_CLUSTER = 14.0, 9.0, 14.0
_TOGETHER = 0.3
"""The weight of the middle of its cluster, compared with a neighbour."""
_MOST_EMPTY = 22.0
_SPOTS_IN_FULL = 2_000
"""The most spots that are laid out with full effort."""
_STRAIGHT = 4
"""The weight of another bend for a bend, compared with a node."""

Order = Sequence[Sequence[int]]
"""For each cluster its contents, spots and clusters, from top to bottom."""


def effort(columns: Columns, most: int, least: int) -> int:
    """Returns how often to repeat something: less with very many bends, as such a tangle does not improve."""
    return min(most, max(least, most * _SPOTS_IN_FULL // max(1, len(columns.layers))))


class Heights:
    """The heights of all spots for one order."""

    def __init__(self, columns: Columns, order: Order, sizes: Sequence[float]) -> None:
        self.columns = columns
        self.sizes = sizes
        self.spots = len(columns.layers)
        self.walk: list[int] = []
        self.above: list[list[tuple[int, float]]] = [[] for _ in range(self.spots + 2 * len(columns.parents))]
        self.below: list[list[tuple[int, float]]] = [[] for _ in self.above]
        self._set_distances(order)
        self.at = [0.0] * len(self.above)
        self._settle([0.0] * self.spots)

    def top(self, cluster: int) -> int:
        return self.spots + 2 * cluster

    def bottom(self, cluster: int) -> int:
        return self.spots + 2 * cluster + 1

    def middle(self, end: int) -> float:
        return self.at[end] if end >= 0 else (self.at[self.top(~end)] + self.at[self.bottom(~end)]) / 2

    def near(self, end: int, height: float) -> float:
        """Returns where a line at this height meets the spot or cluster."""
        if end >= 0:
            return self.at[end]
        top, bottom = self.at[self.top(~end)], self.at[self.bottom(~end)]
        return min(max(height, top + PORT_MARGIN), bottom - PORT_MARGIN)

    # Distances.

    def _set_distances(self, order: Order) -> None:
        stack = [(WHOLE, iter(order[WHOLE]), dict[int, tuple[int, float]]())]
        self.walk.append(self.top(WHOLE))
        while stack:
            cluster, items, lowest = stack[-1]
            item = next(items, None)
            if item is None:
                self._close(cluster, lowest)
                stack.pop()
            elif item >= 0:
                half = self.sizes[item] / 2
                self._put_below(cluster, lowest, self.columns.layers[item], (item, half))
                lowest[self.columns.layers[item]] = (item, half)
                self.walk.append(item)
            else:
                for layer in range(self.columns.firsts[~item], self.columns.lasts[~item] + 1):
                    self._put_below(cluster, lowest, layer, (self.top(~item), 0.0))
                    lowest[layer] = (self.bottom(~item), 0.0)
                self.walk.append(self.top(~item))
                stack.append((~item, iter(order[~item]), {}))

    def _put_below(
        self, cluster: int, lowest: dict[int, tuple[int, float]], layer: int, put: tuple[int, float]
    ) -> None:
        variable, half = put
        if layer in lowest:
            upper, upper_half = lowest[layer]
            self._put(upper, variable, upper_half + self._gap(upper, variable) + half)
        elif cluster != WHOLE:
            self._put(self.top(cluster), variable, HEADER + half)

    def _close(self, cluster: int, lowest: dict[int, tuple[int, float]]) -> None:
        self.walk.append(self.bottom(cluster))
        for variable, half in lowest.values():
            self._put(variable, self.bottom(cluster), half + PADDING)

    def _put(self, upper: int, lower: int, distance: float) -> None:
        self.above[lower].append((upper, distance))
        self.below[upper].append((lower, distance))

    def _gap(self, upper: int, lower: int) -> float:
        if upper >= self.spots or lower >= self.spots:
            return _BESIDE_CLUSTER
        return _BETWEEN_NODES if upper < self.columns.nodes and lower < self.columns.nodes else _BETWEEN_BENDS

    # Ideal heights.

    def relax(self, neighbours: "Neighbours", rounds: int) -> None:
        for _ in range(rounds):
            shifts = [self._shift(ends) for ends in neighbours.of_clusters]
            self._settle([self._ideal(spot, neighbours, shifts) for spot in range(self.spots)])

    def _ideal(self, spot: int, neighbours: "Neighbours", shifts: Sequence[float]) -> float:
        own = self.at[spot]
        total = weights = 0.0
        for end in neighbours.of_spots[spot]:
            weight = _STRAIGHT if spot >= self.columns.nodes <= end else 1
            total += weight * self.near(end, own)
            weights += weight
        for cluster in self.columns.around(self.columns.homes[spot]):
            if neighbours.of_clusters[cluster]:
                total += own + shifts[cluster]
                weights += 1
        if self.columns.homes[spot] != WHOLE:
            total += _TOGETHER * self.middle(~self.columns.homes[spot])
            weights += _TOGETHER
        return total / weights if weights else own

    def _shift(self, ends: Sequence[tuple[int, int]]) -> float:
        """Returns how far a cluster would have to move to be level with what it is connected to."""
        moves = [self.middle(target) - self.near(own, self.middle(target)) for own, target in ends]
        return sum(moves) / len(moves) if moves else 0.0

    def _settle(self, ideals: Sequence[float]) -> None:
        # Once pushed down from the top, once pushed up from the bottom; the mean satisfies both.
        down, up = [-inf] * len(self.at), [inf] * len(self.at)
        down[: self.spots] = up[: self.spots] = ideals
        for variable in self.walk:
            for upper, distance in self.above[variable]:
                down[variable] = max(down[variable], down[upper] + distance)
        for variable in reversed(self.walk):
            for lower, distance in self.below[variable]:
                up[variable] = min(up[variable], up[lower] - distance)
        self.at[: self.spots] = [
            (a + b) / 2 for a, b in zip(down[: self.spots], up[: self.spots], strict=True)
        ]
        self.tighten()

    def tighten(self) -> None:
        """Moves each frame as close around its contents as possible."""
        for variable in reversed(self.walk):
            if variable >= self.spots and not (variable - self.spots) % 2:
                self.at[variable] = min((self.at[v] - d for v, d in self.below[variable]), default=0.0)
        for variable in self.walk:
            if variable >= self.spots and (variable - self.spots) % 2:
                self.at[variable] = max((self.at[u] + d for u, d in self.above[variable]), default=0.0)

    # Exactly straight lines.

    def straighten(self, neighbours: "Neighbours", rows: Sequence[Sequence[int]], rounds: int) -> None:
        for _ in range(rounds):
            for row in rows:
                for part in self._parts(row):
                    ends = [
                        e for spot in (part[0], part[-1]) for e in neighbours.of_spots[spot] if e not in part
                    ]
                    self.level(part, median_low(self.near(end, self.at[part[0]]) for end in ends))
            for node in range(self.columns.nodes):
                ideals = self._busier_side(node, neighbours)
                if ideals:
                    self.level((node,), median(ideals))
            self.tighten()

    def _parts(self, row: Sequence[int]) -> Iterator[list[int]]:
        """Yields the row of bends in as few parts as possible that can each be level."""
        part: list[int] = []
        least, most = -inf, inf
        for spot in row:
            above, below = self._room((spot,))
            if part and max(least, above) > min(most, below):
                yield part
                part, least, most = [], -inf, inf
            part.append(spot)
            least, most = max(least, above), min(most, below)
        if part:
            yield part

    def _busier_side(self, node: int, neighbours: "Neighbours") -> list[float]:
        """Returns the heights of the neighbours on the side of the node that has more of them."""
        sides: tuple[list[float], list[float]] = ([], [])
        for end in neighbours.of_spots[node]:
            is_right = self.columns.first(end) > self.columns.layers[node]
            sides[is_right].append(self.near(end, self.at[node]))
        return max(sides, key=len)

    def level(self, block: Sequence[int], height: float) -> None:
        """Moves the whole block to this height, as far as there is room. Heights of frames do not change."""
        least, most = self._room(block)
        if least <= most:
            for spot in block:
                self.at[spot] = min(max(height, least), most)

    def _room(self, block: Sequence[int]) -> tuple[float, float]:
        least = max((self.at[u] + d for spot in block for u, d in self.above[spot]), default=-inf)
        most = min((self.at[v] - d for spot in block for v, d in self.below[spot]), default=inf)
        return least, most

    def move_to(self, top: float) -> None:
        """Moves everything, so that the highest part is at `top`."""
        least = min((start for start, _ in self._bands()), default=top)
        self.at = [height - least + top for height in self.at]

    def _bands(self) -> list[tuple[float, float]]:
        """From where to where each spot and each cluster reaches."""
        clusters = range(1, len(self.columns.parents))
        spots = ((self.at[spot] - size / 2, self.at[spot] + size / 2) for spot, size in enumerate(self.sizes))
        return [
            *spots,
            *((self.at[self.top(cluster)], self.at[self.bottom(cluster)]) for cluster in clusters),
        ]

    def squeeze(self) -> None:
        """Removes empty horizontal bands, down to a small gap."""
        bands = sorted(self._bands())
        starts, shifts = [-inf], [0.0]
        reached = bands[0][1] if bands else 0.0
        for top, bottom in bands:
            if top - reached > _MOST_EMPTY:
                starts.append(top)
                shifts.append(shifts[-1] + top - reached - _MOST_EMPTY)
            reached = max(reached, bottom)
        self.at = [height - shifts[bisect_right(starts, height) - 1] for height in self.at]


class Neighbours:
    """What lines connect, from one column to the next."""

    def __init__(self, columns: Columns) -> None:
        self.of_spots: list[list[int]] = [[] for _ in columns.layers]
        self.of_clusters: list[list[tuple[int, int]]] = [[] for _ in columns.parents]
        for left, right in segments(columns):
            for own, target in ((left, right), (right, left)):
                if own >= 0:
                    self.of_spots[own].append(target)
                else:
                    self.of_clusters[~own].append((own, target))


def segments(columns: Columns) -> Iterator[tuple[int, int]]:
    """Yields the parts of all lines that lead from one column to the next."""
    for chain in columns.chains:
        if not chain.sideways:
            stops = (chain.left, *chain.bends, chain.right)
            yield from pairwise(stops)
