"""Assigns each node to a column, and routes lines from column to column.

A column is a wave: a node is to the right of everything it comes after, as far left as possible. A cluster opens
no later than its contents and closes no earlier; a line of the cluster starts where it closes. Lines that form a
cycle cannot all lead to the right. One line of each cycle, the one that leads furthest back in the order of the
picture, is left out of the computation and drawn backwards. (Without the lines that lead back there is no cycle:
the rest follows the order in which clusters open and close.)

A line that passes columns has a *bend* in each. A *spot* is a node or a bend. Where either a spot or a cluster
can be meant, cluster `c` is written `~c`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from math import ceil, sqrt
from statistics import median

from weft.plan.pictures.model import NodeKind, Picture

WHOLE = 0
"""The cluster that is the picture itself; the picture's clusters count from 1."""

_LOOSE = 0.4
"""Chosen so that n boxes without lines form a block about twice as wide as it is high."""
_LEAST_HIGH = 2


@dataclass(frozen=True, slots=True)
class EdgePath:
    """The path of an edge, from its left end to its right end."""

    edge: int
    left: int
    bends: tuple[int, ...]
    right: int
    backwards: bool
    """Whether the edge leads from right to left."""
    sideways: bool = False
    """Whether the ends are in the same column."""


@dataclass(slots=True)
class Columns:
    """The columns of all spots; nodes come first, in their own order."""

    nodes: int
    layers: list[int]
    """The column of each spot."""
    homes: list[int]
    """The innermost cluster around each spot."""
    parents: list[int]
    """The cluster around each cluster; -1 for the whole."""
    firsts: list[int]
    lasts: list[int]
    chains: list[EdgePath]

    def around(self, cluster: int) -> Iterator[int]:
        """Yields the cluster itself, the one around it and so on, without the whole."""
        while cluster != WHOLE:
            yield cluster
            cluster = self.parents[cluster]

    def home(self, end: int) -> int:
        return self.homes[end] if end >= 0 else self.parents[~end]

    def first(self, end: int) -> int:
        return self.layers[end] if end >= 0 else self.firsts[~end]

    def last(self, end: int) -> int:
        return self.layers[end] if end >= 0 else self.lasts[~end]


def columns_of(picture: Picture) -> Columns:
    numbers = {node.id: number for number, node in enumerate(picture.nodes)}
    numbers |= {cluster.id: ~number for number, cluster in enumerate(picture.clusters, 1)}
    clusters = {cluster.id: number for number, cluster in enumerate(picture.clusters, 1)}
    homes = [WHOLE] * len(picture.nodes)
    for cluster in picture.clusters:
        for member in cluster.members:
            homes[numbers[member]] = clusters[cluster.id]
    parents = [-1, *(clusters.get(cluster.parent, WHOLE) for cluster in picture.clusters)]
    ends = [(numbers[edge.source], numbers[edge.target]) for edge in picture.edges]
    pools = {n for n, node in enumerate(picture.nodes) if node.kind is NodeKind.POOL}
    # Lines of pools lead both ways and say nothing about columns.
    flow = [pair for pair in ends if pools.isdisjoint(pair)]
    layers = _LayerGraph(homes, parents).layers(flow)
    loose = _wrap_cluster(layers, homes, ends)
    if loose:
        layers = _LayerGraph(homes, parents).layers([*flow, *loose])
    _pull_places(layers, picture, flow)
    _place_pools(layers, sorted(pools), ends)
    lowest = min(layers, default=0)
    layers = [layer - lowest for layer in layers]
    columns = Columns(len(layers), layers, homes, parents, [], [], [])
    _measure_clusters(columns)
    columns.chains = [_chain(columns, number, source, target) for number, (source, target) in enumerate(ends)]
    return columns


