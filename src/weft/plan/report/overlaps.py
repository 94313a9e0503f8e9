"""Subplans that expect to change the same files, or files that used to change together; what separates them."""

from collections.abc import Sequence
from enum import StrEnum
from functools import partial

from msgspec import Struct

from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.language.reader import Reader
from weft.plan.loader.steps_check import place
from weft.plan.model import Plan
from weft.plan.order.overlap import Overlap, ordered_pairs, overlaps
from weft.plan.order.points import After, Points
from weft.plan.report.companions import Companions, FilePair, Rows, companions
from weft.plan.report.counts import turns_of
from weft.plan.text.document import Node
from weft.plan.text.problems import Problem

MOST_WARNINGS = 5
"""The most pairs with a warning of their own; one more warning counts the rest."""


class Apart(StrEnum):
    """What keeps two subplans from running together."""

    NOTHING = "nothing"
    DEPENDS_ON = "depends_on"
    SERIALIZE = "serialize"
    MAX_PARALLEL = "max_parallel"
    """Only one slice runs at a time."""
    SERIAL = "serial"
    """Both are under one serial policy: they alternate, step by step."""


class OverlapPair(Struct, frozen=True, kw_only=True):
    """Two subplans that expect to change the same files."""

    first: str
    second: str
    shared: tuple[tuple[str, str], ...]
    """Pairs of patterns, one of each subplan, that can match the same file."""
    apart: Apart
    more: int = 0
    """The number of further such pairs."""

    def to_json(self) -> dict[str, object]:
        return {
            "first": self.first,
            "second": self.second,
            "shared": [list(patterns) for patterns in self.shared],
            "kept_apart_by": self.apart.value,
        }


class OverlapReport(Struct, frozen=True, kw_only=True):
    """All overlaps of a plan."""

    pairs: tuple[OverlapPair, ...]
    """The pairs; those that may run together come first."""
    more: bool
    """Whether there may be more pairs."""
    warnings: tuple[Problem, ...]
    companions: tuple[Companions, ...] = ()
    """Subplans that may run together and share no file, but have files that used to change together."""

    def to_json(self) -> dict[str, object]:
        return {
            "pairs": [pair.to_json() for pair in self.pairs],
            "more": self.more,
            "companions": [pair.to_json() for pair in self.companions],
        }


def overlap_report(
    compiled: CompiledPlan, after: After, at_once: int, history: Sequence[FilePair] = ()
) -> OverlapReport:
    """Returns the overlaps of a plan in which at most `at_once` slices run at once."""
    plan = compiled.plan
    files = [subplan.files for subplan in plan.subplans]
    overlapping = overlaps(plan.outline, files, after)
    # Pairs that only `serialize` keeps apart are not ordered by the plan alone.
    in_plan = overlapping if not after else overlaps(plan.outline, files)
    waiting = {(pair.first, pair.second) for pair in in_plan.pairs if pair.ordered}
    separation = _Separation(
        plan, waiting, at_once, turns_of(compiled) if overlapping.pairs or history else ()
    )
    separated = [(pair, separation.apart(pair)) for pair in overlapping.pairs]
    separated.sort(key=lambda entry: entry[1] is not Apart.NOTHING)
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
            for pair, apart in separated
        ),
        more=overlapping.more,
        warnings=_warnings(plan, [pair for pair, apart in separated if apart is Apart.NOTHING]),
        companions=companions(plan, history, partial(separation.together, after)),
    )


class _Separation(Struct, frozen=True):
    """Decides what keeps two subplans from running together."""

    plan: Plan
    ordered: set[tuple[int, int]]
    """Pairs in which one waits for the other, according to the plan."""
    at_once: int
    turns: Sequence[int]

    def apart(self, pair: Overlap) -> Apart:
        if (pair.first, pair.second) in self.ordered:
            return Apart.DEPENDS_ON
        settings = [self.plan.scopes[row].settings for row in (pair.first, pair.second)]
        # A group may have passed its files to its parts; then they are kept apart, not the whole group.
        if pair.ordered or any(row_settings.overlap == "serialize" for row_settings in settings):
            return Apart.SERIALIZE
        if self.at_once == 1:
            return Apart.MAX_PARALLEL
        return Apart.SERIAL if self._take_turns(pair.first, pair.second) else Apart.NOTHING

    def together(self, after: After, pairs: Sequence[Rows]) -> list[Rows]:
        """Returns the pairs that nothing keeps apart, whatever their files."""
        if self.at_once == 1:
            return []
        apart = ordered_pairs(Points(self.plan.outline, after), pairs)
        return [pair for pair in pairs if pair not in apart and not self._take_turns(*pair)]

    def _take_turns(self, first: int, second: int) -> bool:
        return self.turns[first] >= 0 and self.turns[first] == self.turns[second]


def _warnings(plan: Plan, pairs: Sequence[Overlap]) -> tuple[Problem, ...]:
    reader = Reader(plan.document)
    before = len(reader.problems)
    for pair in pairs[:MOST_WARNINGS]:
        first, second = plan.outline.paths[pair.first], plan.outline.paths[pair.second]
        reader.warn(_node(plan, pair), f"{first} and {second} may run together, and {_shared(pair)}")
    if len(pairs) > MOST_WARNINGS:
        rest = pairs[MOST_WARNINGS:]
        counted = "1 more pair" if len(rest) == 1 else f"{len(rest):,} more pairs"
        reader.warn(_node(plan, rest[0]), f"{counted} of subplans may run together and touch the same files")
    return tuple(reader.problems[before:])


def _node(plan: Plan, pair: Overlap) -> Node:
    return place(plan.subplans[pair.second].source, "files")


def _shared(pair: Overlap) -> str:
    first, second = pair.shared[0]
    if first == second and not set(first) & set("*?["):
        return f"both own {first}"
    return (
        f"both expect to touch {first}" if first == second else f"{first} and {second} can be the same file"
    )
