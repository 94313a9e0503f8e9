"""Makespans of forecasts against those of SimPy, which knows nothing of nets.

The judge has its own idea of a plan: slices that claim slots, steps that claim a pool, and one rule for what is
served first, the longest path behind a slice and then the order of the plan. The random plans stay where that is
the whole rule: a slice that waits for a pool lends its slots to others, so slots and pools are scarce in different
plans; and fewer slices wait than make one impatient.
"""

import os
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import log
from random import Random
from statistics import NormalDist

import pytest
import simpy

from forecast.rehearsals import Data, group, leaf, rehearsal, work
from weft.forecast.replications import Rehearsal

Claims = dict[str, int]
_MINUTE = 60.0

PLANS, RANDOM_PLANS = (40, 3) if os.environ.get("WEFT_EXAMPLES") == "gate" else (150, 8)
"""Plans of each kind with fixed and with random durations; the gate, where time is short, tries fewer."""


# Random plans


@dataclass
class Slice:
    path: str
    row: int
    steps: list[tuple[float, str | None]]
    """Minutes, and the pool."""
    spread: float = 1.0
    limits: list[str] = field(default_factory=list)
    """The groups around it that have a `max_parallel`."""
    after: set[str] = field(default_factory=set)
    """The slices that must end before it starts."""


class Drawer:
    """Draws a plan, as data for us and as slices for the judge."""

    def __init__(self, seed: int, *, pools: bool, spread: float = 1.0) -> None:
        self.random = random = Random(seed)
        self.spread = spread
        self.pools = {f"p{number}": random.randint(1, 2) for number in range(2)} if pools else {}
        self.slices: list[Slice] = []
        self.sizes: dict[str, int] = dict(self.pools)
        self._row = 0
        self._left = 12
        self.width = 50 if pools else random.randint(1, 4)
        self.sizes["slots"] = self.width
        self.data = self._level("", ["slots"], set(), 0)

    def _level(self, prefix: str, limits: list[str], after: set[str], depth: int) -> list[Data]:
        random = self.random
        made: list[tuple[Data, set[str]]] = []
        while self._left > 0 and (len(made) < 2 or random.random() < 0.7):
            name = f"s{len(made)}"
            before = [each for each in made if random.random() < 0.25]
            waits = after.union(*(slices for _, slices in before))
            extra: Data = {"depends_on": [data["id"] for data, _ in before]}
            self._row += 1
            first = len(self.slices)
            if depth < 2 and random.random() < 0.3 and self._left > 2:
                inner = list(limits)
                if not self.pools and random.random() < 0.6:
                    extra["max_parallel"] = random.randint(1, 2)
                    inner.append(f"{prefix}{name}")
                    self.sizes[f"{prefix}{name}"] = extra["max_parallel"]
                made_here = group(name, *self._level(f"{prefix}{name}/", inner, waits, depth + 1), **extra)
            else:
                made_here = self._slice(name, prefix, limits, waits, extra)
            made.append((made_here, {each.path for each in self.slices[first:]}))
        return [data for data, _ in made]

    def _slice(self, name: str, prefix: str, limits: list[str], waits: set[str], extra: Data) -> Data:
        random = self.random
        self._left -= 1
        steps = [
            (random.uniform(1.0, 9.0), random.choice([None, *self.pools]) if self.pools else None)
            for _ in range(random.randint(1, 3))
        ]
        path = f"{prefix}{name}"
        self.slices.append(Slice(path, self._row, steps, self.spread, list(limits), set(waits)))
        return leaf(
            name,
            *(
                work(f"t{number}", self._range(minutes), **({"pool": pool} if pool else {}))
                for number, (minutes, pool) in enumerate(steps)
            ),
            **extra,
        )

    def _range(self, minutes: float) -> object:
        # Our plans have six decimals at most; the judge gets the same number.
        if self.spread > 1:
            return f"{minutes / self.spread:.6f}..{minutes * self.spread:.6f}"
        return round(minutes, 6)

    def rehearsal(self) -> Rehearsal:
        return rehearsal(*self.data, max_parallel=min(self.width, 32), pools=self.pools)


# The judge


