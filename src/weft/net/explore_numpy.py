"""Breadth-first search on numpy arrays: the same search as in Python, thousands of markings at a time.

Markings are columns of 64-bit words, one array for each word of the layout, in the order in which they
are met. A step takes the next markings as a block, asks for each transition which of them enable it, and
writes all successors, marking by marking, behind the markings stored. Then `_admit` finds which of them
are new, keeps the first of each, and closes the gaps: so the order is that of a search that takes one
marking at a time, and traces are as short.

What is stored is found again by a hash table of numbers of markings, with open addressing. All
successors look at their slots together. Who finds the slot empty writes its own number there; where
several did, one number stays. Then everyone compares itself with the marking that its slot names now, and
is that one (new), equal to it (known), or different (goes on to the next slot). Equal markings probe the
same slots in the same rounds, so nothing is stored twice; and whole markings are compared, not hashes, so
nothing is lost.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from weft.net.packing import FieldTooWideError, Layout, effects, narrowest
from weft.net.plain import PlainNet
from weft.net.trace import Limit, Tokens

T = TypeVar("T", bound=np.generic)
Slots = NDArray[np.int64]
Numbers = NDArray[np.signedinteger[Any]]

WORD_BITS = 64
MIXER = 0x9E37_79B9_7F4A_7C15
"""2⁶⁴ / φ, odd: the multiplier of Fibonacci hashing."""

BLOCK_CELLS = 1 << 18
"""Most pairs of a marking and a transition in a block: what they need stays in the cache."""

BYTES_PER_CELL = 96
"""Of a block, besides its words: source, number and slot of each successor, and copies in passing."""


class NumpyEngine:
    """The state of a search; see `weft.net.trace.Engine` for what its parts mean."""

    def __init__(self, net: PlainNet, *, max_states: int, max_bytes: int) -> None:
        self._max_states, self._max_bytes = max_states, max_bytes
        self._effects = effects(net)
        # A marking's successors are a row of the block; a power of two makes its length a shift.
        self._row_bits = max(0, len(self._effects) - 1).bit_length()
        self._block = max(1, min(BLOCK_CELLS, max_bytes // 1024) >> self._row_bits)
        self._cells = self._block << self._row_bits
        most = max_states + self._cells
        self._number_type: type[np.signedinteger[Any]] = np.int32 if most < 1 << 31 else np.int64
        self._fired = np.zeros(1 << self._row_bits, dtype=np.bool_)
        self.layout = Layout(tuple(narrowest(net)), WORD_BITS)
        self._pack_rules()
        self.states = 1
        self.expanded = self.edges = self.dead = 0
        self.first_dead: int | None = None
        self.full: Limit | None = None
        self._words = [np.array([word], dtype=np.uint64) for word in self.layout.pack(net.initial)]
        self._parents: Numbers = np.zeros(1, dtype=self._number_type)
        self._tops = list(net.initial)
        self._most = sum(net.initial)
        self._check_sum()
        self._build_table(1 << 10)

    def step(self) -> None:
        start, stop = self.expanded, min(self.states, self.expanded + self._block)
        enabled = self._enabled(start, stop)
        cells = np.flatnonzero(enabled)
        sources = cells >> self._row_bits
        sources += start
        if self._reserve(len(cells)):
            cells &= (1 << self._row_bits) - 1
            overflow = self._fire(sources, cells)
            if any(overflow):
                self._widen(overflow)
                return
            self._admit(sources)
        self._count(enabled, start)
        self.edges += len(cells)
        self.expanded = stop

    def _enabled(self, start: int, stop: int) -> NDArray[np.bool_]:
        guards = self.layout.guards
        guarded = [word[start:stop] | guard for word, guard in zip(self._words, guards, strict=True)]
        block = np.zeros((stop - start, 1 << self._row_bits), dtype=np.bool_)
        for number, taken in enumerate(self._taken):
            enabled = np.ones(stop - start, dtype=np.bool_)
            for word, pre in taken:  # only the words that it takes from
                enabled &= ((guarded[word] - pre) & guards[word]) == guards[word]
            block[:, number] = enabled
        return block

    def _count(self, enabled: NDArray[np.bool_], start: int) -> None:
        self._fired |= enabled.any(axis=0)
        dead = np.flatnonzero(~enabled.any(axis=1))
        self.dead += len(dead)
        if self.first_dead is None and len(dead):
            self.first_dead = start + int(dead[0])

    def _fire(self, sources: Numbers, transitions: Numbers) -> list[int]:
        """Put the successors behind what is stored. Return the guards that they touch, for each word."""
        touched: list[int] = []
        new = slice(self.states, self.states + len(sources))
        for words, change, guards in zip(self._words, self._changes, self.layout.guards, strict=True):
            words[new] = words[sources]
            words[new] += change[transitions]
            touched.append(int(np.bitwise_or.reduce(words[new])) & guards)
        return touched

    def _admit(self, sources: Numbers) -> None:
        """Keep the successors that are new, as far as the limit on states allows."""
        base, successors = self.states, len(sources)
        numbers = np.arange(base, base + successors, dtype=self._number_type)
        new, slots = self._settle(numbers, self._slots(slice(base, base + successors)), self._same)
        if base + len(new) > self._max_states:
            self.full = "states"
        order = np.argsort(new, kind="stable")[: self._max_states - base]  # stable: made for sorted runs
        new, slots = new[order], slots[order]
        self.states = base + len(new)
        self._table[slots] = numbers[: len(new)]
        for words in self._words:
            words[base : self.states] = words[new]
        self._parents[base : self.states] = sources[new - base]
        self._measure(base)

    def _settle(
        self, mine: Numbers, slots: Slots, same: Callable[[Numbers, Numbers], NDArray[np.bool_]]
    ) -> tuple[Numbers, Slots]:
        """Look these markings up. Return the numbers of those not known before, and the slots they took."""
        new, taken = [mine[:0]], [slots[:0]]
        while len(mine):
            found = self._table[slots]
            empty = np.flatnonzero(found < 0)
            # Of several that write to a slot the last stays: backwards, that is the one met first.
            self._table[slots[empty][::-1]] = mine[empty][::-1]
            found[empty] = self._table[slots[empty]]
            won = empty[found[empty] == mine[empty]]
            new.append(mine[won])
            taken.append(slots[won])
            different = ~same(found, mine)
            mine = mine[different]
            slots = (slots[different] + 1) & (len(self._table) - 1)
        return np.concatenate(new), np.concatenate(taken)

    def _same(self, one: Numbers, other: Numbers) -> NDArray[np.bool_]:
        equal: NDArray[np.bool_] = self._words[0][one] == self._words[0][other]
        for words in self._words[1:]:
            equal &= words[one] == words[other]
        return equal

    def _slots(self, which: slice) -> Slots:
        mixed = self._words[0][which].copy()
        for words in self._words[1:]:
            mixed ^= mixed >> 29
            mixed *= MIXER
            mixed += words[which]
        mixed ^= mixed >> 32
        mixed *= MIXER
        mixed >>= WORD_BITS - len(self._table).bit_length() + 1
        return mixed.view(np.int64)

    def _build_table(self, size: int) -> None:
        self._table: Numbers = np.full(size, -1, dtype=self._number_type)
        for start in range(0, self.states, self._cells):
            which = slice(start, min(self.states, start + self._cells))
            numbers = np.arange(which.start, which.stop, dtype=self._number_type)
            self._settle(numbers, self._slots(which), np.equal)  # all differ: only oneself is the same

    def _reserve(self, successors: int) -> bool:
        """Make room behind the markings and in the table, unless memory does not allow it."""
        needed = self.states + successors
        room = len(self._parents)
        if needed > room:
            room = max(needed, min(2 * room, self._max_states + successors))
        size = len(self._table)
        while size < 2 * needed:
            size *= 2
        if self._bytes(room=room, size=size) > self._max_bytes:
            self.full = "memory"
            return False
        if room > len(self._parents):
            for number, words in enumerate(self._words):
                self._words[number] = _longer(words, room)
            self._parents = _longer(self._parents, room)
        if size > len(self._table):
            self._build_table(size)
        return True

    def _bytes(self, *, room: int, size: int) -> int:
        """What all arrays take when there is this room for markings, and a table of this size."""
        number, words = self._table.itemsize, 8 * self.layout.words
        old = 8 * len(self._parents) if room > len(self._parents) else 0  # they are copied one by one
        old += number * len(self._table) if size > len(self._table) else 0
        return room * (words + number) + size * number + old + self._cells * (BYTES_PER_CELL + words)

    def _measure(self, start: int) -> None:
        """Take the markings from this number on into the bounds."""
        if start == self.states:
            return
        total = np.zeros(self.states - start, dtype=np.uint64)
        layout = self.layout
        for place, ((word, shift), width) in enumerate(zip(layout.spots, layout.widths, strict=True)):
            tokens = (self._words[word][start : self.states] >> shift) & ((1 << width) - 1)
            total += tokens
            self._tops[place] = max(self._tops[place], int(tokens.max()))
        self._most = max(self._most, int(total.max()))
        self._check_sum()

    def _check_sum(self) -> None:
        # The sum of all places must fit a word, also in the next markings.
        if sum(self._tops) >= 1 << (WORD_BITS - 2):
            raise FieldTooWideError("the tokens of a marking may be more than a word can count")

    def _pack_rules(self) -> None:
        layout, wrap = self.layout, (1 << WORD_BITS) - 1
        self._taken = [list(layout.pack_some(effect.taken).items()) for effect in self._effects]
        self._changes = [np.zeros(len(self._effects), dtype=np.uint64) for _ in range(layout.words)]
        for number, effect in enumerate(self._effects):
            for word, change in layout.pack_some(effect.change).items():
                self._changes[word][number] = change & wrap

    def _widen(self, overflow: list[int]) -> None:
        """Move all markings to a layout with wider fields."""
        old, wider = self._words, self.layout.wider(overflow)
        room, size = len(self._parents), len(self._table)
        both = room * 8 * wider.words + size * self._table.itemsize + 16 * self.states
        if self._bytes(room=room, size=size) + both > self._max_bytes:
            self.full = "memory"
            return
        self._words = [np.zeros(room, dtype=np.uint64) for _ in range(wider.words)]
        for source, target, mask, shift in self.layout.moves_to(wider):
            bits = old[source][: self.states] & mask
            self._words[target][: self.states] |= bits << shift if shift >= 0 else bits >> -shift
        self.layout = wider
        self._pack_rules()
        self._build_table(size)

    def tokens(self, number: int) -> Tokens:
        return self.layout.unpack([int(words[number]) for words in self._words])

    def parent(self, number: int) -> int:
        return int(self._parents[number])

    def bounds(self) -> tuple[Tokens, int]:
        return tuple(self._tops), self._most

    def unfired(self) -> tuple[int, ...]:
        return tuple(t for t in range(len(self._effects)) if not self._fired[t])


def _longer(array: NDArray[T], room: int) -> NDArray[T]:
    longer = np.empty(room, dtype=array.dtype)
    longer[: len(array)] = array
    return longer
