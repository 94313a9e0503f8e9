"""The result of a refinement and its cost. A separate module, because `refine` is slow to import."""

from collections.abc import Callable

from msgspec import Struct

from weft.decompose.model import Limits, Part, Signals
from weft.plan.prices import dollars


class RefinementCost(Struct, frozen=True, kw_only=True):
    tries: int = 0
    seconds: float = 0.0
    tokens: int | None = 0
    """None if the agent does not report it."""
    cost: int | None = 0
    """In micro-dollars; None if it is not known."""

    def __add__(self, other: "RefinementCost") -> "RefinementCost":
        return RefinementCost(
            tries=self.tries + other.tries,
            seconds=self.seconds + other.seconds,
            tokens=_sum(self.tokens, other.tokens),
            cost=_sum(self.cost, other.cost),
        )

    def words(self) -> str:
        tokens = "tokens unknown" if self.tokens is None else f"{self.tokens:,} tokens"
        return f"{tokens}, {'cost unknown' if self.cost is None else dollars(self.cost)}"


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second


class Refinement(Struct, frozen=True, kw_only=True):
    agent: str
    model: str | None
    """None for the agent's default model."""
    questions: int
    renamed: int
    """Parts with a new id."""
    worded: int
    """Parts with a new title or prompt."""
    moved: int
    """Moved files."""
    spent: RefinementCost


Refine = Callable[[Part, Signals, Limits, str], tuple[Part, Refinement]]
"""Refines a tree for a goal; raises `WeftError` if it cannot."""
