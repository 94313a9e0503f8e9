"""Subplans that own different files which used to change together: who changes one may well need the other.

The history is given as pairs of files. They belong to the subplans whose `files` mean them; counted are subplans
that may run together and whose patterns have no file in common, as all others are told of elsewhere.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice, product

from msgspec import Struct

from weft.plan.model import Plan
from weft.plan.order.globs import WILDCARD, intersects, matches
from weft.plan.order.outline import ROOT

MOST_PAIRS = 1_000
"""So many pairs of subplans are told."""
MOST_FILES = 3
"""So many pairs of files for each of them; the others are counted."""
MOST_STEPS = 200_000
"""So many are looked at."""

Rows = tuple[int, int]


class FilePair(Struct, frozen=True):
    first: str
    second: str
    times: int
    """How many commits touched both."""

    def to_json(self) -> dict[str, object]:
        return {"files": [self.first, self.second], "commits": self.times}


class Companions(Struct, frozen=True, kw_only=True):
    first: str
    second: str
    files: tuple[FilePair, ...]
    """Those that changed together most often; the first of each is one of the first subplan."""
    more: int
    """Pairs of files that are not told."""

    def to_json(self) -> dict[str, object]:
        return {
            "first": self.first,
            "second": self.second,
            "changed_together": [pair.to_json() for pair in self.files],
            "more": self.more,
        }


def owners(plan: Plan, files: Collection[str]) -> dict[str, list[int]]:
    """For each of the files that a subplan expects to touch, the rows of those that do."""
    found: dict[str, list[int]] = {}
    names = sorted(files)
    for row, subplan in enumerate(plan.subplans):
        if row != ROOT:
            for file in dict.fromkeys(name for glob in subplan.files for name in _meant(glob, names)):
                found.setdefault(file, []).append(row)
    return found


def _meant(glob: str, names: Sequence[str]) -> Iterator[str]:
    """Only those are looked at that begin as the pattern does."""
    beginning = WILDCARD.split(glob, maxsplit=1)[0]
    for number in range(bisect_left(names, beginning), len(names)):
        if not names[number].startswith(beginning):
            return
        if matches(glob, names[number]):
            yield names[number]


def companions(
    plan: Plan, history: Sequence[FilePair], together: Callable[[Sequence[Rows]], Collection[Rows]]
) -> tuple[Companions, ...]:
    """Those that changed together most often first; `together` chooses the pairs of rows that may run at once."""
    if not history:
        return ()
    owned = owners(plan, {file for pair in history for file in (pair.first, pair.second)})
    found: dict[Rows, list[FilePair]] = {}
    strangers: dict[Rows, bool] = {}
    for rows, pair in islice(_pairs(history, owned), MOST_STEPS):
        if rows not in strangers:
            strangers[rows] = _are_strangers(plan, rows)
        if strangers[rows]:
            found.setdefault(rows, []).append(pair)
    chosen = together(list(found)) if found else ()
    told = [_told(plan, rows, found[rows]) for rows in sorted(chosen)]
    return tuple(sorted(told, key=lambda one: -one.files[0].times)[:MOST_PAIRS])


def _pairs(history: Iterable[FilePair], owned: dict[str, list[int]]) -> Iterator[tuple[Rows, FilePair]]:
    for pair in history:
        for one, other in product(owned.get(pair.first, ()), owned.get(pair.second, ())):
            if one < other:
                yield (one, other), pair
            elif one > other:
                yield (other, one), FilePair(pair.second, pair.first, pair.times)


def _are_strangers(plan: Plan, rows: Rows) -> bool:
    """Whether neither is in the other, and no file is meant by both."""
    first, second = rows
    if second in plan.outline.below(first):
        return False
    globs = product(plan.subplans[first].files, plan.subplans[second].files)
    return not any(intersects(one, other) for one, other in globs)


def _told(plan: Plan, rows: Rows, pairs: Sequence[FilePair]) -> Companions:
    by_times = sorted(pairs, key=lambda pair: -pair.times)
    return Companions(
        first=plan.outline.paths[rows[0]],
        second=plan.outline.paths[rows[1]],
        files=tuple(by_times[:MOST_FILES]),
        more=max(0, len(by_times) - MOST_FILES),
    )
