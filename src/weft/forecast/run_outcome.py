"""The result of a replication."""

from collections.abc import Mapping

from msgspec import Struct


class PoolUse(Struct):
    """The use of a pool in a replication, in seconds times tokens."""

    busy: float = 0.0
    waiting: float = 0.0
    """The same for the requests that waited for it."""


class RunOutcome(Struct, frozen=True, kw_only=True):
    """The result of a replication."""

    seconds: float
    """From its start, or from now if the run is under way."""
    cost: int
    """In micro-dollars, as far as it is known."""
    unpriced: int
    """Agent calls with an unknown cost."""
    is_completed: bool
    meets_ceiling: bool
    pools: Mapping[str, PoolUse]
    ends: Mapping[int, float]
    """By row of a slice: when its last step ended."""
    works: Mapping[str, float]
    """The seconds of all executions of each slice, from now."""
    chains: Mapping[int, float]
    """By row of a slice: the seconds of its executions that followed each other, from now."""
    night: float = 1.0
    """The factor of all durations."""


def longest(branches: Mapping[tuple[int, str], float]) -> dict[int, float]:
    """Returns, by row, the longest of its branches, which run beside each other."""
    longest: dict[int, float] = {}
    for (row, _), seconds in branches.items():
        longest[row] = max(longest.get(row, 0.0), seconds)
    return longest