class Judge:
    """Runs slices in SimPy."""

    def __init__(self, slices: list[Slice], sizes: Claims, draw: Callable[[float], float]) -> None:
        self._env = simpy.Environment()
        self._slices = {each.path: each for each in slices}
        self._free = dict(sizes)
        self._draw = draw
        self._waiting: list[tuple[tuple[int, int], int, Claims, simpy.Event]] = []
        self._asked = 0
        self._ended: set[str] = set()
        self._started: set[str] = set()
        self._length: dict[str, int] = {}

    def makespan(self) -> float:
        self._start_ready()
        self._grant()
        self._env.run()
        assert self._ended == self._slices.keys()
        return float(self._env.now)

    def _longest(self, path: str) -> int:
        """The number of slices on the longest path from a slice on."""
        if path not in self._length:
            behind = [self._longest(each.path) for each in self._slices.values() if path in each.after]
            self._length[path] = 1 + max(behind, default=0)
        return self._length[path]

    def _start_ready(self) -> None:
        for each in self._slices.values():
            if each.path not in self._started and each.after <= self._ended:
                self._started.add(each.path)
                claims = dict.fromkeys(each.limits, 1)
                pool = each.steps[0][1]
                granted = self._ask(each, claims | ({pool: 1} if pool else {}))
                self._env.process(self._work(each, granted))

    def _ask(self, slice_: Slice, claims: Claims) -> simpy.Event:
        event = self._env.event()
        self._asked += 1
        self._waiting.append(((-self._longest(slice_.path), slice_.row), self._asked, claims, event))
        return event

    def _grant(self) -> None:
        for entry in sorted(self._waiting, key=lambda each: each[:2]):
            claims, event = entry[2:]
            if all(self._free[name] >= amount for name, amount in claims.items()):
                for name, amount in claims.items():
                    self._free[name] -= amount
                self._waiting.remove(entry)
                event.succeed()

    def _work(self, slice_: Slice, granted: simpy.Event) -> Iterator[simpy.Event]:
        yield granted
        for number, (minutes, pool) in enumerate(slice_.steps):
            if number and pool:
                granted = self._ask(slice_, {pool: 1})
                self._grant()
                yield granted
            yield self._env.timeout(self._draw(minutes))
            if pool:
                self._free[pool] += 1
            if number == len(slice_.steps) - 1:
                for name in slice_.limits:
                    self._free[name] += 1
                self._ended.add(slice_.path)
                self._start_ready()
            if pool or number == len(slice_.steps) - 1:
                # The next step of the slice asks before the room is given away.
                following = slice_.steps[number + 1][1] if number + 1 < len(slice_.steps) else None
                if following is None:
                    self._grant()


def fixed(minutes: float) -> float:
    return round(minutes, 6) * _MINUTE


@pytest.mark.parametrize("pools", [False, True], ids=["slots", "pools"])
@pytest.mark.parametrize("number", range(PLANS))
def test_fixed_durations_give_the_same_makespan(number: int, pools: bool, first_seed: int) -> None:
    drawn = Drawer(first_seed + number, pools=pools)
    theirs = Judge(drawn.slices, drawn.sizes, fixed).makespan()
    ours = drawn.rehearsal().play(0)
    assert ours.is_completed
    assert ours.seconds == pytest.approx(theirs, abs=1e-3), f"seed {first_seed + number}"


@pytest.mark.parametrize("pools", [False, True], ids=["slots", "pools"])
@pytest.mark.parametrize("number", range(RANDOM_PLANS))
def test_random_durations_have_the_same_distribution(number: int, pools: bool, first_seed: int) -> None:
    runs, spread = 300, 2.5
    drawn = Drawer(first_seed + number, pools=pools, spread=spread)
    random = Random(first_seed + number)
    sigma = sigma_of(spread)

    def lognormal(minutes: float) -> float:
        return minutes * random.lognormvariate(0.0, sigma) * _MINUTE

    theirs = sorted(Judge(drawn.slices, drawn.sizes, lognormal).makespan() for _ in range(runs))
    rehearsed = drawn.rehearsal()
    ours = sorted(rehearsed.play(each, watches_pools=False).seconds for each in range(runs))
    distance = kolmogorov_smirnov(ours, theirs)
    # One pair of equal distributions in ten thousand is further apart.
    assert distance < 2.23 * (2 / runs) ** 0.5, f"seed {first_seed + number}"


def sigma_of(spread: float) -> float:
    """The sigma of a lognormal whose 10 % and 90 % quantiles are the median over and times the spread."""
    return log(spread) / NormalDist().inv_cdf(0.9)


def kolmogorov_smirnov(first: list[float], second: list[float]) -> float:
    """The greatest distance between two distribution functions; both lists are sorted."""
    return max(
        abs(bisect_right(first, value) / len(first) - bisect_right(second, value) / len(second))
        for value in (*first, *second)
    )