def _wrap_cluster(
    layers: Sequence[int], homes: Sequence[int], ends: Iterable[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Returns an order among the nodes of a cluster without lines, so that they form a block, not a tower.

    The block may be as wide as the other direct contents of the cluster.
    """
    joined = {end for pair in ends for end in pair}
    loose: dict[int, list[int]] = {}
    used_layers: dict[int, set[int]] = {}
    for node, home in enumerate(homes):
        used_layers.setdefault(home, set()).add(layers[node])
        if node not in joined:
            loose.setdefault(home, []).append(node)
    order: list[tuple[int, int]] = []
    for home, nodes in loose.items():
        columns = max(
            round(sqrt(_LOOSE * len(nodes))), min(len(used_layers[home]), len(nodes) // _LEAST_HIGH), 1
        )
        order += zip(nodes, nodes[ceil(len(nodes) / columns) :], strict=False)
    return order


class _LayerGraph:
    """Columns by longest paths between *points*: a node is one point, a cluster two, its opening and closing."""

    def __init__(self, homes: Sequence[int], parents: Sequence[int]) -> None:
        self.nodes = len(homes)
        self.ranks = [*range(self.nodes), *(r for r in first_nodes(homes, parents) for _ in range(2))]
        self.before: dict[int, dict[int, int]] = {point: {} for point in range(len(self.ranks))}
        for node, home in enumerate(homes):
            self._put(self._opening(~home), node, 0)
            self._put(node, self._closing(~home), 0)
        for cluster, parent in enumerate(parents[1:], 1):
            self._put(self._opening(~parent), self._opening(~cluster), 0)
            self._put(self._closing(~cluster), self._closing(~parent), 0)

    def layers(self, ends: Iterable[tuple[int, int]]) -> list[int]:
        for source, target in ends:
            self._put(self._closing(source), self._opening(target), 1)
        layer_of: dict[int, int] = {}
        for point in self._sort():
            layer_of[point] = max((layer_of[u] + gap for u, gap in self.before[point].items()), default=0)
        return [layer_of[node] for node in range(self.nodes)]

    def _put(self, earlier: int, later: int, gap: int) -> None:
        self.before[later][earlier] = gap

    def _opening(self, end: int) -> int:
        return end if end >= 0 else self.nodes + 2 * ~end

    def _closing(self, end: int) -> int:
        return end if end >= 0 else self.nodes + 2 * ~end + 1

    def _sort(self) -> list[int]:
        while True:
            try:
                return list(TopologicalSorter(self.before).static_order())
            except CycleError as error:
                self._cut(error.args[1])

    def _cut(self, cycle: Sequence[int]) -> None:
        """Removes the line that leads furthest back. Every cycle has one, and it is not within a cluster."""
        lines = [(u, v) for u, v in pairwise(cycle) if self.before[v][u]]
        earlier, later = max(lines, key=lambda line: self.ranks[line[0]] - self.ranks[line[1]])
        # The line is still drawn, but no longer counts for the columns.
        del self.before[later][earlier]


def first_nodes(homes: Sequence[int], parents: Sequence[int]) -> list[int]:
    """Returns the first node in each cluster, which orders clusters among nodes."""
    first = [len(homes)] * len(parents)
    for node, home in enumerate(homes):
        first[home] = min(first[home], node)
    for cluster in range(len(parents) - 1, 0, -1):
        first[parents[cluster]] = min(first[parents[cluster]], first[cluster])
    return first


def _pull_places(layers: list[int], picture: Picture, ends: Iterable[tuple[int, int]]) -> None:
    """Moves a place without inputs next to its first consumer: in a net, columns are not waves."""
    takers: dict[int, list[int]] = {}
    fed: set[int] = set()
    for source, target in ends:
        takers.setdefault(source, []).append(target)
        fed.add(target)
    for node, targets in takers.items():
        if node >= 0 <= min(targets) and node not in fed and picture.nodes[node].kind is NodeKind.PLACE:
            layers[node] = min(layers[target] for target in targets) - 1


def _place_pools(layers: list[int], pools: Iterable[int], ends: Sequence[tuple[int, int]]) -> None:
    """Puts each pool in the middle of its users, but in none of their columns."""
    highest = max(layers, default=0)
    for pool in pools:
        users = {layers[end] for pair in ends if pool in pair for end in pair if end != pool}
        middle = median(users) if users else 0
        layers[pool] = min(
            (layer for layer in range(-1, highest + 2) if layer not in users),
            key=lambda layer: abs(layer + 0.5 - middle),
        )


def _measure_clusters(columns: Columns) -> None:
    count = len(columns.parents)
    columns.firsts, columns.lasts = [max(columns.layers, default=0)] * count, [0] * count
    for layer, home in zip(columns.layers, columns.homes, strict=True):
        for cluster in (*columns.around(home), WHOLE):
            columns.firsts[cluster] = min(columns.firsts[cluster], layer)
            columns.lasts[cluster] = max(columns.lasts[cluster], layer)


def _chain(columns: Columns, edge: int, source: int, target: int) -> EdgePath:
    if columns.last(source) < columns.first(target):
        return EdgePath(edge, source, _bends(columns, source, target), target, backwards=False)
    if columns.last(target) < columns.first(source):
        return EdgePath(edge, target, _bends(columns, target, source), source, backwards=True)
    return EdgePath(edge, source, (), target, backwards=False, sideways=True)


def _bends(columns: Columns, left: int, right: int) -> tuple[int, ...]:
    """Adds a bend in each column between.

    It leaves a cluster where that closes, and enters one where it opens.
    """
    leaving = tuple(columns.around(columns.home(left)))
    entering = tuple(columns.around(columns.home(right)))
    shared = next((cluster for cluster in leaving if cluster in entering), WHOLE)
    bends = range(len(columns.layers), len(columns.layers) + columns.first(right) - columns.last(left) - 1)
    for layer in range(columns.last(left) + 1, columns.first(right)):
        # A bend stays in the clusters of its left end until they close, then enters those of its right end.
        still = (c for c in leaving[: _index(leaving, shared)] if columns.lasts[c] >= layer)
        already = (c for c in entering[: _index(entering, shared)] if columns.firsts[c] <= layer)
        columns.layers.append(layer)
        columns.homes.append(next(still, next(already, shared)))
    return tuple(bends)


def _index(clusters: Sequence[int], cluster: int) -> int:
    return clusters.index(cluster) if cluster in clusters else len(clusters)
