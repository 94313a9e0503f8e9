"""How often results are verified before they land.

A result is verified together with all others that are ready then. So each result makes at most one verify
necessary, and `merge.batch` results or fewer share one. A verify that fails, or a target that moves meanwhile,
makes further ones necessary; those no bound can tell.
"""

from msgspec import Struct

from weft.plan.model import Plan
from weft.plan.order.outline import ROOT


class LandingVerifies(Struct, frozen=True, kw_only=True):
    results: int
    """Slices or top-level subplans that land."""
    batch: int
    """How many of them share a verify at most."""

    @property
    def at_most(self) -> int:
        """As long as each verify passes and nothing else moves the target."""
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
    """None if no result lands, or none has to pass a verify."""
    results = sum(_lands(plan, row) for row in range(ROOT + 1, len(plan.subplans)))
    if not results or not any(subplan.verify for subplan in plan.subplans):
        return None
    return LandingVerifies(results=results, batch=plan.scopes[ROOT].settings.merge_batch)


def _lands(plan: Plan, row: int) -> bool:
    settings, outline = plan.scopes[row].settings, plan.outline
    if not settings.has_branch:
        return False
    return outline.leaves[row] if settings.merge_when == "slice" else outline.parents[row] == ROOT
