"""The use of a plan's ceilings by earlier runs, as `weft check` reports it."""

import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from weft.app.history.earlier_runs import earlier_runs
from weft.app.history.ledger import spent_by, total
from weft.engine.messages.facts import EarlierSpending
from weft.engine.state.ceilings import budgets_of, carry
from weft.errors import WeftError
from weft.plan.model import Plan
from weft.store.sqlite import open_reader
from weft.terms import MICRO


class CeilingUse(Struct, frozen=True, kw_only=True):
    """A ceiling on money or tokens, and the spending of earlier runs that counts against it."""

    path: str
    """The path of its subplan; empty for the whole plan."""
    unit: str
    """`usd` or `tokens`."""
    spent: int
    """Micro-dollars, or tokens."""
    ceiling: int
    unreported: int = 0
    """Reservations kept for agent calls that did not report their cost."""

    @property
    def left(self) -> int:
        return max(0, self.ceiling - self.spent - self.unreported)

    @property
    def is_used_up(self) -> bool:
        return not self.left

    def to_json(self) -> dict[str, object]:
        size = MICRO if self.unit == "usd" else 1
        return {
            "path": self.path,
            "unit": self.unit,
            "spent": self.spent / size if self.unit == "usd" else self.spent,
            "ceiling": self.ceiling / size if self.unit == "usd" else self.ceiling,
            "unreported": self.unreported / size if self.unit == "usd" else self.unreported,
        }


class EarlierRuns(Struct, frozen=True, kw_only=True):
    """The spending of earlier runs of a plan, as `weft check` reports it."""

    total: EarlierSpending = EarlierSpending()
    ceilings: tuple[CeilingUse, ...] = ()
    """The ceilings that earlier runs have used in part."""

    def to_json(self) -> dict[str, object]:
        return {
            "usd": self.total.cost / MICRO,
            "tokens": self.total.tokens,
            "unknown": self.total.unknown,
            "ceilings": [ceiling.to_json() for ceiling in self.ceilings],
        }


def read_earlier_runs(plan: Plan, journal: Path) -> EarlierRuns:
    """Reads the spending from a project's journal, which need not exist. Other checks report a broken journal."""
    if not os.path.lexists(journal):
        return EarlierRuns()
    try:
        with closing(open_reader(journal)) as reader:
            return earlier_runs_of(plan, spent_by(reader, earlier_runs(reader, plan.id)))
    # `weft check` must work without a usable journal: the spending is extra information there, and `weft doctor`
    # and `weft run` report the damage themselves.
    except WeftError:
        return EarlierRuns()


def earlier_runs_of(plan: Plan, spendings: Sequence[EarlierSpending]) -> EarlierRuns:
    budgets = budgets_of(plan)
    carry(plan, budgets, spendings)
    uses = (
        CeilingUse(
            path=path, unit=unit, spent=budget.spent[row], ceiling=ceiling, unreported=budget.assumed[row]
        )
        for row, path in enumerate(plan.outline.paths)
        for unit, budget in zip(("usd", "tokens"), budgets, strict=True)
        # A ceiling without any use yet is in the plan file for everyone to read; only a partly used one is news.
        if (ceiling := budget.ceiling(row)) is not None and budget.committed(row)
    )
    return EarlierRuns(total=total(spendings), ceilings=tuple(uses))
