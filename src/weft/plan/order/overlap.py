"""Which subplans may touch the same files, and an order in which no two of them run together.

Two subplans overlap if a pattern of the one crosses a pattern of the other and neither contains the other. There
may be as many such pairs as there are pairs of subplans, so they are never all written down: `overlaps` tells the
first of them, and `serialized` needs only the patterns that cross and, for each, the rows that have it.

To keep overlapping subplans apart, all rows are put into one line that agrees with the plan's order, and each pair
is ordered as it stands there; that can make no circle. What has the same pattern makes a chain. If two patterns
cross, each row that has the one is put after the last row before it that has the other, and before the first one
behind it; the rest follows along the chains. In the line a group with files of its own stands in one piece, as if
it were a leaf. Sometimes that cannot be: a part of it waits for something that waits for another part of it. Then
the group hands its files down to its parts, which are kept apart from one another as well.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from sys import maxsize

from msgspec import Struct

from weft.plan.order.globs import MOST_CHECKS, coarser, crossings
from weft.plan.order.outline import ROOT, Outline
from weft.plan.order.points import After, Line, Points, ended_before

MOST_SHARED = 100
"""So many pairs of patterns are named of a pair of subplans; the rest is counted."""

Arc = tuple[int, int]
"""The second row starts after the first has ended."""
Span = tuple[int, int]
"""Where in a line a row starts and where it ends; a leaf does both at once."""
Files = Sequence[tuple[str, ...]]
"""For each row the patterns that stand on it, not those of the groups around it; each without fault."""


class Limits(Struct, frozen=True, kw_only=True):
    """Beyond these the answer is less exact, but never wrong."""

    pairs: int = 1_000
    """So many pairs of subplans are told."""
    steps: int = 1_000_000
    """So many pairs are looked at, the same ones again for each two patterns that cross."""
    checks: int = MOST_CHECKS
    """So many pairs of patterns are compared."""
    arcs: int = 200_000
    """If those who ask to be kept apart need more, all that overlap one of them are kept apart."""
    bits: int = 1 << 29
    """So much memory may go into finding out what the plan's order says already."""


LIMITS = Limits()


class Overlap(Struct, frozen=True, kw_only=True):
    first: int
    second: int
    """Rows, in plan order."""
    shared: tuple[tuple[str, str], ...]
    """Patterns that cross, one of the first row and one of the second."""
    more: int = 0
    """How many more there are."""
    ordered: bool
    """Whether the plan's order keeps the two apart: one can start only after the other has ended."""


class Overlaps(Struct, frozen=True, kw_only=True):
    pairs: tuple[Overlap, ...]
    more: bool
    """A limit was reached: there are, or may be, more pairs than these."""


def overlaps(outline: Outline, files: Files, after: After = (), *, limits: Limits = LIMITS) -> Overlaps:
    """The pairs of subplans that overlap, in plan order."""
    owners = _Owners(files, limits.checks)
    shared: dict[tuple[int, int], list[tuple[str, str]]] = {}
    unnamed: dict[tuple[int, int], int] = {}
    more = not owners.complete
    for steps, (pair, patterns) in enumerate(owners.pairs(outline.sizes)):
        if steps == limits.steps or (len(shared) == limits.pairs and pair not in shared):
            more = True
            break
        told = shared.setdefault(pair, [])
        if len(told) < MOST_SHARED:
            told.append(patterns)
        else:
            unnamed[pair] = unnamed.get(pair, 0) + 1
    in_order = ordered(Points(outline, after), list(shared)) if shared else set[tuple[int, int]]()
    return Overlaps(
        pairs=tuple(
            Overlap(
                first=pair[0],
                second=pair[1],
                shared=tuple(shared[pair]),
                more=unnamed.get(pair, 0),
                ordered=pair in in_order,
            )
            for pair in sorted(shared)
        ),
        more=more,
    )


class _Owners:
    """The patterns of a plan, the rows that have each, and which patterns cross."""

    def __init__(self, files: Files, most_checks: int) -> None:
        by_pattern: dict[str, list[int]] = {}
        for row, patterns in enumerate(files):
            if patterns and row != ROOT:  # the whole contains all others and overlaps none
                for pattern in dict.fromkeys(patterns):
                    by_pattern.setdefault(pattern, []).append(row)
        self.patterns = list(by_pattern)
        self.rows = list(by_pattern.values())
        """In plan order."""
        found = crossings(self.patterns, most_checks)
        self.complete = found.complete
        same = [(number, number) for number, rows in enumerate(self.rows) if len(rows) > 1]
        self.crossing = same + found.pairs
        """The numbers of patterns that cross, or are one, of two rows."""

    def pairs(self, sizes: Sequence[int]) -> Iterator[tuple[tuple[int, int], tuple[str, str]]]:
        """Each pair of rows, the first ending in plan order before the second begins, for each two patterns."""
        for one, other in self.crossing:
            for left, right in dict.fromkeys(((one, other), (other, one))):
                patterns, later = (self.patterns[left], self.patterns[right]), self.rows[right]
                for first in self.rows[left]:
                    for place in range(bisect_left(later, first + sizes[first]), len(later)):
                        yield (first, later[place]), patterns


