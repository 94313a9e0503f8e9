"""The money and tokens that a run has spent, has reserved and may spend, as views and JSON show them."""

from msgspec import Struct

from weft.app.views.run_view import RunView
from weft.plan.order.outline import ROOT
from weft.terms import MICRO


class Costs(Struct, frozen=True, kw_only=True):
    """Amounts of a run, in micro-dollars and in tokens."""

    cost: int = 0
    """The reported cost."""
    reserved: int = 0
    """Reservations of running steps, minus what they have reported."""
    unreported: int = 0
    """Reservations kept for calls that did not report their cost, those of earlier runs included."""
    ceiling: int | None = None
    unknown: int = 0
    """Number of ended agent calls that did not report their cost."""
    tokens: int = 0
    reserved_tokens: int = 0
    unreported_tokens: int = 0
    token_ceiling: int | None = None
    earlier: int = 0
    """The spending of earlier runs that counts against the ceiling."""
    earlier_tokens: int = 0
    earlier_unknown: int = 0
    uncounted: int = 0
    """The spending of this run before the budget was reset."""
    uncounted_tokens: int = 0

    @property
    def counted(self) -> int:
        """The amount that counts against the ceiling."""
        return self.cost - self.uncounted + self.earlier

    @property
    def counted_tokens(self) -> int:
        return self.tokens - self.uncounted_tokens + self.earlier_tokens

    def to_json(self) -> dict[str, float | int | None]:
        return {
            "usd": self.cost / MICRO,
            "reserved_usd": self.reserved / MICRO,
            "unreported_usd": self.unreported / MICRO,
            "ceiling_usd": None if self.ceiling is None else self.ceiling / MICRO,
            "unknown": self.unknown,
            "tokens": self.tokens,
            "reserved_tokens": self.reserved_tokens,
            "unreported_tokens": self.unreported_tokens,
            "ceiling_tokens": self.token_ceiling,
            "earlier_usd": self.earlier / MICRO,
            "earlier_tokens": self.earlier_tokens,
            "earlier_unknown": self.earlier_unknown,
            "counted_usd": self.counted / MICRO,
            "counted_tokens": self.counted_tokens,
        }


def costs_of(view: RunView) -> Costs:
    """Returns the amounts of the whole run."""
    whole, settings = view.rows[ROOT], view.plan.scopes[ROOT].settings
    reserved = reserved_tokens = 0
    for _, step in view.under_way():
        cost, tokens = view.totals.of((step.firing, step.execution))
        reserved += max(0, step.reserved[0] - cost)
        reserved_tokens += max(0, step.reserved[1] - tokens)
    return Costs(
        cost=whole.cost,
        reserved=reserved,
        unreported=view.charges.unreported[0] + view.charges.earlier.assumed,
        ceiling=settings.budget,
        unknown=whole.unknown_costs,
        tokens=whole.tokens,
        reserved_tokens=reserved_tokens,
        unreported_tokens=view.charges.unreported[1] + view.charges.earlier.assumed_tokens,
        token_ceiling=settings.budget_tokens,
        earlier=view.charges.earlier.cost,
        earlier_tokens=view.charges.earlier.tokens,
        earlier_unknown=view.charges.earlier.unknown,
        uncounted=view.charges.uncounted[0],
        uncounted_tokens=view.charges.uncounted[1],
    )
