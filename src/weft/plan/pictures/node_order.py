"""Orders the contents of each column, so that few lines cross.

A cluster is a frame, so it is above or below another in all columns that they share. That holds if everything in
a cluster has one position in one order, whatever its columns. This order is found by turns: lay out the drawing,
then sort by the heights of the neighbours to the left, or to the right. The best order is kept. Between two
turns, neighbours in a column are swapped where that alone removes a crossing.
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
        # A few rounds are enough to see who is above whom.
        heights.relax(neighbours, _ROUNDS)
        # Left, right and both sides take turns.
        order = _sort_columns(columns, order, _keys(heights, sides[turn % 3]))
        _exchange(columns, order, neighbours)
        count = crossings(columns, order, parts)
        if count < fewest:
            best, fewest = [list(items) for items in order], count
    return best


def _first_order(columns: Columns) -> list[list[int]]:
    """Returns the order of the picture; bends follow the left end of their line."""
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
    """Returns the neighbours to the left of each spot, those to the right, and both."""
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


def _sort_columns(columns: Columns, order: Sequence[Sequence[int]], keys: Sequence[float]) -> list[list[int]]:
    """Returns the order by these keys; a cluster counts with the mean of its contents."""
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
    """Yields the spots from top to bottom, and each cluster where it opens and again where it closes."""
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


def _positions(order: Sequence[Sequence[int]]) -> tuple[dict[int, int], dict[int, int]]:
    """Returns the first and the last position of everything on a walk from top to bottom."""
    walk = list(_walk(order))
    last = {item: position for position, item in enumerate(walk)}
    return {item: len(walk) - 1 - position for position, item in enumerate(reversed(walk))}, last


def crossings(columns: Columns, order: Sequence[Sequence[int]], parts: Sequence[tuple[int, int]]) -> int:
    """Returns how many pairs of lines cross between columns.

    A line that passes the edge of a frame crosses it.
    """
    tops, bottoms = _positions(order)
    between: dict[int, list[tuple[int, int]]] = {}
    for left, right in parts:
        between.setdefault(columns.last(left), []).append((bottoms[left], bottoms[right]))
    for cluster in range(1, len(order)):
        edges = ((tops[~cluster], tops[~cluster]), (bottoms[~cluster], bottoms[~cluster]))
        for layer in range(columns.firsts[cluster], columns.lasts[cluster]):
            between.setdefault(layer, []).extend(edges)
    return sum(_inversions(sorted(lines)) for lines in between.values())


def _inversions(lines: Sequence[tuple[int, int]]) -> int:
    rights: list[int] = []
    count = 0
    for _, right in lines:
        count += len(rights) - bisect_right(rights, right)
        insort(rights, right)
    return count


def _exchange(columns: Columns, order: list[list[int]], neighbours: Neighbours) -> None:
    """Swaps adjacent spots of a column and cluster where that removes crossings; nothing else is affected."""
    _, positions = _positions(order)
    for items in order:
        by_layer: dict[int, list[int]] = {}
        for index, item in enumerate(items):
            for layer in range(columns.first(item), columns.last(item) + 1):
                by_layer.setdefault(layer, []).append(index)
        for indexes in by_layer.values():
            for upper, lower in pairwise(indexes):
                a, b = items[upper], items[lower]
                if a >= 0 <= b and _gain(positions, columns, neighbours, (a, b)) > 0:
                    items[upper], items[lower] = b, a
                    positions[a], positions[b] = positions[b], positions[a]


def _gain(positions: dict[int, int], columns: Columns, neighbours: Neighbours, pair: tuple[int, int]) -> int:
    """Returns how many crossings disappear if the two spots of the pair are swapped."""
    upper, lower = pair
    layer = columns.layers[upper]
    gain = 0
    for a in neighbours.of_spots[upper]:
        for b in neighbours.of_spots[lower]:
            if (columns.first(a) > layer) == (columns.first(b) > layer):
                gain += (positions[a] > positions[b]) - (positions[a] < positions[b])
    return gain
