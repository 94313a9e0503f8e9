"""What a run costs, in a few words."""

from collections.abc import Iterator

from weft.app.run_costs import Costs, costs_of
from weft.app.run_view import RunView
from weft.cli.live.words import money, roughly, spent
from weft.plan.order.outline import ROOT


def cost_words(view: RunView) -> Iterator[str]:
    """As `$1.25 of $20.00, $0.40 reserved`; and the same of tokens, if they have a ceiling."""
    costs, known = costs_of(view), spent(view.rows[ROOT])
    if known or (costs.reserved and costs.ceiling is not None):
        yield f"{known or money(0)}{_of_ceiling(costs)}"
    yield from token_words(costs)


def token_words(costs: Costs) -> Iterator[str]:
    if costs.token_ceiling is not None and (costs.tokens or costs.reserved_tokens):
        reserved = f", {roughly(costs.reserved_tokens)} reserved" if costs.reserved_tokens else ""
        yield f"{roughly(costs.tokens)} of {roughly(costs.token_ceiling)} tokens{reserved}"


def _of_ceiling(costs: Costs) -> str:
    """What is reserved matters only where it may not fit."""
    if costs.ceiling is None:
        return ""
    reserved = f", {money(costs.reserved)} reserved" if costs.reserved else ""
    return f" of {money(costs.ceiling)}{reserved}"
