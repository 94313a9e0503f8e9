"""From signals to parts: the tree of groups is given names and an order."""

from collections.abc import Sequence

from msgspec import Struct

from weft.decompose.model import Limits, Part, Risk, Signals
from weft.decompose.naming import Names
from weft.decompose.order import Meeting, Ties, order_of
from weft.decompose.splitting.graph import Graph, graph_of
from weft.decompose.splitting.tree import Node, beyond, tree_of
from weft.errors import InputError


def decompose(signals: Signals, limits: Limits) -> Part:
    """The whole set as a part; its id is empty, for whoever makes a plan of it names the plan."""
    if not signals.paths:
        raise InputError("there are no files to decompose; name some that are there")
    graph = graph_of(signals, limits)
    tree = tree_of(graph, signals.uses, limits)
    ties = Ties.of(signals)
    parts = _Parts(graph=graph, limits=limits, ties=ties, names=Names.of(signals, ties))
    return parts.part("", tree, depends_on=())


class _Parts(Struct, frozen=True, kw_only=True):
    """Gives groups their names and their order."""

    graph: Graph
    limits: Limits
    ties: Ties
    names: Names

    def part(self, name: str, node: Node, *, depends_on: Sequence[str]) -> Part:
        groups = [child.files for child in node.children]
        names = self.names.ids(groups)
        order = order_of(self.ties, groups)
        return Part(
            id=name,
            title=self.names.title(node.files),
            files=tuple(self.graph.paths[file] for file in node.files),
            tokens=sum(self.graph.tokens[file] for file in node.files),
            parts=tuple(
                self.part(own, child, depends_on=[names[number] for number in before])
                for own, child, before in zip(names, node.children, order.depends_on, strict=True)
            ),
            depends_on=tuple(depends_on),
            risks=tuple(risk_of(self.graph, meeting, names) for meeting in order.meetings),
            too_large=not groups and beyond(self.graph, node.files, self.limits),
        )


def risk_of(graph: Graph, meeting: Meeting, names: Sequence[str]) -> Risk:
    return Risk(
        first=names[meeting.first],
        second=names[meeting.second],
        circle=meeting.circle,
        links=meeting.links,
        files=tuple((graph.paths[one], graph.paths[other]) for one, other in meeting.files),
    )
