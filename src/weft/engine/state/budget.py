"""What a run has spent and may still spend, over the rows of a plan: whole micro-dollars, or tokens.

Each row counts all that is below it, so an amount at one row is an amount at every group around it. A step
reserves what it may cost before it starts; what it is heard to have spent meanwhile takes the place of what was
reserved for it, and when it ends, what it did cost takes the place of both. As long as nothing costs more than was
reserved for it, what fits when it starts never takes any row past its ceiling.

A step that ends without a report of its cost may have cost all that was reserved for it, however it ended: done,
failed, stopped, cancelled, lost or limited. So that amount stays taken, and its next execution reserves another:
otherwise each stop and resume would spend the same amount again below the ceiling. It is not called spent.
"""

from bisect import insort
from collections.abc import Iterator, Sequence

from msgspec import Struct

ALERTS = (75, 90, 100)
"""Parts of a ceiling, in percent, at which people are told."""

ENOUGH = 3
"""So many costs of a kind must be known before more is inferred from them."""


class SettledCost(Struct, frozen=True):
    """What a step that has ended counts as."""

    amount: int = 0
    """What it cost; at least, if that is not known."""
    is_known: bool = True
    kept: int = 0
    """What stays reserved for it, as it did not report its cost."""

    @property
    def reported(self) -> int | None:
        """None if nothing at all is known."""
        return self.amount if self.is_known or self.amount else None


class Bill(Struct, frozen=True):
    """What an execution of an agent that has ended counts as, in money and in tokens."""

    money: SettledCost = SettledCost()
    tokens: SettledCost = SettledCost()


class _Account(Struct):
    """A step under way."""

    row: int
    estimate: int
    spent: int = 0
    """What it is known to have spent so far."""

    @property
    def reserved(self) -> int:
        return max(0, self.estimate - self.spent)


class Budget:
    """What is spent and reserved, and whether there is room for more."""

    def __init__(self, parents: Sequence[int], ceilings: Sequence[int | None]) -> None:
        """The parent of the whole is -1."""
        self._parents = parents
        self._ceilings = {row: ceiling for row, ceiling in enumerate(ceilings) if ceiling is not None}
        self._costs: dict[str, list[int]] = {}  # of each kind, sorted
        self._alerted = dict.fromkeys(self._ceilings, 0)  # how many of the alerts of a row were told
        self._alerts: list[tuple[int, int]] = []
        self._accounts: dict[int, _Account] = {}
        self.spent = [0] * len(parents)
        self.reserved = [0] * len(parents)
        self.assumed = [0] * len(parents)
        """What was reserved for steps that have ended and of which nobody knows what they cost."""
        self.unknown = [0] * len(parents)
        """How many steps have ended whose cost nobody knows; it is not in `spent`."""
        self._not_own = [0] * len(parents)
        """Of `spent`: what is not of this run. Negative if this run spent more before a reset."""
        self._unknown_not_own = 0

    def ceiling(self, row: int) -> int | None:
        return self._ceilings.get(row)

    def lowest_ceiling(self, row: int) -> int | None:
        """Of all that count what is spent at this row."""
        found = (self._ceilings.get(group) for group in self._around(row))
        return min((one for one in found if one is not None), default=None)

    def estimate(self, kind: str, most: int | None = None, default: int = 0) -> int:
        """What to reserve for a step: what it may cost at most, or what nine of ten of its kind did not pass.

        `default` is for where nothing is known of that.
        """
        if most is not None:
            return most
        costs = self._costs.get(kind, ())
        if len(costs) < ENOUGH:
            return default
        return costs[(len(costs) * 9 + 9) // 10 - 1]

    def fits(self, row: int, amount: int) -> int | None:
        """The innermost row whose ceiling would be passed; None if there is none.

        Where nothing is reserved in that row, waiting does not help. An amount of 0 is one that nobody knows: it
        does not fit where all is spent or reserved already.
        """
        least = amount or 1
        for group in self._around(row):
            ceiling = self._ceilings.get(group)
            if ceiling is not None and self.taken(group) + least > ceiling:
                return group
        return None

    def taken(self, row: int) -> int:
        return self.spent[row] + self.reserved[row] + self.assumed[row]

    # Earlier runs

    def carry(self, row: int, *, spent: int, assumed: int, unknown: int) -> None:
        """Counts what earlier runs spent at a row. Alerts about it were raised by those runs."""
        for group in self._around(row):
            self.spent[group] += spent
            self.assumed[group] += assumed
            self.unknown[group] += unknown
            self._not_own[group] += spent
            self._look_for_alerts(group)
        self._unknown_not_own += unknown
        self._alerts.clear()

    def reset(self) -> None:
        """Counts from zero; what is under way counts with all that it has spent."""
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
        """What this run spent, whatever counts against the ceilings."""
        return self.spent[row] - self._not_own[row]

    @property
    def own_unknown(self) -> int:
        """How many steps of this run have ended without a known cost."""
        return self.unknown[0] - self._unknown_not_own

    def earlier(self, row: int) -> int:
        """What counts at a row of what earlier runs spent."""
        return max(0, self._not_own[row])

    # A step, by a number of its own

    def open(self, step: int, row: int, amount: int) -> None:
        """A step starts, for which this is reserved."""
        self._accounts[step] = _Account(row, amount)
        for group in self._around(row) if amount else ():
            self.reserved[group] += amount

    def heard(self, step: int, total: int) -> None:
        """What a step under way has spent so far, all in all; that only ever grows."""
        account = self._accounts[step]
        more, before = total - account.spent, account.reserved
        if more <= 0:
            return
        account.spent = total
        self._change(account.row, more, account.reserved - before)

    def so_far(self, step: int) -> int:
        return self._accounts[step].spent

    def is_open(self, step: int) -> bool:
        return step in self._accounts

    def settle(self, step: int, cost: int | None, *, kind: str = "") -> SettledCost:
        """Counts a step that has ended; None is a cost that it did not report.

        `kind` is that of steps which may be expected to cost as much.
        """
        account = self._accounts.pop(step)
        kept = account.reserved if cost is None else 0
        known = account.spent if cost is None else cost
        self._change(account.row, known - account.spent, -account.reserved)
        if cost is None:
            for group in self._around(account.row):
                self.unknown[group] += 1
                self.assumed[group] += kept
        elif kind:
            insort(self._costs.setdefault(kind, []), cost)
        return SettledCost(known, is_known=cost is not None, kept=kept)

    def _change(self, row: int, spent: int, reserved: int) -> None:
        for group in self._around(row):
            self.spent[group] += spent
            self.reserved[group] += reserved
            self._look_for_alerts(group)

    # Alerts

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
