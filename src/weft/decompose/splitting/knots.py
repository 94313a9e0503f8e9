"""Files that refer to each other round in a circle.

No order among agents does justice to such files: whoever goes first waits for the other. So a small circle is one
node from the beginning, and nothing can take it apart. One that would fill more than half of an agent's share is
left to the splitting; what it tears of it is told as a risk.
"""

from collections.abc import Sequence

from weft.decompose.splitting.graph import LOAD_OF_AN_AGENT, Graph
from weft.decompose.splitting.links import Group, total

_LARGEST = LOAD_OF_AN_AGENT // 2


def knots(graph: Graph, uses: Sequence[tuple[int, int]]) -> list[Group]:
    """All files in groups, most of them alone; in the order of the first of each."""
    found = list[Group]()
    for circle in circles(len(graph.paths), uses):
        together = total(graph.loads, circle) <= _LARGEST
        found += [sorted(circle)] if together else [[file] for file in circle]
    return sorted(found, key=lambda group: group[0])


def circles(files: int, uses: Sequence[tuple[int, int]]) -> list[list[int]]:
    """All files in groups, so that each of a group leads to each other one."""
    used: list[list[int]] = [[] for _ in range(files)]
    for user, other in uses:
        used[user].append(other)
    search = _Search(used)
    for file in range(files):
        search.look_from(file)
    return search.found


class _Search:
    """Tarjan's algorithm, without recursion: references may lead far.

    Each file has the time when it was met, and the earliest time of a file that is known to be reached from it.
    If both are the same when all its references have been followed, it closes a circle: the files that were met
    since, and are in no circle yet.
    """

    def __init__(self, used: list[list[int]]) -> None:
        self.found = list[list[int]]()
        self._to_follow = used
        self._met = [0] * len(used)
        self._earliest = [0] * len(used)
        self._open = list[int]()
        self._time = 0

    def look_from(self, file: int) -> None:
        way = [] if self._met[file] else [file]
        while way:
            here = way[-1]
            if not self._met[here]:
                self._meet(here)
            onward = self._to_follow[here]
            while onward and self._met[onward[-1]]:
                self._earliest[here] = min(self._earliest[here], self._earliest[onward.pop()])
            if onward:
                way.append(onward[-1])
            else:
                self._close(way.pop())

    def _meet(self, file: int) -> None:
        self._time += 1
        self._met[file] = self._earliest[file] = self._time
        self._open.append(file)

    def _close(self, file: int) -> None:
        if self._earliest[file] == self._met[file]:
            circle = [self._open.pop()]
            while circle[-1] != file:
                circle.append(self._open.pop())
            for settled in circle:  # later than any: nobody reaches further through it
                self._earliest[settled] = len(self._met) + 1
            self.found.append(circle)
