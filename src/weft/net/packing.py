"""Pack markings into bit fields.

Each place has a field, and above each field a *guard* bit that is 0 in every stored marking. With H
the guards, `((m | H) - pre) & H == H` tests all places at once for the tokens that `pre` takes: a field
with too few borrows from its own guard and never from another. Firing is one addition, `m + change`.

The number of tokens that a place may hold is not known in advance, so fields start as narrow as the
initial marking and the arcs allow. A sum that does not fit sets the guard bit. The field is then made one
bit wider, which doubles its capacity, and all stored markings move to the new layout. No arc is heavier
than its field can count, so a sum never overflows past the guard.

A layout has one word without limit (Python's integers) or several words of fixed size (numpy's). In the
latter case no field straddles two words.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from weft.net.plain import PlainNet

Fields = tuple[tuple[int, int], ...]
"""Some fields by number, each with its value; the others are 0."""


class FieldTooWideError(Exception):
    """A number of tokens does not fit a word. Caught inside `weft.net`."""


class BitMove(NamedTuple):
    """Some bits that keep their order from one layout to another."""

    source: int
    """Word they come from."""
    target: int
    """Word they go to."""
    mask: int
    """The bits, where they are in the source."""
    shift: int
    """How far they move up; down if negative."""

    def __call__(self, word: int) -> int:
        bits = word & self.mask
        return bits << self.shift if self.shift >= 0 else bits >> -self.shift


@dataclass(frozen=True, slots=True)
class FieldLayout:
    """The positions of all fields."""

    widths: tuple[int, ...]
    """Bits of each field, its guard not counted."""
    word_bits: int | None = None
    """Bits of a word; None for a single word without limit."""
    spots: tuple[tuple[int, int], ...] = field(init=False)
    """Word and lowest bit of each field."""
    guards: tuple[int, ...] = field(init=False)
    """The guard bits of each word."""

    def __post_init__(self) -> None:
        spots: list[tuple[int, int]] = []
        used, guards = [0], [0]
        for width in self.widths:
            word = self._first_fit(used, width + 1)
            if word == len(used):
                used.append(0)
                guards.append(0)
            spots.append((word, used[word]))
            used[word] += width + 1
            guards[word] |= 1 << (used[word] - 1)
        object.__setattr__(self, "spots", tuple(spots))
        object.__setattr__(self, "guards", tuple(guards))

    def _first_fit(self, used: list[int], bits: int) -> int:
        if self.word_bits is None:
            return 0
        if bits > self.word_bits:
            raise FieldTooWideError(f"a field of {bits} bits in words of {self.word_bits}")
        # First fit: good enough, and its result does not depend on anything but the widths.
        fits = (word for word, bits_used in enumerate(used) if bits_used + bits <= self.word_bits)
        return next(fits, len(used))

    @property
    def words(self) -> int:
        return len(self.guards)

    def pack(self, values: Iterable[int]) -> tuple[int, ...]:
        """Returns the words with these values in the fields. Negative values give a difference to be added."""
        words = [0] * self.words
        for (word, shift), value in zip(self.spots, values, strict=True):
            words[word] += value << shift
        return tuple(words)

    def pack_some(self, fields: Fields) -> dict[int, int]:
        """Like `pack`, for a few fields: returns only the words that contain them."""
        words: dict[int, int] = {}
        for number, value in fields:
            word, shift = self.spots[number]
            words[word] = words.get(word, 0) + (value << shift)
        return words

    def unpack(self, words: Sequence[int]) -> tuple[int, ...]:
        places = zip(self.spots, self.widths, strict=True)
        return tuple(words[word] >> shift & ((1 << width) - 1) for (word, shift), width in places)

    def wider(self, words: Sequence[int]) -> "FieldLayout":
        """Returns the layout with one more bit for each field that has its guard set in these words.

        If there are several words with enough room, all fields get one more bit, which makes another move less
        likely. A single word is not filled like this, because a second word costs more than moves do.
        """
        places = zip(self.spots, self.widths, strict=True)
        # A set guard bit is the carry out of its field.
        widths = [width + (words[word] >> (shift + width) & 1) for (word, shift), width in places]
        widened = FieldLayout(tuple(widths), self.word_bits)
        if self.word_bits is None or widened.words == 1 or max(widths) + 2 > self.word_bits:
            return widened
        roomier = FieldLayout(tuple(width + 1 for width in widths), self.word_bits)
        return roomier if roomier.words == widened.words else widened

    def moves_to(self, wider: "FieldLayout") -> tuple[BitMove, ...]:
        """Returns the moves that convert a marking from this layout to a wider one of the same fields."""
        masks: dict[tuple[int, int, int], int] = {}
        for (source, low), (target, new_low), width in zip(self.spots, wider.spots, self.widths, strict=True):
            # Fields that shift by the same distance share a mask, so the cost depends on the gaps between fields.
            key = (source, target, new_low - low)
            masks[key] = masks.get(key, 0) | ((1 << width) - 1) << low
        return tuple(BitMove(source, target, mask, shift) for (source, target, shift), mask in masks.items())


class Effect(NamedTuple):
    """The effect of a transition on the places it touches. Rows of all places would be quadratic in the net."""

    taken: Fields
    change: Fields


def effects(net: PlainNet) -> list[Effect]:
    return [Effect(*pair) for pair in zip(net.inputs, map(_change, net.inputs, net.outputs), strict=True)]


def _change(inputs: Fields, outputs: Fields) -> Fields:
    change = dict(outputs)
    for place, weight in inputs:
        change[place] = change.get(place, 0) - weight
    return tuple((place, tokens) for place, tokens in change.items() if tokens)


def narrowest(net: PlainNet) -> list[int]:
    """Returns the bits that the initial marking and the heaviest arc of each place need, at least one."""
    most = list(net.initial)
    for arcs in (*net.inputs, *net.outputs):
        for place, weight in arcs:
            most[place] = max(most[place], weight)
    return [max(1, tokens.bit_length()) for tokens in most]
