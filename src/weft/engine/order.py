"""In which order the points of a tree can come: cycles, and the longest path that remains."""

from collections.abc import Iterable
from itertools import chain

from weft.engine.subplans import Policy
from weft.engine.tree import ROOT, Tree
from weft.errors import SubplanTreeError


def longest_paths(tree: Tree) -> list[float]:
    """For each row: the longest chain of estimates from its start to the end of the whole.

    Within a serial group all rows have the length of the group, so that the order written decides.
    Raises if the dependencies go round in a circle.
    """
    if not any(tree.depends_on) and Policy.SERIAL not in set(tree.policies):
        return _without_dependencies(tree)
    graph = _Points(tree)
    lengths = [0.0] * len(graph.after)
    for point in reversed(graph.in_order()):
        beyond = max([lengths[later] for later in graph.after[point]], default=0.0)
        lengths[point] = beyond + (tree.estimates[point // 2] if point % 2 == 0 else 0.0)
    rows = lengths[::2]
    for row in range(1, len(rows)):
        parent = tree.parents[row]
        if tree.policies[parent] is Policy.SERIAL:
            rows[row] = rows[parent]
        elif tree.policies[row] is Policy.SERIAL:  # one after the other: the group takes their sum
            rows[row] = lengths[2 * row + 1] + sum(tree.estimates[below] for below in tree.below(row))
    return rows


def _without_dependencies(tree: Tree) -> list[float]:
    """Nothing waits for anything: what remains is the work itself, for a group its longest piece."""
    rows = list(tree.estimates)
    for row in range(len(rows) - 1, ROOT, -1):
        parent = tree.parents[row]
        rows[parent] = max(rows[parent], rows[row])
    return rows


class _Points:
    """Point 2·row is the start of a row, 2·row + 1 the closing of a group; a leaf has only the first."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.after: list[list[int]] = [[] for _ in range(2 * len(tree.paths))]
        self.after[2 * ROOT].append(2 * ROOT + 1)
        for row in range(1, len(tree.paths)):
            parent = tree.parents[row]
            self.after[2 * parent].append(2 * row)
            self.after[self.end(row)].append(2 * parent + 1)
            for earlier in tree.depends_on[row]:
                self.after[self.end(earlier)].append(2 * row)
            if not tree.is_leaf(row):
                self.after[2 * row].append(2 * row + 1)

    def end(self, row: int) -> int:
        return 2 * row if self.tree.is_leaf(row) else 2 * row + 1

    def in_order(self) -> list[int]:
        """All points, each after those before it."""
        waiting = [0] * len(self.after)
        for point in chain.from_iterable(self.after):
            waiting[point] += 1
        order = [2 * ROOT]
        for point in order:  # grows while it is walked
            for later in self.after[point]:
                waiting[later] -= 1
                if not waiting[later]:
                    order.append(later)
        stuck = {point for point, count in enumerate(waiting) if count}
        if stuck:
            raise SubplanTreeError(
                f"the dependencies go round in a circle, each waits for the one before: {self._circle(stuck)}"
            )
        return order

    def _circle(self, stuck: set[int]) -> str:
        """Follows, from any stuck point, stuck points backwards until one comes again."""
        before: dict[int, int] = {}
        for point in sorted(stuck):
            for later in stuck.intersection(self.after[point]):
                if (
                    later not in before or point // 2 == later // 2
                ):  # rather through a group than what is in it
                    before[later] = point
        seen: dict[int, None] = {}
        point = min(before)
        while point not in seen:
            seen[point] = None
            point = before[point]
        trail = list(seen)
        circle = trail[trail.index(point) :][::-1]
        first = circle.index(min(circle))
        return " → ".join(self._names([*circle[first:], *circle[: first + 1]]))

    def _names(self, points: Iterable[int]) -> Iterable[str]:
        previous = None
        for point in points:
            name = self.tree.paths[point // 2]
            if name != previous:
                yield name
            previous = name
