"""The sums over replications. Tallies of different processes can be added."""

from collections import Counter

from msgspec import Struct, field

from weft.forecast.virtual_run import RunOutcome


class PoolTally(Struct):
    """The use of a pool, as sums of the shares of each replication."""

    busy: float = 0.0
    """Tokens in use, on average over a replication."""
    waiting: float = 0.0
    """Seconds that requests waited for it."""


class SliceTally(Struct):
    """Sums of seconds, of their squares and of their products with the makespan, without the night's factor."""

    seconds: float = 0.0
    squares: float = 0.0
    products: float = 0.0

    def add(self, seconds: float, makespan: float) -> None:
        self.seconds += seconds
        self.squares += seconds * seconds
        self.products += seconds * makespan

    def merge(self, other: "SliceTally") -> None:
        self.seconds += other.seconds
        self.squares += other.squares
        self.products += other.products


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
            pool.busy += use.busy / total if total else 0.0
            pool.waiting += use.waiting
        self.bounds.append(bound)
        # No estimate tells which night it will be, so what all steps have in common is left out.
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
            mine = self.pools.setdefault(name, PoolTally())
            mine.busy += pool.busy
            mine.waiting += pool.waiting
        for path, work in other.slices.items():
            self.slices.setdefault(path, SliceTally()).merge(work)
