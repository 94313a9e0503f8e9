"""Whether a step may ever start: what is reserved for it must fit under the ceilings around it."""

from collections.abc import Iterator

from weft.plan.model import Agent, AgentWork, Plan
from weft.plan.order.outline import ROOT
from weft.plan.prices import dollars


def too_dear(plan: Plan, row: int, work: AgentWork, agent: Agent) -> str | None:
    """Which ceiling a step of this slice can never fit under, if any; goes on a sentence about the step."""
    settings = plan.scopes[row].settings
    cost = next((one for one in (work.max_cost, agent.max_cost, settings.reserve) if one is not None), 0)
    tokens = next(
        (one for one in (work.max_tokens, agent.max_tokens, settings.reserve_tokens) if one is not None), 0
    )
    for path, setting, ceiling in _ceilings(plan, row):
        in_tokens = setting.endswith(".tokens")
        amount = tokens if in_tokens else cost
        if amount > ceiling:
            say = _tokens if in_tokens else dollars
            where = path or "the plan"
            return f"can never start: it reserves {say(amount)}, and the budget of {where} is {say(ceiling)}"
    return None


def _ceilings(plan: Plan, row: int) -> Iterator[tuple[str, str, int]]:
    """Of the row and the groups around it, from the inside out."""
    while row >= 0:
        for setting in ("budget", "budget.tokens"):
            ceiling, _ = plan.scopes[row].find(setting)
            if ceiling is not None and (row == ROOT or setting in plan.subplans[row].settings):
                yield plan.outline.paths[row], setting, ceiling
        row = plan.outline.parents[row]


def _tokens(count: int) -> str:
    return f"{count:,} tokens"
