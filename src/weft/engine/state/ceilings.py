"""The budgets of a plan: its ceilings on money and on tokens, and what earlier runs spent of them."""

from collections.abc import Iterable, Sequence

from weft.engine.messages.facts import EarlierSpending
from weft.engine.state.budget import Budget
from weft.plan.model import Plan
from weft.plan.order.outline import ROOT

Budgets = tuple[Budget, Budget]
"""The budget in money and the budget in tokens."""


Ceilings = tuple[Sequence[int | None], Sequence[int | None]]
"""The ceilings of each row, in micro-dollars and in tokens; None where it has none of its own."""


def budgets_of(plan: Plan) -> Budgets:
    """Returns the budgets of a plan with nothing spent."""
    money, tokens = ceilings_of(plan)
    return Budget(plan.outline.parents, money), Budget(plan.outline.parents, tokens)


def ceilings_of(plan: Plan) -> Ceilings:
    return _ceilings(plan, "budget"), _ceilings(plan, "budget.tokens")


def _ceilings(plan: Plan, setting: str) -> list[int | None]:
    """Returns the ceiling of each row that sets one. That of the plan may come from the configuration."""
    return [
        plan.scopes[row].find(setting)[0] if row == ROOT or setting in subplan.settings else None
        for row, subplan in enumerate(plan.subplans)
    ]


def carry(plan: Plan, budgets: Budgets, earlier: Iterable[EarlierSpending]) -> None:
    """Adds the spending of earlier runs. That of a subplan that was removed counts for its former group."""
    rows = {str(path): row for row, path in enumerate(plan.outline.paths)}
    money, tokens = budgets
    for spending in earlier:
        path = spending.subplan
        while path not in rows:
            path = path.rpartition("/")[0]
        unknown = spending.unknown
        money.carry(rows[path], spent=spending.cost, assumed=spending.assumed, unknown=unknown)
        tokens.carry(rows[path], spent=spending.tokens, assumed=spending.assumed_tokens, unknown=unknown)
