"""Join groups with too few files to others."""

from heapq import heapify, heappop, heappush

from weft.decompose.split.graph import Graph
from weft.decompose.split.links import Group, total


def join_small_groups(graph: Graph, groups: list[Group], least: int) -> list[Group]:
    """Joins each group with too few files to the group with the strongest link to it, or else to the smallest."""
    if all(total(graph.files, group) >= least for group in groups):
        return groups
    joiner = _GroupJoiner(graph.contract(groups))
    joiner.join_until(least)
    return [[node for number in members for node in groups[number]] for members in joiner.members if members]


class _GroupJoiner:
    """Joins pairs of groups. The group with fewer links is absorbed, so that few links move.

    The heap holds groups by size. A changed size is pushed as a new entry, and outdated entries are skipped.
    """

    def __init__(self, graph: Graph) -> None:
        self.members = [[number] for number in graph.nodes]
        self._files = list(graph.files)
        self._links = [dict(graph.links.at(number)) for number in graph.nodes]
        self._queue = list(zip(self._files, graph.nodes, strict=True))
        heapify(self._queue)

    def join_until(self, least: int) -> None:
        for _ in range(len(self.members) - 1):
            size, small = self._smallest()
            if size >= least:
                return
            heappop(self._queue)
            self._join(small, self._best_for(small))

    def _smallest(self) -> tuple[int, int]:
        # Skip outdated entries: the group was absorbed or has grown since.
        while self._queue[0][0] != self._files[self._queue[0][1]]:
            heappop(self._queue)
        return self._queue[0]

    def _best_for(self, small: int) -> int:
        links = self._links[small]
        if not links:
            return self._smallest()[1]
        return min(links, key=lambda neighbour: (-links[neighbour], self._files[neighbour], neighbour))

    def _join(self, first: int, second: int) -> None:
        # Moving the shorter list of links keeps the total cost low.
        survivor, absorbed = (
            (first, second) if len(self._links[first]) > len(self._links[second]) else (second, first)
        )
        self.members[survivor] += self.members[absorbed]
        self.members[absorbed] = []
        self._files[survivor] += self._files[absorbed]
        self._files[absorbed] = 0
        for neighbour, weight in self._links[absorbed].items():
            del self._links[neighbour][absorbed]
            if neighbour != survivor:
                self._links[survivor][neighbour] = self._links[neighbour][survivor] = (
                    self._links[survivor].get(neighbour, 0) + weight
                )
        self._links[absorbed] = {}
        heappush(self._queue, (self._files[survivor], survivor))
