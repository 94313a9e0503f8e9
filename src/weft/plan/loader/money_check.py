"""Checks that each step can start: its reservation must fit under the ceilings around it."""

from collections.abc import Iterator

from weft.plan.model import Agent, AgentWork, Plan
from weft.plan.order.outline import ROOT
from weft.plan.prices import dollars


def never_affordable(plan: Plan, row: int, work: AgentWork, agent: Agent) -> str | None:
    """Returns the end of a sentence about a step that no ceiling of this slice has room for; None if it fits."""
    settings = plan.scopes[row].settings
    # The same order in which the engine decides how much to reserve.
    cost = _first_set(work.max_cost, agent.max_cost, settings.reserve)
    tokens = _first_set(work.max_tokens, agent.max_tokens, settings.reserve_tokens)
    for path, setting, ceiling in _ceilings(plan, row):
        in_tokens = setting.endswith(".tokens")
        amount = tokens if in_tokens else cost
        if amount > ceiling:
            show = _tokens if in_tokens else dollars
            where = path or "the plan"
            return (
                f"can never start: it reserves {show(amount)}, and the budget of {where} is {show(ceiling)}"
            )
    return None


def _first_set(*amounts: int | None) -> int:
    return next((amount for amount in amounts if amount is not None), 0)


def _ceilings(plan: Plan, row: int) -> Iterator[tuple[str, str, int]]:
    """Yields path, setting and amount of each ceiling of the row and of the groups around it, innermost first."""
    while row >= 0:
        for setting in ("budget", "budget.tokens"):
            ceiling, _ = plan.scopes[row].find(setting)
            # An inherited value is the ceiling of the group that sets it, not a second one for each subplan below.
            if ceiling is not None and (row == ROOT or setting in plan.subplans[row].settings):
                yield plan.outline.paths[row], setting, ceiling
        row = plan.outline.parents[row]


def _tokens(count: int) -> str:
    return f"{count:,} tokens"
