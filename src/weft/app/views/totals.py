"""Sums of what steps spend, of which totals are heard while they run: nothing is counted twice."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from weft.engine.messages.facts import EarlierSpending

Amounts = tuple[int, int]
"""Micro-dollars, and tokens."""
Execution = tuple[int, int]
"""The firing, and which execution of it."""


class Charges(Struct):
    """The amounts that count for or against a plan's ceilings, beside what its present run spends."""

    earlier: EarlierSpending = EarlierSpending()
    """Spent by earlier runs of the plan."""
    uncounted: Amounts = (0, 0)
    """Spent by this run before its budget was reset."""
    unreported: Amounts = (0, 0)
    """Reserved for agent calls of this run that did not report their cost."""

    def add_unreported(self, data: Mapping[str, Any]) -> None:
        """Adds the reservation that an event `cost_unknown` names."""
        money, tokens = self.unreported
        self.unreported = (money + data.get("reserved", 0), tokens + data.get("reserved_tokens", 0))


class Totals:
    def __init__(self) -> None:
        self._heard: dict[Execution, Amounts] = {}

    def __bool__(self) -> bool:
        """Whether anything was heard of what is under way."""
        return bool(self._heard)

    def of(self, execution: Execution) -> Amounts:
        """What was heard of one that is under way."""
        return self._heard.get(execution, (0, 0))

    def all(self) -> Amounts:
        """The same of all that are under way."""
        return sum(cost for cost, _ in self._heard.values()), sum(
            tokens for _, tokens in self._heard.values()
        )

    def more(
        self, execution: Execution, cost: int | None, tokens: int | None, *, ended: bool = False
    ) -> Amounts:
        """What has come by another total, which may be less than nothing; None is a total that is not known."""
        before = self._heard.pop(execution, (0, 0))
        total = (before[0] if cost is None else cost, before[1] if tokens is None else tokens)
        if not ended:
            self._heard[execution] = total
        return total[0] - before[0], total[1] - before[1]
