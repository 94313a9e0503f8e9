"""From signals to parts: the tree of groups is given names and an order."""

from collections.abc import Mapping, Sequence
from itertools import chain

from msgspec import Struct

from weft.decompose.attachments import attached, work_of
from weft.decompose.model import Limits, Part, Signals
from weft.decompose.naming import Names
from weft.decompose.splitting.graph import graph_of
from weft.decompose.splitting.links import Group
from weft.decompose.splitting.tree import Node, tree_of
from weft.decompose.waiting import with_order
from weft.errors import InputError


def decompose(signals: Signals, limits: Limits) -> Part:
    """The whole set as a part; its id is empty, for whoever makes a plan of it names the plan."""
    if not signals.paths:
        raise InputError("there are no files to decompose; name some that are there")
    work = work_of(signals)
    graph = graph_of(work, limits)
    tree = tree_of(graph, work.uses, limits)
    leaves = [*tree.leaves()]
    joined = attached(signals, [[work.paths[file] for file in leaf] for leaf in leaves])
    parts = _Parts(
        tokens=dict(zip(signals.paths, signals.tokens, strict=True)),
        work=work,
        limits=limits,
        names=Names.of(work),
        attached={leaf[0]: files for leaf, files in zip(leaves, joined, strict=True)},
    )
    return with_order(parts.part("", tree), signals)


class _Parts(Struct, frozen=True, kw_only=True):
    """Gives groups their names."""

    tokens: Mapping[str, int]
    work: Signals
    limits: Limits
    names: Names
    """Of the work: no slice is named after an attachment."""
    attached: Mapping[int, Sequence[str]]
    """By the first file of the leaf that they join."""

    def part(self, name: str, node: Node) -> Part:
        names = self.names.ids([child.files for child in node.children])
        parts = tuple(
            sorted(
                (self.part(own, child) for own, child in zip(names, node.children, strict=True)),
                key=lambda part: part.files[0],
            )
        )
        files = [*chain.from_iterable(part.files for part in parts)] if parts else self._files(node.files)
        tokens = sum(map(self.tokens.__getitem__, files))
        return Part(
            id=name,
            title=self.names.title(node.files),
            files=tuple(sorted(files)),
            tokens=tokens,
            parts=parts,
            too_large=not parts and tokens > self.limits.max_tokens_per_subplan,
        )

    def _files(self, leaf: Group) -> list[str]:
        return [*(self.work.paths[file] for file in leaf), *self.attached[leaf[0]]]
