"""Dependencies and risks between parts.

Sibling parts have an order (`order`), which applies to everything in them. But within a later part, only the
leaves that use something wait, and only for the leaves that contain it; the other leaves start at once. There is
therefore no circle, and no chain is longer than if whole parts waited for whole parts.

The dependencies are written as briefly as possible. Those that follow from others are omitted. A leaf that waits
for all leaves of a group depends on the group, and if all leaves of a group wait for something, the group
depends on it.

Two linked files may be changed at the same time if neither of their leaves waits for the other. References that no
order could follow are likewise dangerous. Both are reported as risks between the sibling parts with the files.
"""

from collections.abc import Iterator, Sequence
from itertools import starmap

from msgspec.structs import replace

from weft.decompose.model import Part, Risk, Signals
from weft.decompose.order import bits_before, compute_order

_PAIRS_SHOWN = 5
_REFERENCE = 10**9  # outranks any number of commits

_Link = tuple[int, int, int]
"""Two files and the strength of their link. For a reference, the user comes first."""
_Between = dict[tuple[int, int], list[_Link]]
"""Links by the numbers of the two parts that contain the files."""


def add_order(whole: Part, signals: Signals) -> Part:
    """Returns the same parts with dependencies and risks."""
    top = _Node(whole)
    return _Dependencies(top, signals).with_dependencies(top)


class _Node:
    """A part in the tree. Leaves are numbered from left to right, so those of a group are contiguous."""

    def __init__(self, part: Part, parent: "_Node | None" = None, first: int = 0) -> None:
        self.part = part
        self.parent = parent
        self.path: str = f"{parent.path}/{part.id}" if parent is not None else ""
        self.first = self.end = first
        self.parts: list[_Node] = []
        for child in part.parts:
            self.parts.append(_Node(child, self, self.end))
            self.end = self.parts[-1].end
        self.end += not part.parts
        self.leaves = (1 << self.end) - (1 << first)
        """A bit for each leaf."""
        self.after: dict[_Node, None] = {}
        """The parts it depends on, in insertion order."""
        self.unordered: _Between = {}
        """References between its parts that the order does not follow."""
        self.together: _Between = {}

    def all_leaves(self) -> Iterator["_Node"]:
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.all_leaves()

    def contains(self, leaf: "_Node") -> bool:
        return self.first <= leaf.first < self.end


