"""Phrases for the cost of a run."""

from collections.abc import Iterator

from weft.app.views.costs import Costs, costs_of
from weft.app.views.run_view import RunView
from weft.app.views.wording.words import roughly, spent
from weft.plan.order.outline import ROOT
from weft.plan.prices import dollars


def cost_words(view: RunView) -> Iterator[str]:
    """Yields a phrase such as `$1.25 of $20.00, $0.40 reserved`, and another for tokens if they have a ceiling."""
    costs, spent_so_far = costs_of(view), spent(view.rows[ROOT])
    if costs.ceiling is None and spent_so_far:
        yield spent_so_far
    elif costs.ceiling is not None and (
        spent_so_far or costs.reserved or costs.unreported or costs.earlier or costs.earlier_unknown
    ):
        yield _of_ceiling(costs, costs.ceiling)
    yield from token_words(costs)


def token_words(costs: Costs) -> Iterator[str]:
    if costs.token_ceiling is not None and (costs.counted_tokens or costs.reserved_tokens):
        total_reserved = costs.reserved_tokens + costs.unreported_tokens
        reserved = f", {roughly(total_reserved)} reserved" if total_reserved else ""
        earlier = f" ({roughly(costs.earlier_tokens)} by earlier runs)" if costs.earlier_tokens else ""
        counted, ceiling = roughly(costs.counted_tokens), roughly(costs.token_ceiling)
        yield f"{counted} of {ceiling} tokens{earlier}{reserved}"


def _of_ceiling(costs: Costs, ceiling: int) -> str:
    """Returns the cost against a ceiling, with reservations and the cost of earlier runs."""
    unknown = costs.unknown + costs.earlier_unknown
    spent = f"{dollars(costs.counted)} + {unknown:,} unknown" if unknown else dollars(costs.counted)
    earlier = f" ({dollars(costs.earlier)} by earlier runs)" if costs.earlier else ""
    total_reserved = costs.reserved + costs.unreported
    reserved = f", {dollars(total_reserved)} reserved" if total_reserved else ""
    return f"{spent} of {dollars(ceiling)}{earlier}{reserved}"
