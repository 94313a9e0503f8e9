"""The shape of the tree: which files are in which leaf, and which leaves are in which group."""

from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec import Struct

from weft.decompose.model import Limits
from weft.decompose.splitting.cutting import cut
from weft.decompose.splitting.graph import Graph
from weft.decompose.splitting.knots import knots
from weft.decompose.splitting.links import Group, total
from weft.decompose.splitting.moving import moved
from weft.decompose.splitting.subjects import subjects, with_tests


class Node(Struct, frozen=True, kw_only=True):
    files: Group
    """By number, sorted."""
    children: list["Node"]
    """None, or two and more, in the order of their first files."""

    def leaves(self) -> Iterator[Group]:
        if not self.children:
            yield self.files
        for child in self.children:
            yield from child.leaves()


def tree_of(graph: Graph, uses: Sequence[tuple[int, int]], limits: Limits) -> Node:
    """From above: into parts, and these into parts. Then single files go where they belong."""
    together = with_tests(graph, knots(graph, uses), subjects(graph.paths, uses))
    units = graph.joined(together) if len(together) < len(graph.paths) else graph
    if not beyond(units, units.nodes, limits):
        return Node(files=graph.nodes, children=[])
    cut_from_above = _split(units, units.nodes, limits, limits.depth_for(len(graph.paths)))
    leaves = moved(units, list(cut_from_above.leaves()), limits)
    files = (sorted(file for unit in leaf for file in together[unit]) for leaf in leaves)
    return _with_leaves(cut_from_above, files)


def _split(graph: Graph, names: Group, limits: Limits, levels: int) -> Node:
    """The nodes of the graph, which have these names in the whole, are more than one agent should take."""
    groups = cut(graph, limits, levels)
    again = [group for group in groups if levels > 1 and beyond(graph, group, limits)]
    split = {
        group[0]: _split(part, [names[node] for node in group], limits, levels - 1)
        for group, part in zip(again, graph.parts(again), strict=True)
    }
    return Node(
        files=names,
        children=[
            split.get(group[0]) or Node(files=[names[node] for node in group], children=[])
            for group in groups
        ],
    )


def _with_leaves(node: Node, leaves: Iterator[Group]) -> Node:
    """The same shape with other leaves, one after the other."""
    if not node.children:
        return Node(files=next(leaves), children=[])
    children = sorted(
        (_with_leaves(child, leaves) for child in node.children), key=lambda child: child.files[0]
    )
    return Node(files=sorted(chain.from_iterable(child.files for child in children)), children=children)


def beyond(graph: Graph, nodes: Group, limits: Limits) -> bool:
    """Whether it is to be split further."""
    return (
        total(graph.files, nodes) > limits.max_files_per_subplan
        or total(graph.tokens, nodes) > limits.max_tokens_per_subplan
    )
