"""The sums over replications. Tallies of different processes can be added."""

from collections import Counter

from msgspec import Struct, field

from weft.forecast.run_outcome import RunOutcome

_UNIT = 1_000_000_000
"""Sums are whole numbers of such parts, so that they do not depend on the order in which pieces arrive."""


def _whole(value: float) -> int:
    return round(value * _UNIT)


class PoolTally(Struct):
    """The use of a pool, as sums of the shares of each replication."""

    busy_units: int = 0
    waiting_units: int = 0

    @property
    def busy(self) -> float:
        """Tokens in use, on average over a replication."""
        return self.busy_units / _UNIT

    @property
    def waiting(self) -> float:
        """Seconds that requests waited for it."""
        return self.waiting_units / _UNIT

    def add(self, busy: float, waiting: float) -> None:
        self.busy_units += _whole(busy)
        self.waiting_units += _whole(waiting)

    def merge(self, other: "PoolTally") -> None:
        self.busy_units += other.busy_units
        self.waiting_units += other.waiting_units


class SliceTally(Struct):
    """Sums of seconds, of their squares and of their products with the makespan, without the night's factor."""

    seconds_units: int = 0
    squares_units: int = 0
    products_units: int = 0

    @property
    def seconds(self) -> float:
        return self.seconds_units / _UNIT

    @property
    def squares(self) -> float:
        return self.squares_units / _UNIT

    @property
    def products(self) -> float:
        return self.products_units / _UNIT

    def add(self, seconds: float, makespan: float) -> None:
        self.seconds_units += _whole(seconds)
        self.squares_units += _whole(seconds * seconds)
        self.products_units += _whole(seconds * makespan)

    def merge(self, other: "SliceTally") -> None:
        self.seconds_units += other.seconds_units
        self.squares_units += other.squares_units
        self.products_units += other.products_units


class Tally(Struct, kw_only=True):
    """Everything that a forecast needs to know about its replications."""

    seconds: dict[int, float] = field(default_factory=dict[int, float])
    """The makespans, by the number of the replication, for comparisons of pairs."""
    costs: list[int] = field(default_factory=list[int])
    unpriced: int = 0
    """Agent calls with an unknown cost, in all replications."""
    failed: set[int] = field(default_factory=set[int])
    """The numbers of the replications that did not complete."""
    ceilings: int = 0
    pools: dict[str, PoolTally] = field(default_factory=dict[str, PoolTally])
    paths: Counter[tuple[str, ...]] = field(default_factory=Counter[tuple[str, ...]])
    slices: dict[str, SliceTally] = field(default_factory=dict[str, SliceTally])
    """The work of each subplan."""
    makespan: SliceTally = field(default_factory=SliceTally)
    bounds: list[float] = field(default_factory=list[float])
    """The lower bound of each replication."""
    is_interrupted: bool = False
    """Whether a person ended the replications early."""

    @property
    def runs(self) -> int:
        return len(self.costs)

    def add(self, number: int, outcome: RunOutcome, path: tuple[str, ...], bound: float) -> None:
        """Adds the outcome of a replication; `path` is the chain of slices that ended last."""
        total = outcome.seconds
        self.seconds[number] = total
        self.costs.append(outcome.cost)
        self.unpriced += outcome.unpriced
        if not outcome.is_completed:
            self.failed.add(number)
        self.ceilings += outcome.meets_ceiling
        self.paths[path] += 1
        for name, use in outcome.pools.items():
            pool = self.pools.setdefault(name, PoolTally())
            pool.add(use.busy / total if total else 0.0, use.waiting)
        self.bounds.append(bound)
        # No estimate can predict the night, so the factor that all steps have in common is left out.
        plain = total / outcome.night
        self.makespan.add(plain, plain)
        for slice_, seconds in outcome.works.items():
            work = self.slices.get(slice_)
            if work is None:
                work = self.slices[slice_] = SliceTally()
            work.add(seconds / outcome.night, plain)

    def merge(self, other: "Tally") -> None:
        """Adds the tally of other replications."""
        self.seconds |= other.seconds
        self.costs += other.costs
        self.unpriced += other.unpriced
        self.failed |= other.failed
        self.ceilings += other.ceilings
        self.paths += other.paths
        self.bounds += other.bounds
        self.makespan.merge(other.makespan)
        for name, pool in other.pools.items():
            self.pools.setdefault(name, PoolTally()).merge(pool)
        for path, work in other.slices.items():
            self.slices.setdefault(path, SliceTally()).merge(work)
