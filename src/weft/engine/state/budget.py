"""The amounts that a run has spent and reserved, per row of the plan, in micro-dollars or tokens.

Each row includes everything below it: an amount at a row also counts at every group around it. A step reserves its
estimated cost before it starts. Spending reported while the step runs replaces a part of the reservation, and the
final cost replaces the rest. As long as no step costs more than its reservation, a step that fits when it starts
never takes a row past its ceiling.

A step that ends without reporting its cost may have spent its whole reservation, whatever its outcome. That
amount stays in `assumed`, and the next execution makes a reservation of its own. Otherwise each stop and
resume could spend the same amount again below the ceiling. Assumed amounts are not reported as spent.
"""

from bisect import insort
from collections.abc import Sequence

from msgspec import Struct

ALERTS = (75, 90, 100)
"""Percentages of a ceiling at which the run raises an alert."""

ENOUGH = 3
"""The number of known costs of a kind that an estimate needs."""


class SettledCost(Struct, frozen=True):
    """The amounts that count for a step that has ended."""

    amount: int = 0
    """The cost, or a lower bound if the cost is unknown."""
    is_known: bool = True
    kept: int = 0
    """The reservation that stays, because the step did not report its cost."""

    @property
    def reported(self) -> int | None:
        """The amount to report; None if nothing is known."""
        return self.amount if self.is_known or self.amount else None


class Bill(Struct, frozen=True):
    """The amounts that count for an ended execution of an agent, in money and in tokens."""

    money: SettledCost = SettledCost()
    tokens: SettledCost = SettledCost()


class _Account(Struct):
    """The estimate and the spending of a running step."""

    row: int
    estimate: int
    spent: int = 0
    """The reported spending so far."""

    @property
    def reserved(self) -> int:
        return max(0, self.estimate - self.spent)


