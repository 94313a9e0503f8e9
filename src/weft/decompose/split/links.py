"""Weighted links between nodes, in the compressed form that METIS takes."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise

from msgspec import Struct

Group = Sequence[int]
"""Numbers of nodes."""


class Links(Struct, frozen=True, kw_only=True):
    """Node `i` has the neighbours from `starts[i]` to `starts[i + 1]`. Each link is stored at both ends."""

    starts: Sequence[int]
    neighbours: Sequence[int]
    weights: Sequence[int]

    @classmethod
    def of(cls, nodes: Sequence[Mapping[int, int]]) -> "Links":
        """Builds links from a mapping of neighbours to weights for each node."""
        return cls(
            starts=[0, *accumulate(map(len, nodes))],
            neighbours=[neighbour for neighbours_of_node in nodes for neighbour in neighbours_of_node],
            weights=[weight for neighbours_of_node in nodes for weight in neighbours_of_node.values()],
        )

    def with_more(self, more: Sequence[Mapping[int, int]], added: Sequence[Mapping[int, int]]) -> "Links":
        """Returns these links with more for each node, and with added nodes. No link may occur twice."""
        starts, neighbours, weights = [0], list[int](), list[int]()
        for extra, (start, end) in zip(more, pairwise(self.starts), strict=True):
            neighbours += self.neighbours[start:end]
            neighbours += extra
            weights += self.weights[start:end]
            weights += extra.values()
            starts.append(len(neighbours))
        added_links = Links.of(added)
        return Links(
            starts=[*starts, *(starts[-1] + end for end in added_links.starts[1:])],
            neighbours=[*neighbours, *added_links.neighbours],
            weights=[*weights, *added_links.weights],
        )

    @property
    def degrees(self) -> list[int]:
        return [end - begin for begin, end in pairwise(self.starts)]

    def at(self, node: int) -> Iterator[tuple[int, int]]:
        """Yields the neighbours of a node with the weights of the links."""
        begin, end = self.starts[node], self.starts[node + 1]
        return zip(self.neighbours[begin:end], self.weights[begin:end], strict=True)

    def within(self, groups: Sequence[Group]) -> list["Links"]:
        """Returns the links inside each group, with its nodes renumbered. No node may be in two groups."""
        group_of, place = [-1] * (len(self.starts) - 1), [0] * (len(self.starts) - 1)
        for number, group in enumerate(groups):
            for at, node in enumerate(group):
                group_of[node], place[node] = number, at
        return [self._inside(group, number, group_of, place) for number, group in enumerate(groups)]

    def _inside(self, group: Group, number: int, group_of: Sequence[int], place: Sequence[int]) -> "Links":
        from_starts, from_neighbours, from_weights = self.starts, self.neighbours, self.weights
        starts, neighbours, weights = [0], list[int](), list[int]()
        for node in group:
            for at in range(from_starts[node], from_starts[node + 1]):  # `self.at` takes half as long again
                neighbour = from_neighbours[at]
                if group_of[neighbour] == number:
                    neighbours.append(place[neighbour])
                    weights.append(from_weights[at])
            starts.append(len(neighbours))
        return Links(starts=starts, neighbours=neighbours, weights=weights)


def total(values: Sequence[int], group: Group) -> int:
    """Returns the sum of the values of a group's nodes."""
    return sum(map(values.__getitem__, group))


def groups_by_node(nodes: int, groups: Sequence[Group]) -> list[int]:
    """Returns the number of the group of each node. Every node must be in one."""
    group_of = [0] * nodes
    for number, group in enumerate(groups):
        for node in group:
            group_of[node] = number
    return group_of
