"""Decompose a set of files: build the tree of groups, name the parts and order them."""

from collections.abc import Mapping, Sequence
from itertools import chain

from msgspec import Struct

from weft.decompose.attachments import assign_attachments, without_attachments
from weft.decompose.dependencies import add_order
from weft.decompose.model import Limits, Part, Signals
from weft.decompose.names import Names
from weft.decompose.split.graph import build_graph
from weft.decompose.split.links import Group
from weft.decompose.split.tree import SplitNode, build_tree
from weft.errors import InputError


def decompose(signals: Signals, limits: Limits) -> Part:
    """Returns the whole set as a part. Its id is empty: the caller names the plan."""
    if not signals.paths:
        raise InputError("there are no files to decompose; name some that are there")
    # The order below uses all signals again, since an attachment can be changed by two slices as well.
    work = without_attachments(signals)
    graph = build_graph(work, limits)
    tree = build_tree(graph, work.uses, limits)
    leaves = [*tree.leaves()]
    # Attachments join after the split, so that they do not influence it.
    joined = assign_attachments(signals, [[work.paths[file] for file in leaf] for leaf in leaves])
    parts = _Parts(
        tokens=dict(zip(signals.paths, signals.tokens, strict=True)),
        work=work,
        limits=limits,
        names=Names.of(work),
        attached={leaf[0]: files for leaf, files in zip(leaves, joined, strict=True)},
    )
    return add_order(parts.part("", tree), signals)


class _Parts(Struct, frozen=True, kw_only=True):
    """Converts nodes of the tree to parts with names."""

    tokens: Mapping[str, int]
    work: Signals
    limits: Limits
    names: Names
    """Built without attachments: no slice is named after one."""
    attached: Mapping[int, Sequence[str]]
    """The attachments of each leaf, by the number of its first file."""

    def part(self, name: str, node: SplitNode) -> Part:
        names = self.names.ids([child.files for child in node.children])
        parts = tuple(
            sorted(
                (
                    self.part(child_name, child)
                    for child_name, child in zip(names, node.children, strict=True)
                ),
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
