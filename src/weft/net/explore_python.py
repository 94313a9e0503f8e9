"""Breadth-first search with one Python integer for each marking. Needs only Python.

The integer has a field for each place and one more for the sum of all tokens, which changes with each firing
like a place. The most tokens in a marking are therefore found like those in a place: `top` holds the largest
value of each field, and a single subtraction shows whether a new marking exceeds it anywhere. The same
subtraction detects a field that has overflowed into its guard.
"""

from array import array
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from weft.net.packing import FieldLayout, Fields, effects, narrowest
from weft.net.plain import PlainNet
from weft.net.trace import Limit, Tokens

SLICE = 512
"""Markings expanded in one step."""

BYTES_PER_STATE = 176
"""An upper estimate of the memory of a marking besides its own bits: the header of its integer (24, plus
alignment), its entries in the list (9) and in the array of parents (9), and 16 bytes for each slot of the set,
which has up to four per marking and exists twice while it grows. Measured: 100 to 180 bytes, bits included."""


class PackedTransition(NamedTuple):
    """A transition in packed form."""

    taken: int
    change: int


def pack_rule(layout: FieldLayout, inputs: Fields, change: Fields) -> PackedTransition:
    """Packs a transition. The change of the sum, the last field, is added to the change of the places."""
    with_sum = (*change, (len(layout.widths) - 1, sum(tokens for _, tokens in change)))
    return PackedTransition(layout.pack_some(inputs).get(0, 0), layout.pack_some(with_sum).get(0, 0))


class PythonEngine:
    """The state of a search; `weft.net.trace.Search` documents its parts."""

    __slots__ = (
        "_affordable", "_ahead", "_asleep", "_effects", "_limit", "_live", "_max_bytes", "_max_states",
        "_parents", "_rules", "_top", "dead_numbers", "edges", "expanded", "full", "layout", "order", "seen",
    )  # fmt: skip

    def __init__(self, net: PlainNet, *, max_states: int, max_bytes: int) -> None:
        self._effects = effects(net)
        start = (*net.initial, sum(net.initial))
        heaviest = max((sum(weight for _, weight in arcs) for arcs in net.outputs), default=0)
        total = max(1, start[-1], heaviest).bit_length()
        self.layout = FieldLayout((*narrowest(net), total))
        self._max_states, self._max_bytes = max_states, max_bytes
        # Transitions that no marking has enabled yet; they are tested together until one becomes enabled.
        self._asleep = set(range(len(self._effects)))
        self._pack_rules()
        (first,) = self.layout.pack(start)
        self._top = first
        self.order = [first]
        self.seen = set(self.order)
        self._ahead: Iterator[int] = iter(self.order)  # the iterator follows the list as it grows
        self._parents = array("q", [0])
        self.dead_numbers = array("q")
        self.expanded = self.edges = 0
        self.full: Limit | None = None

    @property
    def states(self) -> int:
        return len(self.order)

    @property
    def dead(self) -> int:
        return len(self.dead_numbers)

    @property
    def first_dead(self) -> int | None:
        return self.dead_numbers[0] if self.dead_numbers else None

    def step(self) -> None:
        # The hot loop: everything it reads is in local names, and rare cases are in methods.
        order, stored, parents = self.order, self.seen, self._parents
        (guards,) = self.layout.guards
        live, limit, top = self._live, self._limit, self._top | guards
        asleep = [self._rules[number].taken for number in self._asleep]
        at, edges = self.expanded, 0
        for marking in islice(self._ahead, SLICE):
            guarded = marking | guards
            if asleep and [1 for needed in asleep if (guarded - needed) & guards == guards]:
                live, asleep = self._wake(guarded)
            after = [marking + change for needed, change in live if (guarded - needed) & guards == guards]
            for new in after:
                if new not in stored:
                    if (top - new) & guards != guards or len(order) >= limit:
                        if not self._admits(new):
                            break
                        top = self._top | guards
                    stored.add(new)
                    order.append(new)
                    parents.append(at)
            else:
                if not after:
                    self.dead_numbers.append(at)
                at += 1
                edges += len(after)
                continue
            # A limit was reached, or all markings moved to a wider layout: this marking is expanded again.
            self._ahead = islice(self.order, at, None)
            break
        self.expanded = at
        self.edges += edges

    def _admits(self, new: int) -> bool:
        overflows = new & self.layout.guards[0]
        if len(self.order) >= self._max_states:
            self.full = "states"
        # A move to a wider layout needs both copies.
        elif len(self.order) * (2 if overflows else 1) >= self._affordable:
            self.full = "memory"
        elif overflows:
            self._widen(new)
        else:
            self._raise_top(new)
            return True
        return False

    def _raise_top(self, new: int) -> None:
        pairs = zip(self.layout.unpack((self._top,)), self.layout.unpack((new,)), strict=True)
        (self._top,) = self.layout.pack(max(pair) for pair in pairs)

    def _wake(self, guarded: int) -> tuple[list[PackedTransition], list[int]]:
        """Adds the transitions enabled here for the first time to those that are tried at each marking."""
        (guards,) = self.layout.guards
        rules = self._rules
        self._asleep = {t for t in self._asleep if (guarded - rules[t].taken) & guards != guards}
        self._live = [rule for number, rule in enumerate(rules) if number not in self._asleep]
        return self._live, [rules[number].taken for number in self._asleep]

    def _pack_rules(self) -> None:
        fields = len(self.layout.widths)
        self._rules = [pack_rule(self.layout, *effect) for effect in self._effects]
        self._live = [rule for number, rule in enumerate(self._rules) if number not in self._asleep]
        bits = sum(self.layout.widths) + fields
        # Python stores 30 bits of an integer in 4 bytes.
        self._affordable = self._max_bytes // (BYTES_PER_STATE + bits // 7)
        self._limit = min(self._max_states, self._affordable)

    def _widen(self, new: int) -> None:
        wider = self.layout.wider((new,))
        moves = self.layout.moves_to(wider)

        def convert(marking: int) -> int:
            return sum(move(marking) for move in moves)

        self.layout = wider
        self.order = [convert(marking) for marking in self.order]
        self.seen = set(self.order)
        self._top = convert(self._top)
        self._pack_rules()

    def tokens(self, number: int) -> Tokens:
        return self.layout.unpack((self.order[number],))[:-1]

    def parent(self, number: int) -> int:
        return self._parents[number]

    def bounds(self) -> tuple[Tokens, int]:
        *places, total = self.layout.unpack((self._top,))
        return tuple(places), total

    def unfired(self) -> tuple[int, ...]:
        return tuple(sorted(self._asleep))
