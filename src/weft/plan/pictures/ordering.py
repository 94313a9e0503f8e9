"""In which order things stand in each column, so that few lines cross.

A cluster is a frame, so it is above or below another in all columns that they share. That is so if everything in a
cluster has one place in one order, whatever its columns. This order is looked for by turns: lay the drawing out,
and sort by where the neighbours to the left, or to the right, have come to stand. The best one seen is kept.
Between two turns neighbours in a column change places where that alone spares a crossing.
"""

from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from itertools import pairwise

from weft.plan.pictures.heights import Heights, Neighbours, effort, segments
from weft.plan.pictures.layers import WHOLE, Columns, first_nodes

_TURNS, _LEAST_TURNS = 16, 2
_ROUNDS = 3


def order_of(columns: Columns, sizes: Sequence[float], neighbours: Neighbours) -> list[list[int]]:
    order = _first_order(columns)
    parts = list(segments(columns))
    sides = _sides(columns, neighbours)
    best, fewest = order, crossings(columns, order, parts)
    for turn in range(effort(columns, _TURNS, _LEAST_TURNS)):
        if not fewest:
            break
        heights = Heights(columns, order, sizes)
        heights.relax(neighbours, _ROUNDS)
        order = _sorted(columns, order, _keys(heights, sides[turn % 3]))
        _exchange(columns, order, neighbours)
        count = crossings(columns, order, parts)
        if count < fewest:
            best, fewest = [list(items) for items in order], count
    return best


def _first_order(columns: Columns) -> list[list[int]]:
    """As the picture gives it; bends follow the left end of their line."""
    first = first_nodes(columns.homes[: columns.nodes], columns.parents)
    keys = [*map(float, range(columns.nodes)), *[0.0] * (len(columns.layers) - columns.nodes)]
    for chain in columns.chains:
        for bend in chain.bends:
            keys[bend] = chain.left + 0.5 if chain.left >= 0 else first[~chain.left] + 0.5
    order: list[list[int]] = [[] for _ in columns.parents]
    for spot, home in enumerate(columns.homes):
        order[home].append(spot)
    for cluster, parent in enumerate(columns.parents[1:], 1):
        order[parent].append(~cluster)
    for items in order:
        items.sort(key=lambda item: keys[item] if item >= 0 else first[~item])
    return order


def _sides(columns: Columns, neighbours: Neighbours) -> tuple[list[list[int]], ...]:
    """The neighbours to the left of each spot, those to the right, and both."""
    left: list[list[int]] = [[] for _ in columns.layers]
    right: list[list[int]] = [[] for _ in columns.layers]
    for spot, ends in enumerate(neighbours.of_spots):
        for end in ends:
            (left if columns.last(end) < columns.layers[spot] else right)[spot].append(end)
    return left, right, neighbours.of_spots


def _keys(heights: Heights, side: Sequence[Sequence[int]]) -> list[float]:
    return [
        sum(heights.near(end, heights.at[spot]) for end in ends) / len(ends) if ends else heights.at[spot]
        for spot, ends in enumerate(side)
    ]


def _sorted(columns: Columns, order: Sequence[Sequence[int]], keys: Sequence[float]) -> list[list[int]]:
    """A cluster goes by the mean of what is in it."""
    sums = [[0.0, 0.0] for _ in columns.parents]
    for spot, home in enumerate(columns.homes):
        for cluster in columns.around(home):
            sums[cluster][0] += keys[spot]
            sums[cluster][1] += 1
    of_clusters = [total / count if count else 0.0 for total, count in sums]
    return [
        sorted(items, key=lambda item: keys[item] if item >= 0 else of_clusters[~item]) for items in order
    ]


def _walk(order: Sequence[Sequence[int]]) -> Iterator[int]:
    """From top to bottom: the spots, and each cluster where it opens and again where it closes."""
    stack = [(~WHOLE, iter(order[WHOLE]))]
    while stack:
        cluster, items = stack[-1]
        item = next(items, None)
        if item is None:
            stack.pop()
            yield cluster
            continue
        yield item
        if item < 0:
            stack.append((item, iter(order[~item])))


def _places(order: Sequence[Sequence[int]]) -> tuple[dict[int, int], dict[int, int]]:
    """Where everything comes first on a walk from top to bottom, and where it comes last."""
    walk = list(_walk(order))
    last = {item: place for place, item in enumerate(walk)}
    return {item: len(walk) - 1 - place for place, item in enumerate(reversed(walk))}, last


def crossings(columns: Columns, order: Sequence[Sequence[int]], parts: Sequence[tuple[int, int]]) -> int:
    """How many pairs of lines cross between two columns. Who enters, leaves or passes a frame crosses it."""
    tops, bottoms = _places(order)
    between: dict[int, list[tuple[int, int]]] = {}
    for left, right in parts:
        between.setdefault(columns.last(left), []).append((bottoms[left], bottoms[right]))
    for cluster in range(1, len(order)):
        edges = ((tops[~cluster], tops[~cluster]), (bottoms[~cluster], bottoms[~cluster]))
        for layer in range(columns.firsts[cluster], columns.lasts[cluster]):
            between.setdefault(layer, []).extend(edges)
    return sum(_inversions(sorted(lines)) for lines in between.values())


def _inversions(lines: Sequence[tuple[int, int]]) -> int:
    seen: list[int] = []
    count = 0
    for _, right in lines:
        count += len(seen) - bisect_right(seen, right)
        insort(seen, right)
    return count


def _exchange(columns: Columns, order: list[list[int]], neighbours: Neighbours) -> None:
    """Two spots that follow each other in a column and a cluster are in no one else's way."""
    _, places = _places(order)
    for items in order:
        by_layer: dict[int, list[int]] = {}
        for index, item in enumerate(items):
            for layer in range(columns.first(item), columns.last(item) + 1):
                by_layer.setdefault(layer, []).append(index)
        for indexes in by_layer.values():
            for upper, lower in pairwise(indexes):
                a, b = items[upper], items[lower]
                if a >= 0 <= b and _gain(places, columns, neighbours, (a, b)) > 0:
                    items[upper], items[lower] = b, a
                    places[a], places[b] = places[b], places[a]


def _gain(places: dict[int, int], columns: Columns, neighbours: Neighbours, pair: tuple[int, int]) -> int:
    """How many crossings are spared if the upper one of the pair goes below the lower one."""
    upper, lower = pair
    layer = columns.layers[upper]
    gain = 0
    for a in neighbours.of_spots[upper]:
        for b in neighbours.of_spots[lower]:
            if (columns.first(a) > layer) == (columns.first(b) > layer):
                gain += (places[a] > places[b]) - (places[a] < places[b])
    return gain
