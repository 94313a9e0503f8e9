"""The things that are leased from pools with values of their own, such as ports."""

from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush


class Leases:
    """Which values of each pool are free."""

    def __init__(self, values: Mapping[str, Sequence[str]]) -> None:
        self._values = {pool: tuple(things) for pool, things in values.items()}
        self._free = {pool: list(range(len(things))) for pool, things in values.items()}  # heaps
        self._taken: dict[tuple[str, str], list[int]] = {}  # a value may stand in a pool more than once

    def take(self, pool: str, count: int) -> tuple[str, ...]:
        """The first free ones, in the order of the plan."""
        free, values = self._free[pool], self._values[pool]
        if count > len(free):
            raise ValueError(f"{count} of the pool {pool!r} are wanted and only {len(free)} are free")
        numbers = [heappop(free) for _ in range(count)]
        for number in numbers:
            self._taken.setdefault((pool, values[number]), []).append(number)
        return tuple(values[number] for number in numbers)

    def give_back(self, pool: str, things: Iterable[str]) -> None:
        for thing in things:
            taken = self._taken.get((pool, thing))
            if not taken:
                raise ValueError(f"{thing!r} of the pool {pool!r} was not taken")
            heappush(self._free[pool], taken.pop())
