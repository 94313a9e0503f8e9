"""Sums of the spending of steps. Running steps report totals, so each report is turned into a difference."""

from msgspec import Struct

from weft.engine.messages.facts import EarlierSpending
from weft.engine.messages.run_events import CostUnknownEvent

Amounts = tuple[int, int]
"""Micro-dollars and tokens."""
Execution = tuple[int, int]
"""The firing and the number of its execution."""


class Charges(Struct):
    """The amounts that count for or against a plan's ceilings, beside what its present run spends."""

    earlier: EarlierSpending = EarlierSpending()
    """Spent by earlier runs of the plan."""
    uncounted: Amounts = (0, 0)
    """Spent by this run before its budget was reset."""
    unreported: Amounts = (0, 0)
    """Reserved for agent calls of this run that did not report their cost."""

    def add_unreported(self, event: CostUnknownEvent) -> None:
        """Adds the reservation that stays for an agent call without a cost."""
        money, tokens = self.unreported
        self.unreported = (money + event.reserved, tokens + event.reserved_tokens)


class Totals:
    def __init__(self) -> None:
        self._reports: dict[Execution, Amounts] = {}

    def __bool__(self) -> bool:
        """Whether a running execution has reported its spending."""
        return bool(self._reports)

    def of(self, execution: Execution) -> Amounts:
        """Returns the last report of a running execution."""
        return self._reports.get(execution, (0, 0))

    def all(self) -> Amounts:
        """Returns the sum of the reports of all running executions."""
        return sum(cost for cost, _ in self._reports.values()), sum(
            tokens for _, tokens in self._reports.values()
        )

    def more(
        self, execution: Execution, cost: int | None, tokens: int | None, *, ended: bool = False
    ) -> Amounts:
        """Records a new total and returns its difference to the last one, which may be negative.

        None stands for a total that is unknown; the last one then stays valid.
        """
        before = self._reports.pop(execution, (0, 0))
        # A step that was killed often ends without a report; its last one then stands.
        total = (before[0] if cost is None else cost, before[1] if tokens is None else tokens)
        if not ended:
            self._reports[execution] = total
        return total[0] - before[0], total[1] - before[1]
