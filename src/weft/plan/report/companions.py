"""Subplans with different files that used to change together: a change of one file may well need the other.

The history is a list of pairs of files. A file belongs to the subplans with a pattern that matches it. Only
subplans that may run together and have no common file are counted; all others are reported elsewhere.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice, product

from msgspec import Struct

from weft.plan.model import Plan
from weft.plan.order.globs import WILDCARD, intersects, matches
from weft.plan.order.outline import ROOT

MOST_PAIRS = 1_000
"""The most pairs of subplans that are reported."""
MOST_FILES = 3
"""The most pairs of files that are reported for each; the others are counted."""
MOST_STEPS = 200_000
"""The most pairs that are examined."""

Rows = tuple[int, int]


class FilePair(Struct, frozen=True):
    """Two files that changed together."""

    first: str
    second: str
    times: int
    """The number of commits that changed both."""

    def to_json(self) -> dict[str, object]:
        return {"files": [self.first, self.second], "commits": self.times}


class Companions(Struct, frozen=True, kw_only=True):
    """Two subplans with files that used to change together."""

    first: str
    second: str
    files: tuple[FilePair, ...]
    """The pairs that changed together most often; the first file of each belongs to the first subplan."""
    more: int
    """The number of further pairs of files."""

    def to_json(self) -> dict[str, object]:
        return {
            "first": self.first,
            "second": self.second,
            "changed_together": [pair.to_json() for pair in self.files],
            "more": self.more,
        }


def owners(plan: Plan, files: Collection[str]) -> dict[str, list[int]]:
    """Returns, for each of the files that a subplan expects to change, the rows of these subplans."""
    rows_by_file: dict[str, list[int]] = {}
    names = sorted(files)
    for row, subplan in enumerate(plan.subplans):
        if row != ROOT:
            for file in dict.fromkeys(name for glob in subplan.files for name in _matching(glob, names)):
                rows_by_file.setdefault(file, []).append(row)
    return rows_by_file


def _matching(glob: str, names: Sequence[str]) -> Iterator[str]:
    """Yields the names that match. Only names that start like the pattern are examined."""
    beginning = WILDCARD.split(glob, maxsplit=1)[0]
    for number in range(bisect_left(names, beginning), len(names)):
        if not names[number].startswith(beginning):
            return
        if matches(glob, names[number]):
            yield names[number]


def companions(
    plan: Plan, history: Sequence[FilePair], together: Callable[[Sequence[Rows]], Collection[Rows]]
) -> tuple[Companions, ...]:
    """Returns the companions, those that changed together most often first.

    `together` selects the pairs of rows that may run at once.
    """
    if not history:
        return ()
    owned = owners(plan, {file for pair in history for file in (pair.first, pair.second)})
    file_pairs: dict[Rows, list[FilePair]] = {}
    is_unrelated: dict[Rows, bool] = {}
    # A file can belong to many subplans, so the pairs are limited.
    for rows, pair in islice(_pairs(history, owned), MOST_STEPS):
        if rows not in is_unrelated:
            is_unrelated[rows] = _are_unrelated(plan, rows)
        if is_unrelated[rows]:
            file_pairs.setdefault(rows, []).append(pair)
    # The order of the plan is asked once, for all pairs together.
    chosen = together(list(file_pairs)) if file_pairs else ()
    reports = [_describe(plan, rows, file_pairs[rows]) for rows in sorted(chosen)]
    return tuple(sorted(reports, key=lambda report: -report.files[0].times)[:MOST_PAIRS])


def _pairs(history: Iterable[FilePair], owned: dict[str, list[int]]) -> Iterator[tuple[Rows, FilePair]]:
    for pair in history:
        for first, second in product(owned.get(pair.first, ()), owned.get(pair.second, ())):
            if first < second:
                yield (first, second), pair
            elif first > second:
                yield (second, first), FilePair(pair.second, pair.first, pair.times)


def _are_unrelated(plan: Plan, rows: Rows) -> bool:
    """Returns whether neither subplan contains the other, and no file matches both."""
    first, second = rows
    if second in plan.outline.below(first):
        return False
    globs = product(plan.subplans[first].files, plan.subplans[second].files)
    return not any(intersects(left, right) for left, right in globs)


def _describe(plan: Plan, rows: Rows, pairs: Sequence[FilePair]) -> Companions:
    by_times = sorted(pairs, key=lambda pair: -pair.times)
    return Companions(
        first=plan.outline.paths[rows[0]],
        second=plan.outline.paths[rows[1]],
        files=tuple(by_times[:MOST_FILES]),
        more=max(0, len(by_times) - MOST_FILES),
    )