class Budget:
    """The amounts spent and reserved per row, and the ceilings that limit them."""

    def __init__(self, parents: Sequence[int], ceilings: Sequence[int | None]) -> None:
        """`parents` holds the parent of each row, -1 for the plan itself."""
        self._parents = parents
        self._chains: dict[int, tuple[int, ...]] = {}
        self._ceilings = {row: ceiling for row, ceiling in enumerate(ceilings) if ceiling is not None}
        self._costs: dict[str, list[int]] = {}  # by kind, sorted
        self._alerted = dict.fromkeys(self._ceilings, 0)  # by row, how many of ALERTS were raised
        self._alerts: list[tuple[int, int]] = []
        self._accounts: dict[int, _Account] = {}
        self.spent = [0] * len(parents)
        self.reserved = [0] * len(parents)
        self.assumed = [0] * len(parents)
        """Reservations of steps that ended without reporting their cost."""
        self.unknown = [0] * len(parents)
        """The number of steps that ended with an unknown cost. Their cost is not in `spent`."""
        self._not_own = [0] * len(parents)
        """The part of `spent` that other runs spent. Negative if this run spent more before a reset."""
        self._unknown_not_own = 0

    @property
    def has_ceilings(self) -> bool:
        """Whether there is any ceiling."""
        return bool(self._ceilings)

    def ceiling(self, row: int) -> int | None:
        return self._ceilings.get(row)

    def lowest_ceiling(self, row: int) -> int | None:
        """Returns the lowest of the ceilings of a row and the groups around it."""
        ceilings = (self._ceilings.get(group) for group in self._around(row))
        return min((ceiling for ceiling in ceilings if ceiling is not None), default=None)

    def estimate(self, kind: str, most: int | None = None, default: int = 0) -> int:
        """Returns the amount to reserve for a step: its limit, or else the 90th percentile of its kind.

        Returns `default` while fewer than `ENOUGH` costs of the kind are known.
        """
        if most is not None:
            return most
        costs = self._costs.get(kind, ())
        if len(costs) < ENOUGH:
            return default
        return costs[(len(costs) * 9 + 9) // 10 - 1]

    def fits(self, row: int, amount: int) -> int | None:
        """Returns the innermost row whose ceiling the amount would exceed, or None.

        If that row has no reservations, waiting does not help. An amount of 0 means an unknown cost, which fits
        only where the ceiling is not yet reached.
        """
        if not self._ceilings:
            return None
        least = amount or 1
        for group in self._around(row):
            ceiling = self._ceilings.get(group)
            if ceiling is not None and self.committed(group) + least > ceiling:
                return group
        return None

    def committed(self, row: int) -> int:
        """Returns the amount that is not available any more: spent, reserved or assumed."""
        return self.spent[row] + self.reserved[row] + self.assumed[row]

    # Earlier runs

    def carry(self, row: int, *, spent: int, assumed: int, unknown: int) -> None:
        """Adds the spending of earlier runs at a row. Those runs have raised the alerts for it."""
        for group in self._around(row):
            self.spent[group] += spent
            self.assumed[group] += assumed
            self.unknown[group] += unknown
            self._not_own[group] += spent
            self._look_for_alerts(group)
        self._unknown_not_own += unknown
        self._alerts.clear()

    def reset(self) -> None:
        """Restarts the count at zero. Running steps count with everything that they have spent."""
        self._alerts.clear()
        own, unknown = [self.own(row) for row in range(len(self.spent))], self.own_unknown
        for counts in (self.spent, self.assumed, self.unknown):
            counts[:] = [0] * len(counts)
        self._alerted = dict.fromkeys(self._ceilings, 0)
        for account in self._accounts.values():
            for group in self._around(account.row):
                self.spent[group] += account.spent
                self._look_for_alerts(group)
        self._not_own = [counted - spent for counted, spent in zip(self.spent, own, strict=True)]
        self._unknown_not_own = -unknown

    def own(self, row: int) -> int:
        """Returns the spending of this run alone."""
        return self.spent[row] - self._not_own[row]

    @property
    def own_unknown(self) -> int:
        """The number of steps of this run that ended with an unknown cost."""
        return self.unknown[0] - self._unknown_not_own

    def earlier(self, row: int) -> int:
        """Returns the spending of earlier runs that counts at a row."""
        return max(0, self._not_own[row])

    # Steps, by the serial number of their firing

    def open(self, step: int, row: int, amount: int) -> None:
        """Reserves the amount for a step that starts."""
        self._accounts[step] = _Account(row, amount)
        for group in self._around(row) if amount else ():
            self.reserved[group] += amount

    def record(self, step: int, total: int) -> None:
        """Records the total that a running step has spent so far. A lower total than before is ignored."""
        account = self._accounts[step]
        more, before = total - account.spent, account.reserved
        if more <= 0:
            return
        account.spent = total
        self._change(account.row, more, account.reserved - before)

    def so_far(self, step: int) -> int:
        """Returns the reported spending of a running step."""
        return self._accounts[step].spent

    def is_open(self, step: int) -> bool:
        return step in self._accounts

    def settle(self, step: int, cost: int | None, *, kind: str = "") -> SettledCost:
        """Replaces the reservation of an ended step by its cost; None is an unreported cost.

        `kind` groups steps whose costs are expected to be similar; it is used for estimates.
        """
        account = self._accounts.pop(step)
        before, reserved = account.spent, account.reserved
        assumed = reserved if cost is None else 0
        spent = before if cost is None else cost
        if spent != before or reserved:
            self._change(account.row, spent - before, -reserved)
        if cost is None:
            for group in self._around(account.row):
                self.unknown[group] += 1
                self.assumed[group] += assumed
        elif kind:
            insort(self._costs.setdefault(kind, []), cost)
        return SettledCost(spent, is_known=cost is not None, kept=assumed)

    def _change(self, row: int, spent: int, reserved: int) -> None:
        for group in self._around(row):
            self.spent[group] += spent
            self.reserved[group] += reserved
            if self._ceilings:
                self._look_for_alerts(group)

    # Alerts

    def alerts(self) -> list[tuple[int, int]]:
        """Returns the alerts since the last call: rows, each with the percentage of its ceiling."""
        if not self._alerts:
            return []
        alerts, self._alerts = self._alerts, []
        return alerts

    def _look_for_alerts(self, row: int) -> None:
        ceiling = self._ceilings.get(row)
        if ceiling is None:
            return
        for percent in ALERTS[self._alerted[row] :]:
            if self.spent[row] * 100 < ceiling * percent:
                return
            self._alerted[row] += 1
            self._alerts.append((row, percent))

    def _around(self, row: int) -> tuple[int, ...]:
        """Returns the row and the groups around it, from the inside out."""
        chain = self._chains.get(row)
        if chain is None:
            groups = [row]
            while (parent := self._parents[groups[-1]]) >= 0:
                groups.append(parent)
            chain = self._chains[row] = tuple(groups)
        return chain
