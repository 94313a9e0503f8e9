"""Who waits for whom, and who may get in whose way.

Parts beside each other have an order (`order`), and it holds for all that is in them. But of a part that comes
later only those leaves wait that use something, and only for the leaves that have it; the rest begins at once. So
there is no circle, and no chain is longer than if whole parts waited for whole parts.

It is told as briefly as can be. What follows from something else is left out. If a leaf waits for all leaves of a
group it waits for the group, and if all leaves of a group wait for something the group does.

Two files that are linked, in leaves of which neither waits for the other, may be changed at the same time. So may
a reference be wrong that no order could follow. Both are told as risks, of the parts beside each other that the
files are in.
"""

from collections.abc import Iterator, Sequence
from itertools import starmap

from msgspec.structs import replace

from weft.decompose.model import Part, Risk, Signals
from weft.decompose.order import bits_before, order_of

_PAIRS_SHOWN = 5
_REFERENCE = 10**9  # is shown before any number of commits

_Link = tuple[int, int, int]
"""Two files, user and used if it is a reference, and how strong it is."""
_Between = dict[tuple[int, int], list[_Link]]
"""By the numbers of the parts that the files are in."""


def with_order(whole: Part, signals: Signals) -> Part:
    """The same parts, with what they depend on, and with risks."""
    top = _Node(whole)
    return _Waiting(top, signals).told(top)


class _Node:
    """A part, and where it stands. Leaves are numbered from left to right, so those of a group are in a row."""

    def __init__(self, part: Part, around: "_Node | None" = None, first: int = 0) -> None:
        self.part = part
        self.around = around
        self.path: str = f"{around.path}/{part.id}" if around is not None else ""
        self.first = self.end = first
        self.parts: list[_Node] = []
        for one in part.parts:
            self.parts.append(_Node(one, self, self.end))
            self.end = self.parts[-1].end
        self.end += not part.parts
        self.leaves = (1 << self.end) - (1 << first)
        """A bit for each."""
        self.after: dict[_Node, None] = {}
        """What it depends on."""
        self.gave_way: _Between = {}
        """References between its parts that its order does not follow."""
        self.together: _Between = {}

    def all_leaves(self) -> Iterator["_Node"]:
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.all_leaves()

    def has(self, leaf: "_Node") -> bool:
        return self.first <= leaf.first < self.end


class _Waiting:
    def __init__(self, top: _Node, signals: Signals) -> None:
        self._paths = signals.paths
        self._leaves = [*top.all_leaves()]
        numbers = {path: number for number, path in enumerate(signals.paths)}
        self._leaf_of = [0] * len(numbers)
        for leaf in self._leaves:
            for path in leaf.part.files:
                self._leaf_of[numbers[path]] = leaf.first
        self._uses: list[set[int]] = [set() for _ in self._leaves]
        """For each leaf those that it has to wait for, as it uses them."""
        used_first = [*self._settle(top, self._apart(signals))]
        self._before = bits_before(used_first, self._uses)
        self._commons = dict[_Node, int]()
        for leaf in self._leaves:
            self._write_down(leaf)

    def _apart(self, signals: Signals) -> tuple[list[_Link], list[_Link]]:
        """References, and what changed together, of files in different leaves."""
        leaf_of = self._leaf_of
        return (
            [(user, used, _REFERENCE) for user, used in signals.uses if leaf_of[user] != leaf_of[used]],
            [link for link in signals.together if leaf_of[link[0]] != leaf_of[link[1]]],
        )

    # --- from above: which way ---

    def _settle(self, node: _Node, links: tuple[list[_Link], list[_Link]]) -> Iterator[int]:
        """Its leaves, used ones first, with what each of them has to wait for noted."""
        if not node.parts:
            yield node.first
            return
        (uses, used_inside), (together, inside) = (self._sorted_out(node, each) for each in links)
        order = order_of(len(node.parts), {pair: len(found) for pair, found in uses.items()})
        for (user, used), found in uses.items():
            if order.is_after(user, used):
                for one, other, _strength in found:
                    self._uses[self._leaf_of[one]].add(self._leaf_of[other])
            else:
                node.gave_way[user, used] = found
        node.together = together
        for number in order.used_first:
            yield from self._settle(node.parts[number], (used_inside[number], inside[number]))

    def _sorted_out(self, node: _Node, links: Sequence[_Link]) -> tuple[_Between, list[list[_Link]]]:
        """What is between its parts, and what is within each."""
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

    # --- from below: how it is told ---

    def _write_down(self, leaf: _Node) -> None:
        follows = 0
        for used in self._uses[leaf.first]:
            follows |= self._before[used]
        for used in sorted(self._uses[leaf.first]):
            if not follows >> used & 1:
                one, other = self._as_a_whole(leaf, self._leaves[used])
                one.after[other] = None

    def _as_a_whole(self, one: _Node, other: _Node) -> tuple[_Node, _Node]:
        """The largest parts around the two, none of them around both, of which all leaves wait for all leaves."""
        first, second, waits_for = one, other, self._before[one.first]
        while (
            (around := other.around) is not None and not around.has(first) and _in(around.leaves, waits_for)
        ):
            other = around
        while (around := one.around) is not None and not around.has(second):
            waits_for = self._common(around)
            if not _in(other.leaves, waits_for):
                break
            one = around
        return one, other

    def _common(self, node: _Node) -> int:
        """What all of its leaves wait for."""
        if node not in self._commons:
            found = -1
            for leaf in range(node.first, node.end):
                found &= self._before[leaf]
            self._commons[node] = found
        return self._commons[node]

    def told(self, node: _Node) -> Part:
        names = (
            other.part.id if other.around is node.around else other.path
            for other in sorted(node.after, key=lambda other: (other.around is not node.around, other.first))
        )
        return replace(
            node.part,
            depends_on=tuple(names),
            risks=tuple(self._risks(node)),
            parts=tuple(map(self.told, node.parts)),
        )

    # --- risks ---

    def _risks(self, node: _Node) -> Iterator[Risk]:
        found: dict[tuple[int, int], dict[tuple[int, int], int]] = {}
        for between in (node.gave_way, node.together):
            for (first, second), links in between.items():
                pairs = {
                    (one, other) if first < second else (other, one): strength
                    for one, other, strength in links
                    if strength == _REFERENCE or not self._are_in_order(one, other)
                }
                here = found.setdefault((min(first, second), max(first, second)), {}) if pairs else {}
                for pair, strength in pairs.items():
                    here[pair] = here.get(pair, 0) + strength
        for (first, second), pairs in sorted(found.items()):
            yield Risk(
                first=node.parts[first].part.id,
                second=node.parts[second].part.id,
                circle=any(strength >= _REFERENCE for strength in pairs.values()),
                links=len(pairs),
                files=tuple(starmap(self._named, _strongest(pairs))),
            )

    def _are_in_order(self, one: int, other: int) -> bool:
        first, second = self._leaf_of[one], self._leaf_of[other]
        return bool(self._before[first] >> second & 1 or self._before[second] >> first & 1)

    def _named(self, one: int, other: int) -> tuple[str, str]:
        return self._paths[one], self._paths[other]


def _in(leaves: int, others: int) -> bool:
    return not leaves & ~others


def _strongest(pairs: dict[tuple[int, int], int]) -> list[tuple[int, int]]:
    return sorted(pairs, key=lambda pair: (-pairs[pair], pair))[:_PAIRS_SHOWN]
