"""Find files that refer to each other in a circle.

No order of slices fits such files: each would have to wait for the other. A small circle is therefore one node
from the start and cannot be split. A circle that would fill more than half of an agent's capacity is split like
other files; the references that this cuts are reported as risks.
"""

from collections.abc import Sequence

from weft.decompose.split.graph import LOAD_OF_AN_AGENT, Graph
from weft.decompose.split.links import Group, total

_LARGEST = LOAD_OF_AN_AGENT // 2


def join_circles(graph: Graph, uses: Sequence[tuple[int, int]]) -> list[Group]:
    """Returns all files in groups, in the order of their first files. Most groups have one file."""
    groups = list[Group]()
    for circle in find_circles(len(graph.paths), uses):
        fits = total(graph.loads, circle) <= _LARGEST
        # Of a circle that is too large, every file is on its own again; the cut decides where it breaks.
        groups += [sorted(circle)] if fits else [[file] for file in circle]
    return sorted(groups, key=lambda group: group[0])


def find_circles(files: int, uses: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Returns the strongly connected components of the references."""
    used: list[list[int]] = [[] for _ in range(files)]
    for user, used_file in uses:
        used[user].append(used_file)
    search = _Search(used)
    for file in range(files):
        search.search_from(file)
    return search.found


class _Search:
    """Tarjan's algorithm, without recursion, because chains of references may be long.

    Each file has the time of its first visit, and the earliest such time among the files known to be reachable
    from it. If both are equal after all its references were followed, the file closes a circle: the files
    visited since then that are in no circle yet.
    """

    def __init__(self, used: list[list[int]]) -> None:
        self.found = list[list[int]]()
        self._to_follow = used
        self._visited_at = [0] * len(used)
        self._earliest = [0] * len(used)
        self._open = list[int]()
        self._time = 0

    def search_from(self, file: int) -> None:
        path = [] if self._visited_at[file] else [file]
        while path:
            current = path[-1]
            if not self._visited_at[current]:
                self._visit(current)
            to_follow = self._to_follow[current]
            while to_follow and self._visited_at[to_follow[-1]]:
                self._earliest[current] = min(self._earliest[current], self._earliest[to_follow.pop()])
            if to_follow:
                path.append(to_follow[-1])
            else:
                self._close(path.pop())

    def _visit(self, file: int) -> None:
        self._time += 1
        self._visited_at[file] = self._earliest[file] = self._time
        self._open.append(file)

    def _close(self, file: int) -> None:
        if self._earliest[file] == self._visited_at[file]:
            circle = [self._open.pop()]
            while circle[-1] != file:
                circle.append(self._open.pop())
            for member in circle:  # a time after all others, so that no search goes through it again
                self._earliest[member] = len(self._visited_at) + 1
            self.found.append(circle)
