"""What a run has spent and may still spend: whole micro-dollars, over the rows of a plan.

Each row counts all that is below it, so an amount at one row is an amount at every group around it. A step
reserves what it may cost before it starts; when it ends, the reservation gives way to what it did cost. As long as
nothing costs more than was reserved for it, what fits when it starts never takes any row past its ceiling.
"""

from bisect import insort
from collections.abc import Iterator, Sequence

ALERTS = (75, 90, 100)
"""Parts of a ceiling, in percent, at which people are told."""

ENOUGH = 3
"""So many costs of a kind must be known before more is inferred from them."""


class Budget:
    """What is spent and reserved, and whether there is room for more."""

    def __init__(self, parents: Sequence[int], ceilings: Sequence[int | None], *, default: int = 0) -> None:
        """The parent of the whole is -1. `default` is reserved where nothing is known of what a step may cost."""
        self._parents = parents
        self._ceilings = {row: ceiling for row, ceiling in enumerate(ceilings) if ceiling is not None}
        self._default = default
        self._costs: dict[str, list[int]] = {}  # of each kind, sorted
        self._alerted = dict.fromkeys(self._ceilings, 0)  # how many of the alerts of a row were told
        self._alerts: list[tuple[int, int]] = []
        self.spent = [0] * len(parents)
        self.reserved = [0] * len(parents)
        self.unknown = [0] * len(parents)
        """How many steps have ended whose cost nobody knows; it is not in `spent`."""

    def estimate(self, kind: str, max_cost: int | None = None) -> int:
        """What to reserve for a step: what it may cost at most, or what nine of ten of its kind did not pass."""
        if max_cost is not None:
            return max_cost
        costs = self._costs.get(kind, ())
        if len(costs) < ENOUGH:
            return self._default
        return costs[(len(costs) * 9 + 9) // 10 - 1]

    def fits(self, row: int, amount: int) -> int | None:
        """The innermost row whose ceiling would be passed; None if there is none.

        Where nothing is reserved in that row, waiting does not help. An amount of 0 is one that nobody knows: it
        does not fit where all is spent or reserved already.
        """
        least = amount or 1
        for group in self._around(row):
            ceiling = self._ceilings.get(group)
            if ceiling is not None and self.spent[group] + self.reserved[group] + least > ceiling:
                return group
        return None

    def reserve(self, row: int, amount: int) -> None:
        for group in self._around(row):
            self.reserved[group] += amount

    def settle(self, row: int, reserved: int, cost: int | None, kind: str) -> None:
        """A step for which this was reserved has ended; None is a cost that nobody knows."""
        if reserved > self.reserved[row]:
            raise ValueError(f"row {row} has less than {reserved} micro-dollars reserved")
        for group in self._around(row):
            self.reserved[group] -= reserved
            self.spent[group] += cost or 0
            self.unknown[group] += cost is None
            self._look_for_alerts(group)
        if cost is not None:
            insort(self._costs.setdefault(kind, []), cost)

    def alerts(self) -> list[tuple[int, int]]:
        """Rows, each with the percentage of its ceiling that was spent since the last call; each is told once."""
        told, self._alerts = self._alerts, []
        return told

    def _look_for_alerts(self, row: int) -> None:
        ceiling = self._ceilings.get(row)
        if ceiling is None:
            return
        for percent in ALERTS[self._alerted[row] :]:
            if self.spent[row] * 100 < ceiling * percent:
                return
            self._alerted[row] += 1
            self._alerts.append((row, percent))

    def _around(self, row: int) -> Iterator[int]:
        """The row, and the groups around it from the inside out."""
        while row >= 0:
            yield row
            row = self._parents[row]
