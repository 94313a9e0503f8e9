"""In which order the subplans of an outline can come.

The order is a graph of *points*: a leaf is one point, a group is two, its opening and its closing. An opening
comes before all that is in the group, the closing after it, and what depends on a subplan comes after the end
of that. The graph has an arc for each row and each dependency, and everything here takes time in proportion to
their number, or nearly.
"""

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import chain

from weft.plan.order.outline import ROOT, Outline

After = Sequence[Sequence[int]]
"""For each row, the rows after whose end it starts, besides those it depends on; `()` if there are none at all."""


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

    def in_order(self) -> list[int]:
        """The points, each after those before it; without those that never come, as a circle is before them."""
        later = self.later
        waiting = [0] * len(later)
        for point in chain.from_iterable(later):
            waiting[point] += 1
        order = [2 * ROOT]
        for point in order:  # grows while it is walked
            for after in later[point]:
                waiting[after] -= 1
                if not waiting[after]:
                    order.append(after)
        return order

    def circle(self) -> list[int] | None:
        """The rows of a circle, each waiting for the one before, and the first for the last; None without one."""
        order = self.in_order()
        if len(order) == self.count:
            return None
        stuck = set(range(0, len(self.later), 2)).union(self.ends).difference(order)
        return _rows(self._circle(stuck))

    def _circle(self, stuck: set[int]) -> list[int]:
        """Follows, from the first stuck point, stuck points backwards until one comes again."""
        before: dict[int, int] = {}
        for point in sorted(stuck):
            for later in stuck.intersection(self.later[point]):
                # Rather through a group than through what is in it.
                if later not in before or point // 2 == later // 2:
                    before[later] = point
        seen: dict[int, None] = {}
        point = min(before)
        while point not in seen:
            seen[point] = None
            point = before[point]
        trail = list(seen)
        circle = trail[trail.index(point) :][::-1]
        first = circle.index(min(circle))
        return circle[first:] + circle[:first]


def _rows(points: Iterable[int]) -> list[int]:
    """The rows that a circle of points goes through; a group's opening and closing side by side are one."""
    rows: list[int] = []
    for point in points:
        if not rows or rows[-1] != point // 2:
            rows.append(point // 2)
    return rows


def circle(outline: Outline, after: After = ()) -> list[int] | None:
    """The rows of a circle, each waiting for the one before, and the first for the last; None without one."""
    return Points(outline, after).circle()


def longest_path(outline: Outline, weights: Sequence[float], after: After = ()) -> tuple[float, list[int]]:
    """How long the whole takes at least, if each leaf takes its weight, and the leaves that make it so long.

    Of several such paths, the first in plan order. The outline has no circle.
    """
    points = Points(outline, after)
    later, leaves = points.later, outline.leaves
    lengths = [0.0] * len(later)
    for point in reversed(points.in_order()):
        beyond = max([lengths[next_] for next_ in later[point]], default=0.0)
        lengths[point] = beyond + weights[point // 2] if leaves[point // 2] else beyond
    point, path = 2 * ROOT, list[int]()
    while later[point]:
        # A start rather than a closing: a leaf that takes no time is on the path as well.
        point = min(later[point], key=lambda next_: (-lengths[next_], next_ % 2, next_))
        if leaves[point // 2]:
            path.append(point // 2)
    return lengths[2 * ROOT], path


def levels(points: Points, leaves: Sequence[bool]) -> list[int]:
    """For each point, how many leaves come one after the other before it, at most."""
    found = [0] * len(points.later)
    for point in points.in_order():
        beyond = found[point] + leaves[point // 2]
        for later in points.later[point]:
            found[later] = max(found[later], beyond)
    return found


def ended_before(points: Points, rows: Iterable[int]) -> list[int]:
    """For each point, which of these rows have ended when it has come: bit *n* is for the *n*-th of them."""
    ended = [0] * len(points.later)
    for number, row in enumerate(rows):
        ended[points.ends[row]] = 1 << number
    for point in points.in_order():
        known = ended[point]
        if known:
            for later in points.later[point]:
                ended[later] |= known
    return ended


class Line:
    """All points one after the other, those that can come earliest first, then in plan order.

    Some groups are to stand in one piece. Such a group is put into the line like a leaf, and what is in it makes a
    line of its own, in its place. That fails where two pieces would have to come before each other.
    """

    def __init__(self, outline: Outline, points: Points, pieces: set[int]) -> None:
        rows = len(outline.paths)
        self._pieces = pieces
        self._first_piece = 2 * rows  # from here on, a number is that of a piece, not of a point
        self._levels = levels(points, outline.leaves)
        self._homes = homes(outline, pieces)
        self._later: list[list[int]] = [[] for _ in range(3 * rows)]
        self._waiting = [0] * (3 * rows)
        for point, following in enumerate(points.later):
            for later in following:
                self._add_arc(point, later)
        self._ready: dict[int, list[tuple[int, int, int]]] = {home: [] for home in (-1, *pieces)}
        numbers = chain(
            range(0, 2 * rows, 2), (2 * row + 1 for row in range(rows) if not outline.leaves[row])
        )
        for number in chain(numbers, (self._first_piece + piece for piece in sorted(pieces))):
            if not self._waiting[number]:
                self._ready[self._homes[number]].append(self._turn(number))
        self._entered = {-1}
        self.order = self._in_order()
        """The points; some are missing if there are stuck pieces."""

    def _add_arc(self, one: int, other: int) -> None:
        """Between the points, or the pieces they are in, that stand in the same line."""
        homes, first = self._homes, self._first_piece
        while homes[one] != homes[other]:
            # A piece has a greater number than the piece around it: the greater one is left first.
            if homes[one] > homes[other]:
                one = first + homes[one]
            else:
                other = first + homes[other]
        self._later[one].append(other)
        self._waiting[other] += 1

    def _turn(self, number: int) -> tuple[int, int, int]:
        if number < self._first_piece:
            return self._levels[number], number // 2, number
        row = number - self._first_piece
        return self._levels[2 * row], row, number

    def _in_order(self) -> list[int]:
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
                heappush(ready, self._turn(later))

    def stuck(self) -> set[int]:
        """The groups that cannot all stand in one piece, as each has a part that waits for another's."""
        stuck = {n for n, count in enumerate(self._waiting) if count and self._homes[n] in self._entered}
        following = {number: stuck.intersection(self._later[number]) for number in stuck}
        # What is only behind such groups is not one of them.
        free = [number for number in stuck if not following[number]]
        before: dict[int, list[int]] = {number: [] for number in stuck}
        for number, later in following.items():
            for other in later:
                before[other].append(number)
        for number in free:  # grows while it is walked
            for earlier in before[number]:
                following[earlier].discard(number)
                if not following[earlier]:
                    free.append(earlier)
        return {n - self._first_piece for n in stuck.difference(free) if n >= self._first_piece}


def homes(outline: Outline, pieces: set[int]) -> list[int]:
    """For each point, and behind them for each row as a piece, the piece around it; -1 without one."""
    around = [-1] * len(outline.paths)
    inside = [-1] * len(outline.paths)
    for row in range(len(around)):
        if row != ROOT:
            around[row] = inside[outline.parents[row]]
        inside[row] = row if row in pieces else around[row]
    return [*chain.from_iterable(zip(inside, inside, strict=True)), *around]
