"""What an agent has done to a tree of parts, and what it cost: light to load, unlike those who do it."""

from collections.abc import Callable

from msgspec import Struct

from weft.decompose.model import Limits, Part, Signals
from weft.plan.prices import dollars


class RefinementCost(Struct, frozen=True, kw_only=True):
    tries: int = 0
    seconds: float = 0.0
    tokens: int | None = 0
    """None if it is not told."""
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


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


class Refinement(Struct, frozen=True, kw_only=True):
    agent: str
    model: str | None
    """None if it is the agent's own."""
    questions: int
    renamed: int
    """Parts that have another id."""
    worded: int
    """Parts that were given a title or a prompt."""
    moved: int
    """Files."""
    spent: RefinementCost


Refine = Callable[[Part, Signals, Limits, str], tuple[Part, Refinement]]
"""Makes a tree better, knowing the goal; raises `WeftError` if it cannot."""
