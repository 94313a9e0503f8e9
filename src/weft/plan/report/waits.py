"""Which slices can start right away and what the others wait for; the longest chain; the total time."""

from collections.abc import Sequence
from itertools import chain

from msgspec import Struct

from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.compile.priorities import weight
from weft.plan.model import Plan
from weft.plan.order.points import After, longest_path
from weft.plan.report.profiles import Profile

Minutes = tuple[float, float]
"""The lowest and the highest estimate."""


class WaitingSlice(Struct, frozen=True):
    """A slice that cannot start right away."""

    path: str
    blocked_by: tuple[str, ...]
    """Its dependencies, then those of the groups around it."""
    apart_from: tuple[str, ...]
    """The subplans it is kept apart from because their files overlap."""

    @property
    def reason(self) -> str:
        reasons = [f"blocked by {', '.join(self.blocked_by)}"] if self.blocked_by else []
        if self.apart_from:
            reasons.append(f"waits for {', '.join(self.apart_from)} (overlap)")
        return "; ".join(reasons)


class PlanEligibility(Struct, frozen=True, kw_only=True):
    """Which slices can start, by the plan alone; the results of earlier runs are not considered."""

    eligible: tuple[str, ...]
    ineligible: tuple[WaitingSlice, ...]


def eligibility(compiled: CompiledPlan) -> PlanEligibility:
    outline = compiled.plan.outline
    paths, parents, leaves = outline.paths, outline.parents, outline.leaves
    blocked: list[tuple[str, ...]] = []
    apart: list[tuple[str, ...]] = []
    eligible: list[str] = []
    ineligible: list[WaitingSlice] = []
    for row, path in enumerate(paths):
        depends_on, after = outline.depends_on[row], compiled.after[row]
        outer_blocked = blocked[parents[row]] if row else ()
        outer_apart = apart[parents[row]] if row else ()
        blocked.append(
            (*[paths[target] for target in depends_on], *outer_blocked) if depends_on else outer_blocked
        )
        apart.append((*[paths[earlier] for earlier in after], *outer_apart) if after else outer_apart)
        if leaves[row] and (blocked[row] or apart[row]):
            ineligible.append(WaitingSlice(path, blocked[row], apart[row]))
        elif leaves[row]:
            eligible.append(path)
    return PlanEligibility(eligible=tuple(eligible), ineligible=tuple(ineligible))


class CriticalPath(Struct, frozen=True, kw_only=True):
    """The longest chain of slices."""

    slices: tuple[str, ...]
    minutes: Minutes | None
    """The sum of the estimates on it; None if there are none."""
    unestimated: int
    """The slices on it without an estimate; each counts as one minute in the comparison."""

    def to_json(self) -> dict[str, object]:
        return {
            "slices": list(self.slices),
            "minutes": None if self.minutes is None else list(self.minutes),
            "unestimated": self.unestimated,
        }


class Makespan(Struct, frozen=True, kw_only=True):
    """Bounds for the duration of a run."""

    estimated: int
    """The number of slices with an estimate."""
    best: float | None
    """Minutes if every first attempt succeeds in its shortest time. None without any estimate."""
    worst: float | None
    """Minutes if slices run one by one, with all attempts, each as long as possible. None if an estimate is
    missing."""

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
        # Every attempt of the busiest step, each as long as the highest estimate.
        worst += high * profile.attempts if profile is not None else 0.0
    return Makespan(
        estimated=len(spans),
        # Neither the longest chain nor the work per slot can be beaten.
        best=max(longest, sum(lows) / at_once),
        worst=worst if len(spans) == sum(plan.outline.leaves) else None,
    )


def minutes_of(plan: Plan, row: int) -> Minutes | None:
    estimate = plan.subplans[row].estimate
    return None if estimate is None else estimate.minutes


def extra_order(compiled: CompiledPlan) -> After:
    """Returns the rows that must end first besides dependencies; `()` if no row has any."""
    return compiled.after if any(chain.from_iterable(compiled.after)) else ()
