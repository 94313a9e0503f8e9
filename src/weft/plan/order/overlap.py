"""Finds the subplans that may change the same files, and an order in which no two of them run together.

Two subplans overlap if a pattern of one crosses a pattern of the other and neither contains the other. There can
be as many such pairs as there are pairs of subplans, so they are never all listed: `overlaps` returns the first
of them, and `serial_predecessors` needs only the patterns that cross and, for each pattern, the rows that have it.

To keep overlapping subplans apart, all rows are put into one sequence that agrees with the plan's order, and each
pair is ordered as in that sequence, which cannot create a cycle. Rows with the same pattern form a chain. If two
patterns cross, each row with one pattern is put after the last row before it that has the other pattern, and
before the first such row behind it; the chains imply the rest. In the sequence, a group with files of its own is
contiguous, like a leaf. That can be impossible, if a part of the group waits for something that waits for another
part. Then the group passes its files to its parts, and they are kept apart from one another, too.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from sys import maxsize

from msgspec import Struct

from weft.plan.order.globs import MOST_CHECKS, coarser, crossings
from weft.plan.order.outline import ROOT, Outline
from weft.plan.order.points import After, Points, PointSequence, ended_before

MOST_SHARED = 100
"""At most this many pairs of patterns are listed for a pair of subplans; the rest are counted."""

Arc = tuple[int, int]
"""Two rows; the second starts after the first has ended."""
Span = tuple[int, int]
"""The positions in a sequence where a row starts and where it ends; for a leaf they are equal."""
Files = Sequence[tuple[str, ...]]
"""For each row, its own valid patterns, without those of the groups around it."""


class SearchLimits(Struct, frozen=True, kw_only=True):
    """SearchLimits of the search. Beyond them, the answer is less exact but never wrong."""

    pairs: int = 1_000
    """The most pairs of subplans that are returned."""
    steps: int = 1_000_000
    """The most pairs that are examined; a pair counts once for each two patterns that cross."""
    checks: int = MOST_CHECKS
    """The most pairs of patterns that are compared."""
    arcs: int = 200_000
    """If the rows that ask to be kept apart need more arcs, every row that overlaps them asks, too."""
    bits: int = 1 << 29
    """The most memory, in bits, for finding arcs that the plan's order already implies."""


LIMITS = SearchLimits()


class Overlap(Struct, frozen=True, kw_only=True):
    """Two subplans that may change the same files."""

    first: int
    second: int
    """Rows, in plan order."""
    shared: tuple[tuple[str, str], ...]
    """Patterns that cross: one of the first row, one of the second."""
    more: int = 0
    """The number of further such patterns."""
    ordered: bool
    """Whether the plan's order keeps the two apart: one can start only after the other has ended."""


class Overlaps(Struct, frozen=True, kw_only=True):
    pairs: tuple[Overlap, ...]
    more: bool
    """Whether a limit was reached, so that there may be more pairs."""


def overlaps(outline: Outline, files: Files, after: After = (), *, limits: SearchLimits = LIMITS) -> Overlaps:
    """Returns the pairs of subplans that overlap, in plan order."""
    owners = _Owners(files, limits.checks)
    shared: dict[tuple[int, int], list[tuple[str, str]]] = {}
    unnamed: dict[tuple[int, int], int] = {}
    more = not owners.complete
    for steps, (pair, patterns) in enumerate(owners.pairs(outline.sizes)):
        # The number of pairs is quadratic in the worst case, for example if all subplans say `**`.
        if steps == limits.steps or (len(shared) == limits.pairs and pair not in shared):
            more = True
            break
        listed = shared.setdefault(pair, [])
        if len(listed) < MOST_SHARED:
            listed.append(patterns)
        else:
            unnamed[pair] = unnamed.get(pair, 0) + 1
    in_order = ordered_pairs(Points(outline, after), list(shared)) if shared else set[tuple[int, int]]()
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
    """The patterns of a plan, the rows that have each pattern, and the pairs of patterns that cross."""

    def __init__(self, files: Files, most_checks: int) -> None:
        by_pattern: dict[str, list[int]] = {}
        for row, patterns in enumerate(files):
            if patterns and row != ROOT:  # the whole plan contains all other rows, so it overlaps none
                for pattern in dict.fromkeys(patterns):
                    by_pattern.setdefault(pattern, []).append(row)
        self.patterns = list(by_pattern)
        self.rows = list(by_pattern.values())
        """In plan order."""
        crossing = crossings(self.patterns, most_checks)
        self.complete = crossing.complete
        shared = [(number, number) for number, rows in enumerate(self.rows) if len(rows) > 1]
        self.crossing = shared + crossing.pairs
        """Pairs of pattern numbers that cross; a pattern that several rows have is paired with itself."""

    def pairs(self, sizes: Sequence[int]) -> Iterator[tuple[tuple[int, int], tuple[str, str]]]:
        """Yields each pair of rows, once for each two patterns.

        In plan order the first ends before the second starts.
        """
        for a, b in self.crossing:
            for left, right in dict.fromkeys(((a, b), (b, a))):
                patterns, later = (self.patterns[left], self.patterns[right]), self.rows[right]
                for first in self.rows[left]:
                    # Rows are in plan order, and everything below `first` is the range after it: the search starts
                    # behind that range, as a group does not overlap its own parts.
                    for position in range(bisect_left(later, first + sizes[first]), len(later)):
                        yield (first, later[position]), patterns


def ordered_pairs(points: Points, pairs: Sequence[tuple[int, int]]) -> set[tuple[int, int]]:
    """Returns the pairs in which one row can start only after the other has ended."""
    rows = list(dict.fromkeys(chain.from_iterable(pairs)))
    bits = {row: 1 << number for number, row in enumerate(rows)}
    ended = ended_before(points, rows)
    return {
        (first, second)
        for first, second in pairs
        if ended[2 * second] & bits[first] or ended[2 * first] & bits[second]
    }