class _Dependencies:
    def __init__(self, top: _Node, signals: Signals) -> None:
        self._paths = signals.paths
        self._leaves = [*top.all_leaves()]
        numbers = {path: number for number, path in enumerate(signals.paths)}
        self._leaf_of = [0] * len(numbers)
        for leaf in self._leaves:
            for path in leaf.part.files:
                self._leaf_of[numbers[path]] = leaf.first
        self._uses: list[set[int]] = [set() for _ in self._leaves]
        """For each leaf the leaves that it uses and has to wait for."""
        used_first = [*self._order_leaves(top, self._links_between_leaves(signals))]
        self._before = bits_before(used_first, self._uses)
        self._predecessors_of_all = dict[_Node, int]()
        for leaf in self._leaves:
            self._record_dependencies(leaf)

    def _links_between_leaves(self, signals: Signals) -> tuple[list[_Link], list[_Link]]:
        """Returns the references and the common changes between files in different leaves."""
        leaf_of = self._leaf_of
        return (
            [(user, used, _REFERENCE) for user, used in signals.uses if leaf_of[user] != leaf_of[used]],
            [link for link in signals.together if leaf_of[link[0]] != leaf_of[link[1]]],
        )

    # --- top-down: the order ---

    def _order_leaves(self, node: _Node, links: tuple[list[_Link], list[_Link]]) -> Iterator[int]:
        """Yields the leaves of a node, used ones first, and records which leaves each has to wait for."""
        if not node.parts:
            yield node.first
            return
        # References decide the order; common changes only cause risks.
        (uses, used_inside), (together, inside) = (self._sort_links(node, each_links) for each_links in links)
        order = compute_order(len(node.parts), {pair: len(pair_links) for pair, pair_links in uses.items()})
        for (user, used), pair_links in uses.items():
            # The order may follow from other pairs, so it is asked also about pairs with few references.
            if order.is_after(user, used):
                for user_file, used_file, _strength in pair_links:
                    self._uses[self._leaf_of[user_file]].add(self._leaf_of[used_file])
            else:
                node.unordered[user, used] = pair_links
        node.together = together
        for number in order.used_first:
            yield from self._order_leaves(node.parts[number], (used_inside[number], inside[number]))

    def _sort_links(self, node: _Node, links: Sequence[_Link]) -> tuple[_Between, list[list[_Link]]]:
        """Separates the links between the parts of a node from the links within each."""
        part_of = [number for number, part in enumerate(node.parts) for _ in range(part.first, part.end)]
        between: _Between = {}
        inside: list[list[_Link]] = [[] for _ in node.parts]
        for link in links:
            first = part_of[self._leaf_of[link[0]] - node.first]
            second = part_of[self._leaf_of[link[1]] - node.first]
            if first == second:
                inside[first].append(link)
            else:
                between.setdefault((first, second), []).append(link)
        return between, inside

    # --- bottom-up: brief dependencies ---

    def _record_dependencies(self, leaf: _Node) -> None:
        implied = 0
        for used in self._uses[leaf.first]:
            implied |= self._before[used]
        for used in sorted(self._uses[leaf.first]):
            # A dependency that follows from another one is omitted.
            if not implied >> used & 1:
                waiting_part, earlier_part = self._widen(leaf, self._leaves[used])
                waiting_part.after[earlier_part] = None

    def _widen(self, later: _Node, earlier: _Node) -> tuple[_Node, _Node]:
        """Returns the largest disjoint parts around two leaves such that all of one part waits for the other."""
        later_leaf, earlier_leaf, waits_for = later, earlier, self._before[later.first]
        while (
            (parent := earlier.parent) is not None
            and not parent.contains(later_leaf)
            and _is_subset(parent.leaves, waits_for)
        ):
            earlier = parent
        # First the earlier side grows, then the later one: the condition for the later side depends on the result.
        while (parent := later.parent) is not None and not parent.contains(earlier_leaf):
            waits_for = self._common_predecessors(parent)
            if not _is_subset(earlier.leaves, waits_for):
                break
            later = parent
        return later, earlier

    def _common_predecessors(self, node: _Node) -> int:
        """Returns the leaves for which all leaves of a node wait, as bits."""
        if node not in self._predecessors_of_all:
            common = -1
            for leaf in range(node.first, node.end):
                common &= self._before[leaf]
            self._predecessors_of_all[node] = common
        return self._predecessors_of_all[node]

    def with_dependencies(self, node: _Node) -> Part:
        names = (
            dependency.part.id if dependency.parent is node.parent else dependency.path
            for dependency in sorted(
                node.after, key=lambda dependency: (dependency.parent is not node.parent, dependency.first)
            )
        )
        return replace(
            node.part,
            depends_on=tuple(names),
            risks=tuple(self._risks(node)),
            parts=tuple(map(self.with_dependencies, node.parts)),
        )

    # --- risks ---

    def _risks(self, node: _Node) -> Iterator[Risk]:
        strengths: dict[tuple[int, int], dict[tuple[int, int], int]] = {}
        for between in (node.unordered, node.together):
            for (first, second), links in between.items():
                pairs = {
                    (first_file, second_file) if first < second else (second_file, first_file): strength
                    for first_file, second_file, strength in links
                    # Common changes are harmless if one of the two leaves waits for the other.
                    if strength == _REFERENCE or not self._are_in_order(first_file, second_file)
                }
                pair_strengths = (
                    strengths.setdefault((min(first, second), max(first, second)), {}) if pairs else {}
                )
                for pair, strength in pairs.items():
                    pair_strengths[pair] = pair_strengths.get(pair, 0) + strength
        for (first, second), pairs in sorted(strengths.items()):
            yield Risk(
                first=node.parts[first].part.id,
                second=node.parts[second].part.id,
                circle=any(strength >= _REFERENCE for strength in pairs.values()),
                links=len(pairs),
                files=tuple(starmap(self._paths_of, _strongest(pairs))),
            )

    def _are_in_order(self, first_file: int, second_file: int) -> bool:
        first, second = self._leaf_of[first_file], self._leaf_of[second_file]
        return bool(self._before[first] >> second & 1 or self._before[second] >> first & 1)

    def _paths_of(self, first_file: int, second_file: int) -> tuple[str, str]:
        return self._paths[first_file], self._paths[second_file]


def _is_subset(leaves: int, superset: int) -> bool:
    return not leaves & ~superset


def _strongest(pairs: dict[tuple[int, int], int]) -> list[tuple[int, int]]:
    return sorted(pairs, key=lambda pair: (-pairs[pair], pair))[:_PAIRS_SHOWN]
