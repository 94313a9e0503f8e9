"""Build the shape of the tree: the files of each leaf, and the leaves of each group."""

from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec import Struct

from weft.decompose.model import Limits
from weft.decompose.split.cut import cut
from weft.decompose.split.cycles import join_circles
from weft.decompose.split.graph import Graph
from weft.decompose.split.links import Group, total
from weft.decompose.split.reassignment import move_nodes
from weft.decompose.split.subjects import find_subjects, join_tests


class SplitNode(Struct, frozen=True, kw_only=True):
    """A node of the tree."""

    files: Group
    """Numbers of files, sorted."""
    children: list["SplitNode"]
    """Empty, or at least two, in the order of their first files."""

    def leaves(self) -> Iterator[Group]:
        if not self.children:
            yield self.files
        for child in self.children:
            yield from child.leaves()


def build_tree(graph: Graph, uses: Sequence[tuple[int, int]], limits: Limits) -> SplitNode:
    """Splits the files top-down, then moves single files to the leaf they belong to."""
    # First the circles, then the tests: a test joins the whole circle of its subject.
    unit_files = join_tests(graph, join_circles(graph, uses), find_subjects(graph.paths, uses))
    units = graph.contract(unit_files) if len(unit_files) < len(graph.paths) else graph
    if not exceeds_limits(units, units.nodes, limits):
        return SplitNode(files=graph.nodes, children=[])
    unmoved_tree = _split(units, units.nodes, limits, limits.depth_for(len(graph.paths)))
    # The shape of the tree is final here; moves change only the contents of leaves.
    leaves = move_nodes(units, list(unmoved_tree.leaves()), limits)
    files = (sorted(file for unit in leaf for file in unit_files[unit]) for leaf in leaves)
    return _with_leaves(unmoved_tree, files)


def _split(graph: Graph, names: Group, limits: Limits, levels: int) -> SplitNode:
    """Splits a graph that is too large for one agent. `names` are the numbers of its nodes in the whole graph."""
    groups = cut(graph, limits, levels)
    large_groups = [group for group in groups if levels > 1 and exceeds_limits(graph, group, limits)]
    subtrees = {
        group[0]: _split(part, [names[node] for node in group], limits, levels - 1)
        for group, part in zip(large_groups, graph.parts(large_groups), strict=True)
    }
    return SplitNode(
        files=names,
        children=[
            subtrees.get(group[0]) or SplitNode(files=[names[node] for node in group], children=[])
            for group in groups
        ],
    )


def _with_leaves(node: SplitNode, leaves: Iterator[Group]) -> SplitNode:
    """Returns a tree of the same shape with the leaves replaced in order."""
    if not node.children:
        return SplitNode(files=next(leaves), children=[])
    children = sorted(
        (_with_leaves(child, leaves) for child in node.children), key=lambda child: child.files[0]
    )
    return SplitNode(files=sorted(chain.from_iterable(child.files for child in children)), children=children)


def exceeds_limits(graph: Graph, nodes: Group, limits: Limits) -> bool:
    """Returns whether the nodes are too many for one leaf."""
    return (
        total(graph.files, nodes) > limits.max_files_per_subplan
        or total(graph.tokens, nodes) > limits.max_tokens_per_subplan
    )
