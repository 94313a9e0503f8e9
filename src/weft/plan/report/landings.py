"""How often results are verified before they land.

A result is verified together with all others that are ready at that moment. So each result needs at most one
verify, and up to `merge.batch` results share one. A failed verify, or a target that moves meanwhile, needs
further ones, which no bound can predict.
"""

from msgspec import Struct

from weft.plan.model import Plan
from weft.plan.order.outline import ROOT


class LandingVerifies(Struct, frozen=True, kw_only=True):
    """The number of verify runs before landings."""

    results: int
    """Slices or top-level subplans that land."""
    batch: int
    """The most results that share a verify."""

    @property
    def at_most(self) -> int:
        """The most verify runs, as long as each passes and nothing else moves the target."""
        return self.results

    @property
    def at_least(self) -> int:
        return -(-self.results // self.batch)

    def to_json(self) -> dict[str, object]:
        return {
            "results": self.results,
            "batch": self.batch,
            "at_least": self.at_least,
            "at_most": self.at_most,
        }


def landing_verifies(plan: Plan) -> LandingVerifies | None:
    """Returns the bounds; None if no result lands, or none has to pass a verify."""
    results = sum(_lands(plan, row) for row in range(ROOT + 1, len(plan.subplans)))
    if not results or not any(subplan.verify for subplan in plan.subplans):
        return None
    return LandingVerifies(results=results, batch=plan.scopes[ROOT].settings.merge_batch)


def _lands(plan: Plan, row: int) -> bool:
    settings, outline = plan.scopes[row].settings, plan.outline
    if not settings.has_branch:
        return False
    return outline.leaves[row] if settings.merge_when == "slice" else outline.parents[row] == ROOT
