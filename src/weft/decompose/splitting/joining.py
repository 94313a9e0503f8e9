"""Groups with too few files join others."""

from heapq import heapify, heappop, heappush

from weft.decompose.splitting.graph import Graph
from weft.decompose.splitting.links import Group, total


def without_small(graph: Graph, groups: list[Group], least: int) -> list[Group]:
    """Groups with too few files join the one that most binds them to, else the smallest."""
    if all(total(graph.files, group) >= least for group in groups):
        return groups
    joining = _Joining(graph.joined(groups))
    joining.until(least)
    return [[node for number in members for node in groups[number]] for members in joining.members if members]


class _Joining:
    """Of two that join, the one with fewer links is given up, so that few links are moved.

    Groups wait by size, the smallest first. Who has changed waits anew; a size that is no longer true is passed
    over.
    """

    def __init__(self, graph: Graph) -> None:
        self.members = [[number] for number in graph.nodes]
        self._files = list(graph.files)
        self._links = [dict(graph.links.at(number)) for number in graph.nodes]
        self._waiting = list(zip(self._files, graph.nodes, strict=True))
        heapify(self._waiting)

    def until(self, least: int) -> None:
        for _ in range(len(self.members) - 1):
            size, small = self._smallest()
            if size >= least:
                return
            heappop(self._waiting)
            self._join(small, self._best_for(small))

    def _smallest(self) -> tuple[int, int]:
        while self._waiting[0][0] != self._files[self._waiting[0][1]]:
            heappop(self._waiting)
        return self._waiting[0]

    def _best_for(self, small: int) -> int:
        bound = self._links[small]
        if not bound:
            return self._smallest()[1]
        return min(bound, key=lambda other: (-bound[other], self._files[other], other))

    def _join(self, one: int, other: int) -> None:
        kept, gone = (one, other) if len(self._links[one]) > len(self._links[other]) else (other, one)
        self.members[kept] += self.members[gone]
        self.members[gone] = []
        self._files[kept] += self._files[gone]
        self._files[gone] = 0
        for third, weight in self._links[gone].items():
            del self._links[third][gone]
            if third != kept:
                self._links[kept][third] = self._links[third][kept] = self._links[kept].get(third, 0) + weight
        self._links[gone] = {}
        heappush(self._waiting, (self._files[kept], kept))
