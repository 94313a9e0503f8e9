"""Which slices can start at once and what the others wait for; the longest chain; how long it all takes."""

from collections.abc import Sequence
from itertools import chain

from msgspec import Struct

from weft.plan.compile.compiled import CompiledPlan
from weft.plan.compile.priorities import weight
from weft.plan.model import Plan
from weft.plan.order.points import After, longest_path
from weft.plan.report.profiles import Profile

Minutes = tuple[float, float]
"""Low and high."""


class Waiting(Struct, frozen=True):
    """A slice that cannot start at once."""

    path: str
    blocked_by: tuple[str, ...]
    """What it depends on, then what the groups around it depend on."""
    apart_from: tuple[str, ...]
    """What it is kept apart from, since their files overlap."""

    @property
    def reason(self) -> str:
        reasons = [f"blocked by {', '.join(self.blocked_by)}"] if self.blocked_by else []
        if self.apart_from:
            reasons.append(f"waits for {', '.join(self.apart_from)} (overlap)")
        return "; ".join(reasons)


class Eligibility(Struct, frozen=True, kw_only=True):
    """By the plan alone; what earlier runs have done is not counted."""

    eligible: tuple[str, ...]
    ineligible: tuple[Waiting, ...]


def eligibility(compiled: CompiledPlan) -> Eligibility:
    outline = compiled.plan.outline
    paths, parents, leaves = outline.paths, outline.parents, outline.leaves
    blocked: list[tuple[str, ...]] = []
    apart: list[tuple[str, ...]] = []
    eligible: list[str] = []
    ineligible: list[Waiting] = []
    for row, path in enumerate(paths):
        depends_on, after = outline.depends_on[row], compiled.after[row]
        around = blocked[parents[row]] if row else ()
        kept = apart[parents[row]] if row else ()
        blocked.append((*[paths[one] for one in depends_on], *around) if depends_on else around)
        apart.append((*[paths[one] for one in after], *kept) if after else kept)
        if leaves[row] and (blocked[row] or apart[row]):
            ineligible.append(Waiting(path, blocked[row], apart[row]))
        elif leaves[row]:
            eligible.append(path)
    return Eligibility(eligible=tuple(eligible), ineligible=tuple(ineligible))


class CriticalPath(Struct, frozen=True, kw_only=True):
    slices: tuple[str, ...]
    minutes: Minutes | None
    """Of those on it that have an estimate; None if none has."""
    unestimated: int
    """How many on it have none; each counts as one minute against the others."""

    def to_json(self) -> dict[str, object]:
        return {
            "slices": list(self.slices),
            "minutes": None if self.minutes is None else list(self.minutes),
            "unestimated": self.unestimated,
        }


class Makespan(Struct, frozen=True, kw_only=True):
    estimated: int
    """Slices that have an estimate."""
    best: float | None
    """Minutes: every first attempt succeeds, in its shortest time. None without any estimate."""
    worst: float | None
    """Minutes: one slice after the other, all attempts, each as long as can be. None if an estimate is missing."""

    def to_json(self) -> dict[str, object]:
        return {"estimated": self.estimated, "best_minutes": self.best, "worst_minutes": self.worst}


def critical_path(plan: Plan, after: After) -> CriticalPath:
    _, rows = longest_path(plan.outline, [weight(subplan) for subplan in plan.subplans], after)
    spans = [span for row in rows if (span := minutes_of(plan, row)) is not None]
    return CriticalPath(
        slices=tuple(plan.outline.paths[row] for row in rows),
        minutes=(sum(low for low, _ in spans), sum(high for _, high in spans)) if spans else None,
        unestimated=len(rows) - len(spans),
    )


def makespan(plan: Plan, after: After, profiles: Sequence[Profile | None], at_once: int) -> Makespan:
    spans = {row: span for row in range(len(profiles)) if (span := minutes_of(plan, row)) is not None}
    if not spans:
        return Makespan(estimated=0, best=None, worst=None)
    lows = [spans[row][0] if row in spans else 0.0 for row in range(len(profiles))]
    longest, _ = longest_path(plan.outline, lows, after)
    worst = 0.0
    for row, (_, high) in spans.items():
        profile = profiles[row]
        worst += high * profile.attempts if profile is not None else 0.0
    return Makespan(
        estimated=len(spans),
        best=max(longest, sum(lows) / at_once),
        worst=worst if len(spans) == sum(plan.outline.leaves) else None,
    )


def minutes_of(plan: Plan, row: int) -> Minutes | None:
    estimate = plan.subplans[row].estimate
    return None if estimate is None else estimate.minutes


def extra_order(compiled: CompiledPlan) -> After:
    """What must have ended besides what a row depends on; `()` if that is nothing anywhere."""
    return compiled.after if any(chain.from_iterable(compiled.after)) else ()
