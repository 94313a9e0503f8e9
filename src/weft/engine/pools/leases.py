"""Leases of values from pools whose tokens have values, such as ports."""

from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush


class Leases:
    """The free and the leased values of each pool."""

    def __init__(self, values: Mapping[str, Sequence[str]]) -> None:
        self._values = {pool: tuple(pool_values) for pool, pool_values in values.items()}
        self._free = {pool: list(range(len(pool_values))) for pool, pool_values in values.items()}  # heaps
        self._taken: dict[tuple[str, str], list[int]] = {}  # a value may stand in a pool more than once

    def take(self, pool: str, count: int) -> tuple[str, ...]:
        """Leases and returns the first free values, in plan order."""
        free, values = self._free[pool], self._values[pool]
        if count > len(free):
            raise ValueError(f"pool {pool!r} has {len(free)} free values, but {count} are requested")
        numbers = [heappop(free) for _ in range(count)]
        for number in numbers:
            self._taken.setdefault((pool, values[number]), []).append(number)
        return tuple(values[number] for number in numbers)

    def give_back(self, pool: str, values: Iterable[str]) -> None:
        """Returns leased values to the pool."""
        for value in values:
            numbers = self._taken.get((pool, value))
            if not numbers:
                raise ValueError(f"{value!r} of the pool {pool!r} was not taken")
            heappush(self._free[pool], numbers.pop())
