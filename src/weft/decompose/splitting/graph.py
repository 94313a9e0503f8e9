"""How closely files belong together: one weighted graph, made of all signals.

A reference binds two files, and less so the more files refer to the same one: what everybody uses binds nobody.
Each commit that changed two files together binds them as well, and less so the more files it changed. Weights are
whole numbers, so that sums do not depend on the order in which they are made.

Folders are no links. They are known by the paths, and who splits takes them into account.

A node is a file, or several that stay together. Two operations are all that splitting needs: `joined` makes a node
of each group, and `parts` a graph of each group. So nobody looks twice at a link that is cut already.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, chain, compress, repeat
from operator import ne

from msgspec import Struct

from weft.decompose.model import A_COMMIT, Limits, Signals
from weft.decompose.splitting.links import Group, Links, groups_by_node, total

REFERENCE = 24
_COMMIT = 60  # that changed these two files and no others
_SAYS_NOTHING = A_COMMIT // 20
LOAD_OF_AN_AGENT = 1_000_000


class Graph(Struct, frozen=True, kw_only=True):
    """Nodes are numbered in the order of their paths."""

    paths: Sequence[str]
    """Of the first file of each."""
    files: Sequence[int]
    """How many are in each."""
    tokens: Sequence[int]
    loads: Sequence[int]
    """The share of what one agent takes, in millionths."""
    inside: Sequence[int]
    """The weight of links between files of the same node."""
    links: Links

    @property
    def nodes(self) -> range:
        return range(len(self.paths))

    def parts(self, groups: Sequence[Group]) -> list["Graph"]:
        """A graph of each group, in the order of its nodes."""
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

    def joined(self, groups: Sequence[Group]) -> "Graph":
        """A node of each group; every node is in one. Paths are in order if groups and their nodes are."""
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
        """What is inside of each group, and the links between them."""
        group_of = groups_by_node(len(self.paths), groups)
        inside, links = _totals(self.inside, groups), list[dict[int, int]]()
        starts, neighbours, weights = self.links.starts, self.links.neighbours, self.links.weights
        for number, group in enumerate(groups):
            bound = dict[int, int]()
            for node in group:
                for at in range(starts[node], starts[node + 1]):
                    there = group_of[neighbours[at]]
                    bound[there] = bound.get(there, 0) + weights[at]
            inside[number] += bound.pop(number, 0) // 2
            links.append(bound)
        return inside, Links.of(links)


def _totals(values: Sequence[int], groups: Sequence[Group]) -> list[int]:
    return [total(values, group) for group in groups]


def graph_of(signals: Signals, limits: Limits) -> Graph:
    """A node for each file."""
    return Graph(
        paths=signals.paths,
        files=[1] * len(signals.paths),
        tokens=signals.tokens,
        loads=[_load(tokens, limits) for tokens in signals.tokens],
        inside=[0] * len(signals.paths),
        links=Links.of(_bonds(signals)),
    )


def _bonds(signals: Signals) -> list[dict[int, int]]:
    """For each file its neighbours and the weight of what is between them, in the order of the signals."""
    users = Counter([used for _user, used in signals.uses])
    weights = {used: max(1, int(REFERENCE / number**0.35)) for used, number in users.items()}
    bonds: list[dict[int, int]] = [{} for _ in signals.paths]
    for user, used in signals.uses:
        bonds[user][used] = bonds[used][user] = bonds[user].get(used, 0) + weights[used]
    for first, second, share in signals.together:
        if share >= _SAYS_NOTHING:
            weight = bonds[first].get(second, 0) + _COMMIT * share // A_COMMIT
            bonds[first][second] = bonds[second][first] = weight
    return bonds


def _load(tokens: int, limits: Limits) -> int:
    """A file takes room by being there or by its length, whichever is more; no file is shared by agents."""
    by_number = LOAD_OF_AN_AGENT // limits.max_files_per_subplan
    by_length = LOAD_OF_AN_AGENT * tokens // limits.max_tokens_per_subplan
    return min(LOAD_OF_AN_AGENT, max(by_number, by_length))


class Coupling(Struct, frozen=True, kw_only=True):
    """What is between groups, and what within."""

    cut: float
    """The share of links between them."""
    modularity: float
    """How much more of the links stays inside than in groups drawn by lot: 0 is no better, below 1 is the most."""


def coupling(graph: Graph, groups: Sequence[Group]) -> Coupling:
    """Of groups that all nodes are in."""
    links, group_of = graph.links, groups_by_node(len(graph.paths), groups)
    ends = [2 * inside for inside in _totals(graph.inside, groups)]
    upto = [0, *accumulate(links.weights)]
    for group, begin, end in zip(group_of, links.starts, links.starts[1:], strict=False):
        ends[group] += upto[end] - upto[begin]
    here = chain.from_iterable(map(repeat, group_of, links.degrees))
    there = map(group_of.__getitem__, links.neighbours)
    cut = sum(compress(links.weights, map(ne, here, there)))
    everything = sum(ends)
    if everything == 0:
        return Coupling(cut=0.0, modularity=0.0)
    by_lot = sum((end / everything) ** 2 for end in ends)
    return Coupling(cut=cut / everything, modularity=1 - cut / everything - by_lot)
