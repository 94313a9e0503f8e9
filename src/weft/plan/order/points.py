"""The order in which the subplans of an outline can run.

The order is a graph of *points*: a leaf is one point, a group is two, its opening and its closing. A group's
opening comes before everything in the group, its closing after it, and a subplan comes after the end of each
subplan that it depends on. The graph has an arc for each row and each dependency. Everything here takes time
roughly proportional to their number.
"""

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import chain

from weft.plan.order.outline import ROOT, Outline

After = Sequence[Sequence[int]]
"""For each row, the rows that must end before it starts, besides its dependencies; `()` if no row has any."""


class Points:
    """Point 2·row is the start of a row, 2·row + 1 the closing of a group; a leaf has only the first."""

    def __init__(self, outline: Outline, after: After = ()) -> None:
        rows, parents, leaves = len(outline.paths), outline.parents, outline.leaves
        self.count = 2 * rows - sum(leaves)
        self.ends = [2 * row if leaf else 2 * row + 1 for row, leaf in enumerate(leaves)]
        """The last point of each row."""
        self.later: list[list[int]] = [[] for _ in range(2 * rows)]
        """The points that wait for each point."""
        ends, later = self.ends, self.later
        # An empty plan still opens before it closes.
        later[2 * ROOT].append(ends[ROOT])
        for row in range(1, rows):
            parent = parents[row]
            later[2 * parent].append(2 * row)
            later[ends[row]].append(2 * parent + 1)
            for earlier in outline.depends_on[row]:
                later[ends[earlier]].append(2 * row)
            if not leaves[row]:
                later[2 * row].append(2 * row + 1)
        for row, before in enumerate(after):
            for earlier in before:
                later[ends[earlier]].append(2 * row)

    def topological_order(self) -> list[int]:
        """Returns the points in topological order, without those that a cycle blocks."""
        later = self.later
        waiting = [0] * len(later)
        for point in chain.from_iterable(later):
            waiting[point] += 1
        # Everything is inside the plan, so its opening is the only point that waits for nothing.
        order = [2 * ROOT]
        for point in order:  # grows while it is walked
            for after in later[point]:
                waiting[after] -= 1
                if not waiting[after]:
                    order.append(after)
        return order

    def find_cycle(self) -> list[int] | None:
        """Returns the rows of a cycle, in which each waits for the one before it; None if there is no cycle."""
        order = self.topological_order()
        if len(order) == self.count:
            return None
        # A leaf has no odd point, so the points are the starts and the ends.
        stuck = set(range(0, len(self.later), 2)).union(self.ends).difference(order)
        return _rows(self._trace_cycle(stuck))

    def _trace_cycle(self, stuck: set[int]) -> list[int]:
        """Returns the points of a cycle, found by following the stuck points backwards until one repeats."""
        before: dict[int, int] = {}
        for point in sorted(stuck):
            for later in stuck.intersection(self.later[point]):
                # Prefer the way through the group itself: the message names it instead of one of its parts.
                if later not in before or point // 2 == later // 2:
                    before[later] = point
        visited: dict[int, None] = {}
        point = min(before)
        while point not in visited:
            visited[point] = None
            point = before[point]
        trail = list(visited)
        cycle = trail[trail.index(point) :][::-1]
        first = cycle.index(min(cycle))
        return cycle[first:] + cycle[:first]


