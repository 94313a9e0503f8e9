"""One weighted graph that combines all signals: how closely files belong together.

A reference links two files, more weakly the more files refer to the same one: a file that all others use says
nothing about any two of them. Each commit that changed two files links them as well, more weakly the more files
it changed. Weights are integers, so that sums do not depend on the order of addition.

Folders are not links. They follow from the paths, and the splitting code takes them into account.

A node is a file, or several that stay together. Splitting needs only two operations: `contract` makes a node of
each group, and `parts` makes a graph of each group. Links that are already cut are therefore never visited again.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, chain, compress, repeat
from operator import ne

from msgspec import Struct

from weft.decompose.model import A_COMMIT, Limits, Signals
from weft.decompose.split.links import Group, Links, groups_by_node, total

REFERENCE = 24
_COMMIT = 60  # for a commit that changed exactly two files
_LEAST_SHARE = A_COMMIT // 20
LOAD_OF_AN_AGENT = 1_000_000


class Graph(Struct, frozen=True, kw_only=True):
    """Nodes, numbered in the order of their paths, and the links between them."""

    paths: Sequence[str]
    """The path of the first file of each node."""
    files: Sequence[int]
    """The number of files of each node."""
    tokens: Sequence[int]
    loads: Sequence[int]
    """The share of an agent's capacity that each node takes, in millionths."""
    inside: Sequence[int]
    """The weight of links between files of the same node."""
    links: Links

    @property
    def nodes(self) -> range:
        return range(len(self.paths))

    def parts(self, groups: Sequence[Group]) -> list["Graph"]:
        """Returns a graph of each group, with its nodes in order."""
        return [
            Graph(
                paths=[self.paths[node] for node in group],
                files=[self.files[node] for node in group],
                tokens=[self.tokens[node] for node in group],
                loads=[self.loads[node] for node in group],
                inside=[self.inside[node] for node in group],
                links=links,
            )
            for group, links in zip(groups, self.links.within(groups), strict=True)
        ]

    def contract(self, groups: Sequence[Group]) -> "Graph":
        """Returns a graph with one node per group. Every node must be in a group; groups must be in order."""
        inside, links = self._between(groups)
        return Graph(
            paths=[self.paths[group[0]] for group in groups],
            files=_totals(self.files, groups),
            tokens=_totals(self.tokens, groups),
            loads=_totals(self.loads, groups),
            inside=inside,
            links=links,
        )

    def _between(self, groups: Sequence[Group]) -> tuple[list[int], Links]:
        """Returns the weight inside each group, and the links between groups."""
        group_of = groups_by_node(len(self.paths), groups)
        inside, links = _totals(self.inside, groups), list[dict[int, int]]()
        starts, neighbours, weights = self.links.starts, self.links.neighbours, self.links.weights
        for number, group in enumerate(groups):
            weights_by_group = dict[int, int]()
            for node in group:
                for at in range(starts[node], starts[node + 1]):
                    neighbour_group = group_of[neighbours[at]]
                    weights_by_group[neighbour_group] = weights_by_group.get(neighbour_group, 0) + weights[at]
            # Each link inside the group was counted from both of its ends.
            inside[number] += weights_by_group.pop(number, 0) // 2
            links.append(weights_by_group)
        return inside, Links.of(links)


def _totals(values: Sequence[int], groups: Sequence[Group]) -> list[int]:
    return [total(values, group) for group in groups]


def build_graph(signals: Signals, limits: Limits) -> Graph:
    """Returns a graph with a node for each file."""
    return Graph(
        paths=signals.paths,
        files=[1] * len(signals.paths),
        tokens=signals.tokens,
        loads=[_load(tokens, limits) for tokens in signals.tokens],
        inside=[0] * len(signals.paths),
        links=Links.of(_bonds(signals)),
    )


def _bonds(signals: Signals) -> list[dict[int, int]]:
    """Returns for each file its neighbours and the weights of the links, in the order of the signals."""
    # A file with many users says little about any of them, so its links weigh less.
    users = Counter([used for _user, used in signals.uses])
    # With fifty users a reference still weighs a quarter: less than alone, but far more than a fiftieth.
    weights = {used: max(1, int(REFERENCE / number**0.35)) for used, number in users.items()}
    bonds: list[dict[int, int]] = [{} for _ in signals.paths]
    for user, used in signals.uses:
        bonds[user][used] = bonds[used][user] = bonds[user].get(used, 0) + weights[used]
    for first, second, share in signals.together:
        # Rare common changes may be coincidence.
        if share >= _LEAST_SHARE:
            weight = bonds[first].get(second, 0) + _COMMIT * share // A_COMMIT
            bonds[first][second] = bonds[second][first] = weight
    return bonds


def _load(tokens: int, limits: Limits) -> int:
    """Returns the load of a file: the larger of its share of files and its share of tokens, at most 1."""
    by_number = LOAD_OF_AN_AGENT // limits.max_files_per_subplan
    by_length = LOAD_OF_AN_AGENT * tokens // limits.max_tokens_per_subplan
    # At most a whole agent, since a single file cannot be split anyway.
    return min(LOAD_OF_AN_AGENT, max(by_number, by_length))


class Coupling(Struct, frozen=True, kw_only=True):
    """The quality of a grouping."""

    cut: float
    """The share of the link weight between groups."""
    modularity: float
    """How much more weight stays inside than in random groups: 0 is no better, and 1 is the upper bound."""


def measure_coupling(graph: Graph, groups: Sequence[Group]) -> Coupling:
    """Measures a grouping of all nodes."""
    links, group_of = graph.links, groups_by_node(len(graph.paths), groups)
    ends = [2 * inside for inside in _totals(graph.inside, groups)]
    cumulative = [0, *accumulate(links.weights)]
    for group, start, end in zip(group_of, links.starts, links.starts[1:], strict=False):
        ends[group] += cumulative[end] - cumulative[start]
    source_groups = chain.from_iterable(map(repeat, group_of, links.degrees))
    target_groups = map(group_of.__getitem__, links.neighbours)
    cut = sum(compress(links.weights, map(ne, source_groups, target_groups)))
    total_weight = sum(ends)
    if total_weight == 0:
        return Coupling(cut=0.0, modularity=0.0)
    chance = sum((end / total_weight) ** 2 for end in ends)
    return Coupling(cut=cut / total_weight, modularity=1 - cut / total_weight - chance)
