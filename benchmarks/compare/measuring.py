"""How it is measured: CPU, not the clock on the wall; rivals in turn, so that noise meets both."""

import gc
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import process_time

Measured = Callable[[], float]
"""Does its own preparation, then the work; returns what it cost for each unit."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured: all of it, or just enough to see that everything works."""

    quick: bool

    def __call__(self, full: int, quick: int) -> int:
        return quick if self.quick else full


def cpu(work: Callable[[], object]) -> float:
    gc.collect()
    before = process_time()
    work()
    return process_time() - before


def in_turn(rounds: int, *rivals: Measured) -> tuple[float, ...]:
    """The median cost of each, measured one after the other, round by round."""
    costs = [[rival() for rival in rivals] for _ in range(rounds)]
    return tuple(median(column) for column in zip(*costs, strict=True))


def micro(seconds: float) -> str:
    return f"{1e6 * seconds:,.2f} us"


def rate(seconds: float, what: str) -> str:
    return f"{1 / seconds:,.0f} {what}/s"