def _rows(points: Iterable[int]) -> list[int]:
    """Returns the rows of a cycle of points; the opening and closing of a group, side by side, count as one."""
    rows: list[int] = []
    for point in points:
        if not rows or rows[-1] != point // 2:
            rows.append(point // 2)
    return rows


def find_cycle(outline: Outline, after: After = ()) -> list[int] | None:
    """Returns the rows of a cycle, in which each waits for the one before it; None if there is no cycle."""
    return Points(outline, after).find_cycle()


def longest_path(outline: Outline, weights: Sequence[float], after: After = ()) -> tuple[float, list[int]]:
    """Returns the length of the longest path, where a leaf has its weight, and the leaves on it.

    Of several such paths, it is the first in plan order. The outline must have no cycle.
    """
    points = Points(outline, after)
    later, leaves = points.later, outline.leaves
    lengths = [0.0] * len(later)
    for point in reversed(points.topological_order()):
        beyond = max([lengths[next_] for next_ in later[point]], default=0.0)
        lengths[point] = beyond + weights[point // 2] if leaves[point // 2] else beyond
    point, path = 2 * ROOT, list[int]()
    while later[point]:
        # A start comes before a closing, so that a leaf of weight 0 is on the path, too.
        point = min(later[point], key=lambda next_: (-lengths[next_], next_ % 2, next_))
        if leaves[point // 2]:
            path.append(point // 2)
    return lengths[2 * ROOT], path


def levels(points: Points, leaves: Sequence[bool]) -> list[int]:
    """Returns, for each point, the length of the longest chain of leaves before it."""
    level_of = [0] * len(points.later)
    for point in points.topological_order():
        beyond = level_of[point] + leaves[point // 2]
        for later in points.later[point]:
            level_of[later] = max(level_of[later], beyond)
    return level_of


def ended_before(points: Points, rows: Iterable[int]) -> list[int]:
    """Returns, for each point, which of these rows have ended when it is reached.

    Bit *n* stands for the *n*-th row.
    """
    ended = [0] * len(points.later)
    for number, row in enumerate(rows):
        ended[points.ends[row]] = 1 << number
    for point in points.topological_order():
        ended_here = ended[point]
        if ended_here:
            for later in points.later[point]:
                ended[later] |= ended_here
    return ended


class PointSequence:
    """All points in one sequence: those that can come earliest first, then in plan order.

    Some groups have to be contiguous; they are called pieces. A piece is placed in the sequence like a leaf, and
    its parts form a sequence of their own in its place. This fails if two pieces would each have to come before
    the other.
    """

    def __init__(self, outline: Outline, points: Points, pieces: set[int]) -> None:
        rows = len(outline.paths)
        self._pieces = pieces
        self._first_piece = 2 * rows  # numbers from here on are pieces, smaller ones are points
        self._levels = levels(points, outline.leaves)
        self._homes = homes(outline, pieces)
        self._later: list[list[int]] = [[] for _ in range(3 * rows)]
        self._waiting = [0] * (3 * rows)
        for point, following in enumerate(points.later):
            for later in following:
                self._add_arc(point, later)
        # Pieces are entered one at a time; -1 is the outermost sequence.
        self._ready: dict[int, list[tuple[int, int, int]]] = {home: [] for home in (-1, *pieces)}
        numbers = chain(
            range(0, 2 * rows, 2), (2 * row + 1 for row in range(rows) if not outline.leaves[row])
        )
        for number in chain(numbers, (self._first_piece + piece for piece in sorted(pieces))):
            if not self._waiting[number]:
                self._ready[self._homes[number]].append(self._sort_key(number))
        self._entered = {-1}
        self.order = self._sort()
        """The points; incomplete if there are stuck pieces."""

    def _add_arc(self, source: int, target: int) -> None:
        """Adds an arc between two points, or between the outermost pieces around them that share a sequence."""
        homes, first = self._homes, self._first_piece
        while homes[source] != homes[target]:
            # A piece has a greater number than the piece around it, so the inner one is left first.
            if homes[source] > homes[target]:
                source = first + homes[source]
            else:
                target = first + homes[target]
        self._later[source].append(target)
        self._waiting[target] += 1

    def _sort_key(self, number: int) -> tuple[int, int, int]:
        if number < self._first_piece:
            return self._levels[number], number // 2, number
        row = number - self._first_piece
        return self._levels[2 * row], row, number

    def _sort(self) -> list[int]:
        order: list[int] = []
        stack = [(-1, self._ready[-1])]
        heapify(self._ready[-1])
        while stack:
            piece, ready = stack[-1]
            if not ready:
                stack.pop()
                if stack:
                    self._release(self._first_piece + piece, stack[-1][1])
                continue
            number = heappop(ready)[2]
            if number < self._first_piece:
                order.append(number)
                self._release(number, ready)
            else:
                piece = number - self._first_piece
                self._entered.add(piece)
                heapify(self._ready[piece])
                stack.append((piece, self._ready[piece]))
        return order

    def _release(self, number: int, ready: list[tuple[int, int, int]]) -> None:
        for later in self._later[number]:
            self._waiting[later] -= 1
            if not self._waiting[later]:
                heappush(ready, self._sort_key(later))

    def stuck(self) -> set[int]:
        """Returns the pieces that cannot be contiguous, as each has a part that waits for a part of another."""
        # Points of pieces that were never entered wait only because their piece does.
        stuck = {n for n, count in enumerate(self._waiting) if count and self._homes[n] in self._entered}
        following = {number: stuck.intersection(self._later[number]) for number in stuck}
        # Numbers that are merely behind stuck pieces are not stuck themselves; they are removed from the end.
        free = [number for number in stuck if not following[number]]
        before: dict[int, list[int]] = {number: [] for number in stuck}
        for number, later in following.items():
            for target in later:
                before[target].append(number)
        for number in free:  # grows while it is walked
            for earlier in before[number]:
                following[earlier].discard(number)
                if not following[earlier]:
                    free.append(earlier)
        return {n - self._first_piece for n in stuck.difference(free) if n >= self._first_piece}


def homes(outline: Outline, pieces: set[int]) -> list[int]:
    """Returns, for each point and then for each row as a piece, the piece around it; -1 if there is none."""
    around = [-1] * len(outline.paths)
    inside = [-1] * len(outline.paths)
    for row in range(len(around)):
        if row != ROOT:
            around[row] = inside[outline.parents[row]]
        inside[row] = row if row in pieces else around[row]
    return [*chain.from_iterable(zip(inside, inside, strict=True)), *around]