def serial_predecessors(
    outline: Outline,
    files: Files,
    serialize: Sequence[bool],
    after: After = (),
    *,
    limits: SearchLimits = LIMITS,
) -> list[tuple[int, ...]]:
    """Returns, for each row, the rows that must end first, so that overlapping rows never run together.

    A pair is kept apart if one of the two asks for it. The outline must have no cycle, and gets none. If there
    are too many patterns to compare, each is taken to match everything below its directory.
    """
    exclusion = _Exclusion(outline, files, serialize, limits)
    if not exclusion.any():
        return [()] * len(outline.paths)
    points = Points(outline, after)
    sequence = PointSequence(outline, points, exclusion.groups())
    # Each round passes files down one level, so this ends at the leaves.
    while stuck := sequence.stuck():
        exclusion.hand_down(stuck)
        sequence = PointSequence(outline, points, exclusion.groups())
    arcs = exclusion.arcs(sequence, points.ends)
    # Arcs that the plan's order implies are dropped, if the bit sets fit into memory.
    if len(points.later) * len(set(chain.from_iterable(arcs))) <= limits.bits:
        arcs -= ordered_pairs(points, list(arcs))
    return _by_row(outline, arcs)


class _Exclusion:
    """The rows that must not run at the same time as others."""

    def __init__(self, outline: Outline, files: Files, asks: Sequence[bool], limits: SearchLimits) -> None:
        self._outline = outline
        self._limits = limits
        self._files = list(files)
        self._asks = list(asks)
        self._find_crossings()

    def _find_crossings(self) -> None:
        self._owners = _Owners(self._files, self._limits.checks)
        if not self._owners.complete:
            # Coarser patterns keep more subplans apart than necessary, but never fewer.
            self._files = [tuple(map(coarser, patterns)) for patterns in self._files]
            self._owners = _Owners(self._files, maxsize)
        is_asked = [any(self._asks[row] for row in rows) for rows in self._owners.rows]
        self._crossing = [(a, b) for a, b in self._owners.crossing if is_asked[a] or is_asked[b]]
        self._involved = sorted(set(chain.from_iterable(self._crossing)))

    def any(self) -> bool:
        return bool(self._crossing)

    def groups(self) -> set[int]:
        """Returns the groups that must be contiguous."""
        rows = chain.from_iterable(self._owners.rows[pattern] for pattern in self._involved)
        return {row for row in rows if not self._outline.leaves[row]}

    def hand_down(self, groups: set[int]) -> None:
        """Passes the files of these groups to their parts."""
        for group in sorted(groups):
            for child in self._outline.children(group):
                self._files[child] += self._files[group]
                self._asks[child] |= self._asks[group]
            self._files[group] = ()
        self._find_crossings()

    def arcs(self, sequence: PointSequence, ends: Sequence[int]) -> set[Arc]:
        """Returns arcs that order the rows as in the sequence."""
        position_of = {point: position for position, point in enumerate(sequence.order)}
        spans = [(position_of[2 * row], position_of[end]) for row, end in enumerate(ends)]
        arcs = list(islice(self._arcs(spans), self._limits.arcs + 1))
        # If every row asks, a chain per pattern is enough, and the number of arcs is linear.
        if len(arcs) > self._limits.arcs:
            for pattern in self._involved:
                for row in self._owners.rows[pattern]:
                    self._asks[row] = True
            arcs = list(self._arcs(spans))
        return set(arcs)

    def _arcs(self, spans: Sequence[Span]) -> Iterator[Arc]:
        asking: dict[int, _RowSequence] = {}
        silent: dict[int, list[int]] = {}
        for pattern in self._involved:
            rows = self._owners.rows[pattern]
            sequence = asking[pattern] = _RowSequence(spans, [row for row in rows if self._asks[row]])
            silent[pattern] = [row for row in rows if not self._asks[row]]
            yield from sequence.arcs_to(rows)
        for a, b in self._crossing:
            if a != b:
                # The shorter list asks the longer one, so that a binary search replaces a scan.
                less, more = sorted((a, b), key=lambda pattern: len(asking[pattern].rows))
                yield from asking[more].arcs_to(asking[less].rows)
                yield from asking[a].arcs_to(silent[b])
                yield from asking[b].arcs_to(silent[a])


class _RowSequence:
    """Rows in the order of a sequence. No two of them may run at the same time."""

    def __init__(self, spans: Sequence[Span], rows: list[int]) -> None:
        self.rows = rows
        self._spans = spans
        self._by_start = sorted((spans[row][0], row) for row in rows)
        self._by_end = sorted((spans[row][1], row) for row in rows)

    def arcs_to(self, rows: Iterable[int]) -> Iterator[Arc]:
        """Yields arcs from the last of this sequence before each of the rows, and to the first behind it."""
        for row in rows if self.rows else ():
            start, end = self._spans[row]
            before = bisect_left(self._by_end, (start, -1))
            if before > 0:
                yield self._by_end[before - 1][1], row
            behind = bisect_right(self._by_start, (end, len(self._spans)))
            if behind < len(self.rows):
                yield row, self._by_start[behind][1]


def _by_row(outline: Outline, arcs: set[Arc]) -> list[tuple[int, ...]]:
    """Returns the arcs by row, without those that a group around the row already has."""
    earlier_rows: list[tuple[int, ...]] = [()] * len(outline.paths)
    for earlier, row in sorted(arcs):
        group = outline.parents[row]
        while group != ROOT and (earlier, group) not in arcs:
            group = outline.parents[group]
        if group == ROOT:
            earlier_rows[row] += (earlier,)
    return earlier_rows
