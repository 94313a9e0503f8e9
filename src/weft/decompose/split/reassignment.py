"""Move single files to the leaf to which they are linked most.

A top-down split has a flaw: files that the first cut separates stay apart, even if a leaf further down would suit
both. In the end, single files therefore move to any leaf of the tree that has room. The result is nearly as good
as a partition without a tree.

A folder counts as a link, too: as much as a reference if the leaf has all of the folder, and less the less it has.
Files therefore do not leave their folder for a weak link, and return to the leaf with most of it. No leaf gives
away more than half of its files, so that leaves stay even.
"""

from collections.abc import Sequence

from weft.decompose.model import Limits
from weft.decompose.paths import folder_of
from weft.decompose.split.graph import REFERENCE, Graph
from weft.decompose.split.links import Group, groups_by_node, total

_ROUNDS = 3


def move_nodes(graph: Graph, leaves: Sequence[Group], limits: Limits) -> list[list[int]]:
    """Returns the leaves after the moves, sorted. No leaf exceeds the limits or keeps too few files."""
    mover = _NodeMover(graph, leaves, limits)
    candidates: Sequence[int] = graph.nodes
    # A move can make another one worthwhile. Later rounds gain little, and without a limit two files could swap
    # forever.
    for _ in range(_ROUNDS):
        moved_nodes = [node for node in candidates if mover.try_to_move(node)]
        # Only neighbours of moved nodes can gain by a move in the next round.
        candidates = sorted(
            {neighbour for node in moved_nodes for neighbour, _weight in graph.links.at(node)}
        )
    return mover.leaves()


class _NodeMover:
    def __init__(self, graph: Graph, leaves: Sequence[Group], limits: Limits) -> None:
        self._graph = graph
        self._limits = limits
        self._leaf_of = groups_by_node(len(graph.paths), leaves)
        self._files = [total(graph.files, leaf) for leaf in leaves]
        self._tokens = [total(graph.tokens, leaf) for leaf in leaves]
        # No leaf may shrink to less than half of its files, so that leaves stay even.
        self._to_keep = [max(limits.min_files_per_subplan, files // 2) for files in self._files]
        self._folders = _Folders(graph.paths, self._leaf_of)

    def leaves(self) -> list[list[int]]:
        leaves: list[list[int]] = [[] for _ in self._files]
        for node, leaf in enumerate(self._leaf_of):
            leaves[leaf].append(node)
        return leaves

    def try_to_move(self, node: int) -> bool:
        own_leaf = self._leaf_of[node]
        weights = {own_leaf: 0}
        for neighbour, weight in self._graph.links.at(node):
            leaf = self._leaf_of[neighbour]
            weights[leaf] = weights.get(leaf, 0) + weight
        # A node without links to other leaves stays, and so does one that its leaf cannot spare.
        if len(weights) == 1 or self._files[own_leaf] - self._graph.files[node] < self._to_keep[own_leaf]:
            return False
        for leaf in weights:
            weights[leaf] += (
                REFERENCE * self._folders.beside(node, leaf, own_leaf) // self._folders.others(node)
            )
        better = [
            leaf for leaf in weights if weights[leaf] > weights[own_leaf] and self._has_room(leaf, node)
        ]
        if better:
            self._move(node, min(better, key=lambda leaf: (-weights[leaf], leaf)))
        return bool(better)

    def _has_room(self, leaf: int, node: int) -> bool:
        return (
            self._files[leaf] + self._graph.files[node] <= self._limits.max_files_per_subplan
            and self._tokens[leaf] + self._graph.tokens[node] <= self._limits.max_tokens_per_subplan
        )

    def _move(self, node: int, leaf: int) -> None:
        own_leaf = self._leaf_of[node]
        for sums, values in ((self._files, self._graph.files), (self._tokens, self._graph.tokens)):
            sums[own_leaf] -= values[node]
            sums[leaf] += values[node]
        self._folders.move(node, own_leaf, leaf)
        self._leaf_of[node] = leaf


class _Folders:
    """The number of nodes of each folder in each leaf."""

    def __init__(self, paths: Sequence[str], leaf_of: Sequence[int]) -> None:
        by_folder = dict[str, dict[int, int]]()
        self._leaves_of = [by_folder.setdefault(folder_of(path), {}) for path in paths]
        for leaves, leaf in zip(self._leaves_of, leaf_of, strict=True):
            leaves[leaf] = leaves.get(leaf, 0) + 1
        sizes = {folder: sum(leaves.values()) for folder, leaves in by_folder.items()}
        self._sizes = [sizes[folder_of(path)] for path in paths]

    def beside(self, node: int, leaf: int, own: int) -> int:
        """Counts the other nodes of the same folder in a leaf. `own` is the leaf of the node itself."""
        return self._leaves_of[node].get(leaf, 0) - (leaf == own)

    def others(self, node: int) -> int:
        return max(1, self._sizes[node] - 1)

    def move(self, node: int, old_leaf: int, new_leaf: int) -> None:
        leaves = self._leaves_of[node]
        leaves[old_leaf] -= 1
        leaves[new_leaf] = leaves.get(new_leaf, 0) + 1
