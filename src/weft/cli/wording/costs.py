"""What a run costs, in a few words."""

from collections.abc import Iterator

from weft.app.views.costs import Costs, costs_of
from weft.app.views.run_view import RunView
from weft.cli.wording.words import roughly, spent
from weft.plan.order.outline import ROOT
from weft.plan.prices import dollars


def cost_words(view: RunView) -> Iterator[str]:
    """As `$1.25 of $20.00, $0.40 reserved`; and the same of tokens, if they have a ceiling."""
    costs, known = costs_of(view), spent(view.rows[ROOT])
    if costs.ceiling is None and known:
        yield known
    elif costs.ceiling is not None and (
        known or costs.reserved or costs.unreported or costs.earlier or costs.earlier_unknown
    ):
        yield _of_ceiling(costs, costs.ceiling)
    yield from token_words(costs)


def token_words(costs: Costs) -> Iterator[str]:
    if costs.token_ceiling is not None and (costs.counted_tokens or costs.reserved_tokens):
        kept = costs.reserved_tokens + costs.unreported_tokens
        reserved = f", {roughly(kept)} reserved" if kept else ""
        earlier = f" ({roughly(costs.earlier_tokens)} by earlier runs)" if costs.earlier_tokens else ""
        counted, ceiling = roughly(costs.counted_tokens), roughly(costs.token_ceiling)
        yield f"{counted} of {ceiling} tokens{earlier}{reserved}"


def _of_ceiling(costs: Costs, ceiling: int) -> str:
    """What is reserved, and what earlier runs spent, matters only where it may not fit."""
    unknown = costs.unknown + costs.earlier_unknown
    spent = f"{dollars(costs.counted)} + {unknown:,} unknown" if unknown else dollars(costs.counted)
    earlier = f" ({dollars(costs.earlier)} by earlier runs)" if costs.earlier else ""
    kept = costs.reserved + costs.unreported
    reserved = f", {dollars(kept)} reserved" if kept else ""
    return f"{spent} of {dollars(ceiling)}{earlier}{reserved}"
