"""Who is bound to whom, and how much: the form in which METIS wants it, and which can be cut into pieces."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise

from msgspec import Struct

Group = Sequence[int]
"""Nodes, by number."""


class Links(Struct, frozen=True, kw_only=True):
    """Neighbours of node `i` are those from `starts[i]` up to `starts[i + 1]`; a link is there from both ends."""

    starts: Sequence[int]
    neighbours: Sequence[int]
    weights: Sequence[int]

    @classmethod
    def of(cls, nodes: Sequence[Mapping[int, int]]) -> "Links":
        """From the neighbours of each node, with their weights."""
        return cls(
            starts=[0, *accumulate(map(len, nodes))],
            neighbours=[other for bound in nodes for other in bound],
            weights=[weight for bound in nodes for weight in bound.values()],
        )

    def with_more(self, more: Sequence[Mapping[int, int]], added: Sequence[Mapping[int, int]]) -> "Links":
        """These, more of them for each node, and nodes that are added; no link is there twice."""
        starts, neighbours, weights = [0], list[int](), list[int]()
        for bound, (begin, end) in zip(more, pairwise(self.starts), strict=True):
            neighbours += self.neighbours[begin:end]
            neighbours += bound
            weights += self.weights[begin:end]
            weights += bound.values()
            starts.append(len(neighbours))
        further = Links.of(added)
        return Links(
            starts=[*starts, *(starts[-1] + end for end in further.starts[1:])],
            neighbours=[*neighbours, *further.neighbours],
            weights=[*weights, *further.weights],
        )

    @property
    def degrees(self) -> list[int]:
        return [end - begin for begin, end in pairwise(self.starts)]

    def at(self, node: int) -> Iterator[tuple[int, int]]:
        """Neighbours and weights."""
        begin, end = self.starts[node], self.starts[node + 1]
        return zip(self.neighbours[begin:end], self.weights[begin:end], strict=True)

    def within(self, groups: Sequence[Group]) -> list["Links"]:
        """Those inside of each group, whose nodes are numbered anew in its order. No node is in two groups."""
        group_of, place = [-1] * (len(self.starts) - 1), [0] * (len(self.starts) - 1)
        for number, group in enumerate(groups):
            for at, node in enumerate(group):
                group_of[node], place[node] = number, at
        return [self._inside(group, number, group_of, place) for number, group in enumerate(groups)]

    def _inside(self, group: Group, number: int, group_of: Sequence[int], place: Sequence[int]) -> "Links":
        from_starts, from_neighbours, from_weights = self.starts, self.neighbours, self.weights
        starts, neighbours, weights = [0], list[int](), list[int]()
        for node in group:
            for at in range(from_starts[node], from_starts[node + 1]):  # `self.at` is slower by a half
                other = from_neighbours[at]
                if group_of[other] == number:
                    neighbours.append(place[other])
                    weights.append(from_weights[at])
            starts.append(len(neighbours))
        return Links(starts=starts, neighbours=neighbours, weights=weights)


def total(values: Sequence[int], group: Group) -> int:
    """What its nodes have together."""
    return sum(map(values.__getitem__, group))


def groups_by_node(nodes: int, groups: Sequence[Group]) -> list[int]:
    """For each node the number of its group; every node is in one."""
    found = [0] * nodes
    for number, group in enumerate(groups):
        for node in group:
            found[node] = number
    return found
