"""A last look at every file: it moves to the leaf that it is most bound to.

A tree that is cut from above loses something: what was put in different parts at first stays apart, though further
down there would be a place for it. So in the end single files change over, wherever they are in the tree, to
leaves that have room. That brings leaves near to what could be had without a tree.

A folder binds, too: as much as a reference if all of it is in the leaf, and less the less of it is there. So files
do not leave their folder for little, and come back to where most of it is. No leaf gives away more than half of
what it had, so that leaves stay even.
"""

from collections.abc import Sequence

from weft.decompose.model import Limits
from weft.decompose.paths import folder_of
from weft.decompose.splitting.graph import REFERENCE, Graph
from weft.decompose.splitting.links import Group, groups_by_node, total

_ROUNDS = 3


def moved(graph: Graph, leaves: Sequence[Group], limits: Limits) -> list[list[int]]:
    """The same leaves with other nodes, sorted. None is given more than the limits allow, or left with too few."""
    moving = _Moving(graph, leaves, limits)
    to_look_at: Sequence[int] = graph.nodes
    for _ in range(_ROUNDS):
        changed = [node for node in to_look_at if moving.try_to_move(node)]
        to_look_at = sorted({other for node in changed for other, _weight in graph.links.at(node)})
    return moving.leaves()


class _Moving:
    def __init__(self, graph: Graph, leaves: Sequence[Group], limits: Limits) -> None:
        self._graph = graph
        self._limits = limits
        self._leaf_of = groups_by_node(len(graph.paths), leaves)
        self._files = [total(graph.files, leaf) for leaf in leaves]
        self._tokens = [total(graph.tokens, leaf) for leaf in leaves]
        self._to_keep = [max(limits.min_files_per_subplan, files // 2) for files in self._files]
        self._folders = _Folders(graph.paths, self._leaf_of)

    def leaves(self) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in self._files]
        for node, leaf in enumerate(self._leaf_of):
            found[leaf].append(node)
        return found

    def try_to_move(self, node: int) -> bool:
        here = self._leaf_of[node]
        bound = {here: 0}
        for other, weight in self._graph.links.at(node):
            leaf = self._leaf_of[other]
            bound[leaf] = bound.get(leaf, 0) + weight
        if len(bound) == 1 or self._files[here] - self._graph.files[node] < self._to_keep[here]:
            return False
        for leaf in bound:
            bound[leaf] += REFERENCE * self._folders.beside(node, leaf, here) // self._folders.others(node)
        better = [leaf for leaf in bound if bound[leaf] > bound[here] and self._has_room(leaf, node)]
        if better:
            self._move(node, min(better, key=lambda leaf: (-bound[leaf], leaf)))
        return bool(better)

    def _has_room(self, leaf: int, node: int) -> bool:
        return (
            self._files[leaf] + self._graph.files[node] <= self._limits.max_files_per_subplan
            and self._tokens[leaf] + self._graph.tokens[node] <= self._limits.max_tokens_per_subplan
        )

    def _move(self, node: int, leaf: int) -> None:
        here = self._leaf_of[node]
        for sums, values in ((self._files, self._graph.files), (self._tokens, self._graph.tokens)):
            sums[here] -= values[node]
            sums[leaf] += values[node]
        self._folders.move(node, here, leaf)
        self._leaf_of[node] = leaf


class _Folders:
    """How many nodes of each folder are in each leaf."""

    def __init__(self, paths: Sequence[str], leaf_of: Sequence[int]) -> None:
        by_folder = dict[str, dict[int, int]]()
        self._leaves_of = [by_folder.setdefault(folder_of(path), {}) for path in paths]
        for leaves, leaf in zip(self._leaves_of, leaf_of, strict=True):
            leaves[leaf] = leaves.get(leaf, 0) + 1
        sizes = {folder: sum(leaves.values()) for folder, leaves in by_folder.items()}
        self._sizes = [sizes[folder_of(path)] for path in paths]

    def beside(self, node: int, leaf: int, own: int) -> int:
        """How many of the same folder are in the leaf, without the node itself, which is in its own."""
        return self._leaves_of[node].get(leaf, 0) - (leaf == own)

    def others(self, node: int) -> int:
        return max(1, self._sizes[node] - 1)

    def move(self, node: int, here: int, there: int) -> None:
        leaves = self._leaves_of[node]
        leaves[here] -= 1
        leaves[there] = leaves.get(there, 0) + 1