def ordered(points: Points, pairs: Sequence[tuple[int, int]]) -> set[tuple[int, int]]:
    """Those of the pairs of which one can start only after the other has ended."""
    rows = list(dict.fromkeys(chain.from_iterable(pairs)))
    bits = {row: 1 << number for number, row in enumerate(rows)}
    ended = ended_before(points, rows)
    return {
        (first, second)
        for first, second in pairs
        if ended[2 * second] & bits[first] or ended[2 * first] & bits[second]
    }


def serialized(
    outline: Outline, files: Files, serialize: Sequence[bool], after: After = (), *, limits: Limits = LIMITS
) -> list[tuple[int, ...]]:
    """For each row, the rows after whose end it is to start, so that what overlaps never runs together.

    A pair is kept apart if one of the two asks for it. The outline has no circle, and gets none by this. Where
    there are too many patterns to compare, each is taken for all that is below its directory.
    """
    turns = _Turns(outline, files, serialize, limits)
    if not turns.any():
        return [()] * len(outline.paths)
    points = Points(outline, after)
    line = Line(outline, points, turns.groups())
    while stuck := line.stuck():
        turns.hand_down(stuck)
        line = Line(outline, points, turns.groups())
    arcs = turns.arcs(line, points.ends)
    if len(points.later) * len(set(chain.from_iterable(arcs))) <= limits.bits:
        arcs -= ordered(points, list(arcs))
    return _by_row(outline, arcs)


class _Turns:
    """Who is to take turns with whom."""

    def __init__(self, outline: Outline, files: Files, asks: Sequence[bool], limits: Limits) -> None:
        self._outline = outline
        self._limits = limits
        self._files = list(files)
        self._asks = list(asks)
        self._look_up()

    def _look_up(self) -> None:
        self._owners = _Owners(self._files, self._limits.checks)
        if not self._owners.complete:
            self._files = [tuple(map(coarser, patterns)) for patterns in self._files]
            self._owners = _Owners(self._files, maxsize)
        asked = [any(self._asks[row] for row in rows) for rows in self._owners.rows]
        self._crossing = [(one, other) for one, other in self._owners.crossing if asked[one] or asked[other]]
        self._involved = sorted(set(chain.from_iterable(self._crossing)))

    def any(self) -> bool:
        return bool(self._crossing)

    def groups(self) -> set[int]:
        """Those that are to stand in one piece."""
        rows = chain.from_iterable(self._owners.rows[pattern] for pattern in self._involved)
        return {row for row in rows if not self._outline.leaves[row]}

    def hand_down(self, groups: set[int]) -> None:
        for group in sorted(groups):
            for child in self._outline.children(group):
                self._files[child] += self._files[group]
                self._asks[child] |= self._asks[group]
            self._files[group] = ()
        self._look_up()

    def arcs(self, line: Line, ends: Sequence[int]) -> set[Arc]:
        """Arcs by which all that is to take turns is ordered as in the line."""
        places = {point: place for place, point in enumerate(line.order)}
        spans = [(places[2 * row], places[end]) for row, end in enumerate(ends)]
        found = list(islice(self._arcs(spans), self._limits.arcs + 1))
        if len(found) > self._limits.arcs:
            for pattern in self._involved:
                for row in self._owners.rows[pattern]:
                    self._asks[row] = True
            found = list(self._arcs(spans))
        return set(found)

    def _arcs(self, spans: Sequence[Span]) -> Iterator[Arc]:
        asking: dict[int, _Queue] = {}
        others: dict[int, list[int]] = {}
        for pattern in self._involved:
            rows = self._owners.rows[pattern]
            queue = asking[pattern] = _Queue(spans, [row for row in rows if self._asks[row]])
            others[pattern] = [row for row in rows if not self._asks[row]]
            yield from queue.turns(rows)
        for one, other in self._crossing:
            if one != other:
                less, more = sorted((one, other), key=lambda pattern: len(asking[pattern].rows))
                yield from asking[more].turns(asking[less].rows)
                yield from asking[one].turns(others[other])
                yield from asking[other].turns(others[one])


class _Queue:
    """Rows that take turns with each other, in the order of a line."""

    def __init__(self, spans: Sequence[Span], rows: list[int]) -> None:
        self.rows = rows
        self._spans = spans
        self._by_start = sorted((spans[row][0], row) for row in rows)
        self._by_end = sorted((spans[row][1], row) for row in rows)

    def turns(self, others: Iterable[int]) -> Iterator[Arc]:
        """From the last here that ends before each of the others, and to the first that starts behind it."""
        for other in others if self.rows else ():
            start, end = self._spans[other]
            before = bisect_left(self._by_end, (start, -1))
            if before > 0:
                yield self._by_end[before - 1][1], other
            behind = bisect_right(self._by_start, (end, len(self._spans)))
            if behind < len(self.rows):
                yield other, self._by_start[behind][1]


def _by_row(outline: Outline, arcs: set[Arc]) -> list[tuple[int, ...]]:
    """The arcs of each row, without those that a group around it has already."""
    found: list[tuple[int, ...]] = [()] * len(outline.paths)
    for earlier, row in sorted(arcs):
        around = outline.parents[row]
        while around != ROOT and (earlier, around) not in arcs:
            around = outline.parents[around]
        if around == ROOT:
            found[row] += (earlier,)
    return found
