"""How many agent calls a plan can make at most, and what they can cost.

Money is counted in whole micro-dollars. A subtree with a budget of its own never counts for more than the budget,
and a call without a price inside it is no longer unknown. What remains unknown is reported as such.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from weft.plan.model import Plan
from weft.plan.order.outline import ROOT
from weft.plan.report.profiles import Profile


class AgentCalls(Struct, frozen=True, kw_only=True):
    """The most agent calls of a plan."""

    at_most: int
    worst_slice: str
    """The first of the slices with the most calls."""
    worst: int
    worst_slices: int
    """The number of slices with that many calls."""

    def to_json(self) -> dict[str, object]:
        return {
            "at_most": self.at_most,
            "worst_slice": self.worst_slice or None,
            "worst": self.worst,
            "worst_slices": self.worst_slices,
        }


class Spend(Struct, frozen=True, kw_only=True):
    """The most that a plan can spend."""

    worst: int | None
    """Micro-dollars; None if unknown."""
    unpriced: int
    """Agent steps that make it unknown: they have no `max_cost`, and no budget above them."""
    limited_by: str
    """What the amount follows from."""
    unreserved: int = 0
    """Agent steps below a ceiling without a reservation: they have neither `max_cost` nor `reserve`."""

    def to_json(self) -> dict[str, object]:
        return {
            "worst_micro_dollars": self.worst,
            "unpriced_steps": self.unpriced,
            "limited_by": self.limited_by or None,
            "unreserved_steps": self.unreserved,
        }


def agent_calls(plan: Plan, profiles: Sequence[Profile | None]) -> AgentCalls:
    calls = [0 if profile is None else profile.calls for profile in profiles]
    worst = max(calls)
    return AgentCalls(
        at_most=sum(calls),
        worst=worst,
        worst_slice=plan.outline.paths[calls.index(worst)] if worst else "",
        worst_slices=calls.count(worst) if worst else 0,
    )


def spend(plan: Plan, profiles: Sequence[Profile | None]) -> Spend:
    cost = [0 if profile is None else profile.cost for profile in profiles]
    unpriced = [0 if profile is None else profile.unpriced for profile in profiles]
    budgets, parents = _budgets(plan), plan.outline.parents
    # Before the loop, which changes `unpriced`.
    unreserved = _count_unreserved(plan, budgets, unpriced)
    reached: set[int] = set()
    for row in range(len(profiles) - 1, -1, -1):  # parts before their group
        budget = budgets.get(row)
        if budget is not None and (unpriced[row] or cost[row] > budget):
            # Under a budget even calls without a price cost no more than it.
            cost[row], unpriced[row] = budget, 0
            reached.add(row)
        if row != ROOT:
            cost[parents[row]] += cost[row]
            unpriced[parents[row]] += unpriced[row]
    # One call without a bound makes the sum unknown. A sum of the other calls would look like a bound and be
    # none.
    if unpriced[ROOT]:
        return Spend(worst=None, unpriced=unpriced[ROOT], limited_by="", unreserved=unreserved)
    limited_by = _limit(plan, reached, cost[ROOT])
    return Spend(worst=cost[ROOT], unpriced=0, limited_by=limited_by, unreserved=unreserved)


def _count_unreserved(plan: Plan, budgets: Mapping[int, int], unpriced: Sequence[int]) -> int:
    limited: list[bool] = []
    for row, parent in enumerate(plan.outline.parents):
        # A group comes before its parts, so the entry of the parent exists already.
        limited.append(row in budgets or (row != ROOT and limited[parent]))
    return sum(
        count
        for row, count in enumerate(unpriced)
        if count and limited[row] and plan.scopes[row].settings.reserve is None
    )


def _budgets(plan: Plan) -> Mapping[int, int]:
    """Returns the ceilings by row. One from the command line or a configuration belongs to the plan."""
    budgets = {
        row: subplan.settings["budget"]
        for row, subplan in enumerate(plan.subplans)
        if "budget" in subplan.settings
    }
    whole = plan.scopes[ROOT].settings.budget
    return budgets if whole is None else budgets | {ROOT: whole}


def _limit(plan: Plan, reached: set[int], worst: int) -> str:
    if ROOT in reached:
        _, origin = plan.scopes[ROOT].find("budget")
        return _ORIGINS.get(origin.where, f"the budget of {origin.where}")
    if reached:
        return (
            "budgets of subplans" if len(reached) > 1 else f"the budget of {plan.outline.paths[min(reached)]}"
        )
    return "max_cost" if worst else ""


_ORIGINS = {where: f"the {where}'s budget" for where in ("plan", "project", "user")}
