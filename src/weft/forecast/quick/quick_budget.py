"""Ceilings in a quick run. It is given up when a step does not fit below one, or when one is reached.

Copies the rules of `engine.rules.expenses`. Without a ceiling, costs are only added up, and this is not used.
"""

from weft.engine.rules.expenses import ALL
from weft.engine.state.budget import Budget
from weft.engine.state.ceilings import budgets_of, carry
from weft.forecast.quick.quick_state import TroubleError
from weft.forecast.quick.quick_tables import QuickWork
from weft.forecast.start import Start
from weft.plan.model import Plan


class QuickBudget:
    """What agents have spent and reserved."""

    def __init__(self, plan: Plan, start: Start) -> None:
        self._scopes = plan.scopes
        self._budgets = budgets_of(plan)
        carry(plan, self._budgets, start.earlier)

    def would_wait(self, work: QuickWork) -> bool:
        """Returns whether an agent would have to wait for money that others have reserved."""
        over = self._over(work)
        return bool(over) and all(budget.reserved[row] for budget, row in over)

    def reserve(self, serial: int, work: QuickWork) -> None:
        """Reserves the money for an execution of an agent."""
        if self._over(work):
            raise TroubleError
        for budget, amount in zip(self._budgets, self._amounts(work), strict=True):
            budget.open(serial, work.branch[0], amount)

    def settle(self, serial: int, work: QuickWork, cost: int | None) -> None:
        """Counts the cost of an execution that has ended."""
        if work.agent is None and cost is None:
            return
        for budget, amount in zip(self._budgets, (cost, None), strict=True):
            if not budget.is_open(serial):
                budget.open(serial, work.branch[0], 0)
            budget.settle(serial, amount, kind=work.agent or "")
        for budget in self._budgets:
            for row, percent in budget.alerts():
                if percent >= ALL and self._scopes[row].settings.on_budget == "stop":
                    raise TroubleError

    def _amounts(self, work: QuickWork) -> tuple[int, ...]:
        assert work.agent is not None
        each = zip(self._budgets, work.limits, work.reserves, strict=True)
        return tuple(budget.estimate(work.agent, limit, reserve) for budget, limit, reserve in each)

    def _over(self, work: QuickWork) -> list[tuple[Budget, int]]:
        """Returns the ceilings that an execution of an agent would exceed, each with its row."""
        over: list[tuple[Budget, int]] = []
        for budget, amount in zip(self._budgets, self._amounts(work), strict=True):
            row = budget.fits(work.branch[0], amount)
            if row is not None:
                over.append((budget, row))
        return over
