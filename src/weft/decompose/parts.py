"""From signals to parts: the tree of groups is given names and an order."""

from msgspec import Struct

from weft.decompose.model import Limits, Part, Signals
from weft.decompose.naming import Names
from weft.decompose.splitting.graph import Graph, graph_of
from weft.decompose.splitting.tree import Node, beyond, tree_of
from weft.decompose.waiting import with_order
from weft.errors import InputError


def decompose(signals: Signals, limits: Limits) -> Part:
    """The whole set as a part; its id is empty, for whoever makes a plan of it names the plan."""
    if not signals.paths:
        raise InputError("there are no files to decompose; name some that are there")
    graph = graph_of(signals, limits)
    tree = tree_of(graph, signals.uses, limits)
    named = _Parts(graph=graph, limits=limits, names=Names.of(signals)).part("", tree)
    return with_order(named, signals)


class _Parts(Struct, frozen=True, kw_only=True):
    """Gives groups their names."""

    graph: Graph
    limits: Limits
    names: Names

    def part(self, name: str, node: Node) -> Part:
        names = self.names.ids([child.files for child in node.children])
        return Part(
            id=name,
            title=self.names.title(node.files),
            files=tuple(self.graph.paths[file] for file in node.files),
            tokens=sum(self.graph.tokens[file] for file in node.files),
            parts=tuple(self.part(own, child) for own, child in zip(names, node.children, strict=True)),
            too_large=not node.children and beyond(self.graph, node.files, self.limits),
        )
