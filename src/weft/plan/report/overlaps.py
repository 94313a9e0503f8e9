"""Subplans that expect to touch the same files, or such as used to change together, and what keeps them apart."""

from collections.abc import Sequence
from enum import StrEnum
from functools import partial

from msgspec import Struct

from weft.plan.compile.compiled import CompiledPlan
from weft.plan.language.reader import Reader
from weft.plan.loading.steps_check import place
from weft.plan.model import Plan
from weft.plan.order.overlap import Overlap, ordered, overlaps
from weft.plan.order.points import After, Points
from weft.plan.report.companions import Companions, FilePair, Rows, companions
from weft.plan.report.counts import turns_of
from weft.plan.text.document import Node
from weft.plan.text.problems import Problem

MOST_WARNINGS = 5
"""So many pairs have a warning of their own; one more counts the rest."""


class Apart(StrEnum):
    """What keeps two subplans from running together."""

    NOTHING = "nothing"
    DEPENDS_ON = "depends_on"
    SERIALIZE = "serialize"
    MAX_PARALLEL = "max_parallel"
    """Only one slice is under way at a time."""
    SERIAL = "serial"
    """Both are under one serial policy: they take turns, step by step."""


class OverlapPair(Struct, frozen=True, kw_only=True):
    first: str
    second: str
    shared: tuple[tuple[str, str], ...]
    """Patterns that can mean the same file, one of each."""
    apart: Apart
    more: int = 0
    """How many more such patterns there are."""

    def to_json(self) -> dict[str, object]:
        return {
            "first": self.first,
            "second": self.second,
            "shared": [list(patterns) for patterns in self.shared],
            "kept_apart_by": self.apart.value,
        }


class OverlapReport(Struct, frozen=True, kw_only=True):
    pairs: tuple[OverlapPair, ...]
    """Those that may run together first."""
    more: bool
    """There are, or may be, more than these."""
    warnings: tuple[Problem, ...]
    companions: tuple[Companions, ...] = ()
    """Those that may run together and share no file, but own files that used to change together."""

    def to_json(self) -> dict[str, object]:
        return {
            "pairs": [pair.to_json() for pair in self.pairs],
            "more": self.more,
            "companions": [one.to_json() for one in self.companions],
        }


def overlap_report(
    compiled: CompiledPlan, after: After, at_once: int, history: Sequence[FilePair] = ()
) -> OverlapReport:
    plan = compiled.plan
    files = [subplan.files for subplan in plan.subplans]
    found = overlaps(plan.outline, files, after)
    in_plan = found if not after else overlaps(plan.outline, files)
    waiting = {(pair.first, pair.second) for pair in in_plan.pairs if pair.ordered}
    limits = _Limits(plan, waiting, at_once, turns_of(compiled) if found.pairs or history else ())
    judged = [(pair, limits.apart(pair)) for pair in found.pairs]
    judged.sort(key=lambda one: one[1] is not Apart.NOTHING)
    paths = plan.outline.paths
    return OverlapReport(
        pairs=tuple(
            OverlapPair(
                first=paths[pair.first],
                second=paths[pair.second],
                shared=pair.shared,
                apart=apart,
                more=pair.more,
            )
            for pair, apart in judged
        ),
        more=found.more,
        warnings=_warnings(plan, [pair for pair, apart in judged if apart is Apart.NOTHING]),
        companions=companions(plan, history, partial(limits.together, after)),
    )


class _Limits(Struct, frozen=True):
    plan: Plan
    ordered: set[tuple[int, int]]
    """Pairs of which one waits for the other, by the plan."""
    at_once: int
    turns: Sequence[int]

    def apart(self, pair: Overlap) -> Apart:
        if (pair.first, pair.second) in self.ordered:
            return Apart.DEPENDS_ON
        settings = [self.plan.scopes[row].settings for row in (pair.first, pair.second)]
        # A group may have handed its files down to its parts: they are kept apart then, not the group as a whole.
        if pair.ordered or any(one.overlap == "serialize" for one in settings):
            return Apart.SERIALIZE
        if self.at_once == 1:
            return Apart.MAX_PARALLEL
        return Apart.SERIAL if self._take_turns(pair.first, pair.second) else Apart.NOTHING

    def together(self, after: After, pairs: Sequence[Rows]) -> list[Rows]:
        """Those that nothing keeps apart, whatever files they own."""
        if self.at_once == 1:
            return []
        apart = ordered(Points(self.plan.outline, after), pairs)
        return [pair for pair in pairs if pair not in apart and not self._take_turns(*pair)]

    def _take_turns(self, first: int, second: int) -> bool:
        return self.turns[first] >= 0 and self.turns[first] == self.turns[second]


def _warnings(plan: Plan, pairs: Sequence[Overlap]) -> tuple[Problem, ...]:
    reader = Reader(plan.document)
    known = len(reader.problems)
    for pair in pairs[:MOST_WARNINGS]:
        first, second = plan.outline.paths[pair.first], plan.outline.paths[pair.second]
        reader.warn(_node(plan, pair), f"{first} and {second} may run together, and {_shared(pair)}")
    if len(pairs) > MOST_WARNINGS:
        rest = pairs[MOST_WARNINGS:]
        counted = "1 more pair" if len(rest) == 1 else f"{len(rest):,} more pairs"
        reader.warn(_node(plan, rest[0]), f"{counted} of subplans may run together and touch the same files")
    return tuple(reader.problems[known:])


def _node(plan: Plan, pair: Overlap) -> Node:
    return place(plan.subplans[pair.second].source, "files")


def _shared(pair: Overlap) -> str:
    one, other = pair.shared[0]
    if one == other and not set(one) & set("*?["):
        return f"both own {one}"
    return f"both expect to touch {one}" if one == other else f"{one} and {other} can be the same file"
