"""Breadth-first search on numpy arrays: the same search as in Python, thousands of markings at a time.

Markings are columns of 64-bit words, one array for each word of the layout, in the order of discovery. A step
takes the next markings as a block, computes for each transition which of them enable it, and writes all
successors, marking by marking, behind the stored markings. Then `_admit` determines which of them are new, keeps
the first of each, and closes the gaps. The order is therefore that of a search that takes one marking at a time,
and traces are as short.

Stored markings are found by a hash table of their numbers, with open addressing. All successors probe their slots
together. A successor that finds its slot empty writes its number there; if several write to one slot, one number
stays. Each successor then compares itself with the marking that its slot names: it is that marking (new), equal to
it (already stored), or different (and continues with the next slot). Equal markings probe the same slots in the
same rounds, so no marking is stored twice. Whole markings are compared, not hashes, so none is lost.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from weft.net.packing import FieldLayout, FieldTooWideError, effects, narrowest
from weft.net.plain import PlainNet
from weft.net.trace import Limit, Tokens

T = TypeVar("T", bound=np.generic)
Slots = NDArray[np.int64]
Numbers = NDArray[np.signedinteger[Any]]

WORD_BITS = 64
MIXER = 0x9E37_79B9_7F4A_7C15
"""2⁶⁴ / φ, odd: the multiplier of Fibonacci hashing."""

BLOCK_CELLS = 1 << 18
"""The most pairs of a marking and a transition in a block, so that their data stays in the CPU cache."""

BYTES_PER_CELL = 96
"""Memory per pair in a block besides its words: source, number and slot of each successor, and copies."""


class NumpyEngine:
    """The state of a search; `weft.net.trace.Search` documents its parts."""

    def __init__(self, net: PlainNet, *, max_states: int, max_bytes: int) -> None:
        self._max_states, self._max_bytes = max_states, max_bytes
        self._effects = effects(net)
        # The successors of a marking are a row of the block. Its length is a power of two, so that a shift finds
        # it.
        self._row_bits = max(0, len(self._effects) - 1).bit_length()
        self._block = max(1, min(BLOCK_CELLS, max_bytes // 1024) >> self._row_bits)
        self._cells = self._block << self._row_bits
        most = max_states + self._cells
        self._number_type: type[np.signedinteger[Any]] = np.int32 if most < 1 << 31 else np.int64
        self._fired = np.zeros(1 << self._row_bits, dtype=np.bool_)
        self.layout = FieldLayout(tuple(narrowest(net)), WORD_BITS)
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
        enabled = self._enabled_transitions(start, stop)
        cells = np.flatnonzero(enabled)
        sources = cells >> self._row_bits
        sources += start
        if self._reserve(len(cells)):
            cells &= (1 << self._row_bits) - 1
            overflow = self._fire(sources, cells)
            # Nothing of this block is kept: it is computed again in the wider layout, so a step is all or
            # nothing.
            if any(overflow):
                self._widen(overflow)
                return
            self._admit(sources)
        self._count(enabled, start)
        self.edges += len(cells)
        self.expanded = stop

    def _enabled_transitions(self, start: int, stop: int) -> NDArray[np.bool_]:
        guards = self.layout.guards
        guarded = [word[start:stop] | guard for word, guard in zip(self._words, guards, strict=True)]
        block = np.zeros((stop - start, 1 << self._row_bits), dtype=np.bool_)
        for number, input_words in enumerate(self._taken):
            enabled = np.ones(stop - start, dtype=np.bool_)
            for word, needed in input_words:  # only the words with its input places
                enabled &= ((guarded[word] - needed) & guards[word]) == guards[word]
            block[:, number] = enabled
        return block

    def _count(self, enabled: NDArray[np.bool_], start: int) -> None:
        self._fired |= enabled.any(axis=0)
        dead = np.flatnonzero(~enabled.any(axis=1))
        self.dead += len(dead)
        if self.first_dead is None and len(dead):
            self.first_dead = start + int(dead[0])

    def _fire(self, sources: Numbers, transitions: Numbers) -> list[int]:
        """Writes the successors behind the stored markings. Returns the guards that they touch, for each word."""
        touched: list[int] = []
        new = slice(self.states, self.states + len(sources))
        for words, change, guards in zip(self._words, self._changes, self.layout.guards, strict=True):
            words[new] = words[sources]
            words[new] += change[transitions]
            touched.append(int(np.bitwise_or.reduce(words[new])) & guards)
        return touched

    def _admit(self, sources: Numbers) -> None:
        """Keeps the successors that are new, as far as the limit on states allows."""
        base, successors = self.states, len(sources)
        numbers = np.arange(base, base + successors, dtype=self._number_type)
        new, slots = self._settle(numbers, self._slots(slice(base, base + successors)), self._same)
        if base + len(new) > self._max_states:
            self.full = "states"
        # The rounds of `_settle` find new markings out of order. The stable algorithm is fast on sorted runs.
        order = np.argsort(new, kind="stable")[: self._max_states - base]
        new, slots = new[order], slots[order]
        self.states = base + len(new)
        # Closing the gaps has renumbered the new markings, so their slots get the final numbers.
        self._table[slots] = numbers[: len(new)]
        for words in self._words:
            words[base : self.states] = words[new]
        self._parents[base : self.states] = sources[new - base]
        self._measure(base)

    def _settle(
        self, candidates: Numbers, slots: Slots, is_same: Callable[[Numbers, Numbers], NDArray[np.bool_]]
    ) -> tuple[Numbers, Slots]:
        """Looks these markings up. Returns the numbers of the new ones, and the slots they took."""
        new, taken_slots = [candidates[:0]], [slots[:0]]
        while len(candidates):
            occupants = self._table[slots]
            empty = np.flatnonzero(occupants < 0)
            # The last of several writes to a slot stays. In reverse order, that is the marking found first.
            self._table[slots[empty][::-1]] = candidates[empty][::-1]
            occupants[empty] = self._table[slots[empty]]
            winners = empty[occupants[empty] == candidates[empty]]
            new.append(candidates[winners])
            taken_slots.append(slots[winners])
            different = ~is_same(occupants, candidates)
            candidates = candidates[different]
            slots = (slots[different] + 1) & (len(self._table) - 1)
        return np.concatenate(new), np.concatenate(taken_slots)

    def _same(self, first: Numbers, second: Numbers) -> NDArray[np.bool_]:
        equal: NDArray[np.bool_] = self._words[0][first] == self._words[0][second]
        for words in self._words[1:]:
            equal &= words[first] == words[second]
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
            self._settle(numbers, self._slots(which), np.equal)  # all differ, so comparing numbers is enough

    def _reserve(self, successors: int) -> bool:
        """Makes room behind the markings and in the table; returns False if memory does not allow it."""
        needed = self.states + successors
        room = len(self._parents)
        if needed > room:
            room = max(needed, min(2 * room, self._max_states + successors))
        size = len(self._table)
        # At most half full: with open addressing, chains of occupied slots grow quickly beyond that.
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
        """Returns the memory of all arrays with this room for markings and a table of this size."""
        number, words = self._table.itemsize, 8 * self.layout.words
        old = 8 * len(self._parents) if room > len(self._parents) else 0  # arrays are copied one at a time
        old += number * len(self._table) if size > len(self._table) else 0
        return room * (words + number) + size * number + old + self._cells * (BYTES_PER_CELL + words)

    def _measure(self, start: int) -> None:
        """Updates the bounds with the markings from this number on."""
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
        # The sum of all places must fit into a word, in the next markings too.
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
        """Moves all markings to a layout with wider fields."""
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
