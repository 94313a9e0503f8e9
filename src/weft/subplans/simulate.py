"""Runs subplans in virtual time: the same decisions as a real run, at the speed of arithmetic.

Work is not called; a function gives the duration and the end of each leaf. Time jumps from one end to the next.
Leaves that end at the same moment end in the order in which they started.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf

from weft.errors import ConfigError
from weft.subplans.compile import CANCELLED, COMPLETED, FAILED
from weft.subplans.dispatch import Dispatch, Orders
from weft.subplans.model import AnySubplan, ParallelExecutionConfig
from weft.subplans.order import longest_paths
from weft.subplans.results import (
    AggregateSubplanError,
    SubplanEvent,
    SubplanExecutionError,
    SubplanResult,
)
from weft.subplans.tree import ROOT, SubplanTree, read_tree


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The behaviour of a leaf in a simulation."""

    duration: float
    value: object = None
    error: BaseException | None = None
    """If there is one, the leaf fails with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """The result of a simulated run."""

    events: tuple[SubplanEvent, ...]
    results: dict[str, SubplanResult]
    failure: SubplanExecutionError | AggregateSubplanError | None
    """The exception that a real run would have raised."""
    makespan: float
    peak: int
    """The most leaves in flight at once."""
    lower_bound: float
    """The least time that any order of work needs: the longest path, or all work divided by `max_parallel`."""


def simulate(
    subplans: Iterable[AnySubplan],
    config: ParallelExecutionConfig | None = None,
    *,
    behaviour: Callable[[str], Behaviour | float] | None = None,
) -> Simulation:
    """Simulates a run. Without `behaviour` every leaf completes, and takes as long as its estimate.

    Raises `ConfigError` if a duration is negative or no number.
    """
    tree = read_tree(subplans, config or ParallelExecutionConfig())
    return _Simulator(tree, behaviour).run()


class _Simulator:
    def __init__(self, tree: SubplanTree, behaviour: Callable[[str], Behaviour | float] | None) -> None:
        self._tree = tree
        self._behaviour = behaviour
        self._dispatch = Dispatch(tree)
        self._ends: list[
            tuple[float, int, int, Behaviour]
        ] = []  # end time, number of its start, leaf, behaviour
        self._cancelled: set[int] = set()
        self._starts = 0
        self._peak = 0
        self._durations = list(tree.estimates)

    def run(self) -> Simulation:
        dispatch, now = self._dispatch, 0.0
        self._carry_out(dispatch.start(now), now)
        while self._ends:
            now, _, leaf, how = heappop(self._ends)
            if leaf in self._cancelled:
                orders = dispatch.settle(leaf, CANCELLED, now)
            elif how.error is not None:
                orders = dispatch.settle(leaf, FAILED, now, error=how.error)
            else:
                orders = dispatch.settle(leaf, COMPLETED, now, value=how.value)
            self._carry_out(orders, now)
        return Simulation(
            events=tuple(dispatch.events),
            results=dispatch.results(),
            failure=dispatch.failure(),
            makespan=now,
            peak=self._peak,
            lower_bound=self._lower_bound(),
        )

    def _carry_out(self, orders: Orders, now: float) -> None:
        if orders.cancel:
            self._cancelled.update(orders.cancel)
            self._end_now(orders.cancel, now)
        for leaf in orders.start:
            how = self._how(leaf)
            self._durations[leaf] = how.duration
            self._starts += 1
            heappush(self._ends, (now + how.duration, self._starts, leaf, how))
        self._peak = max(self._peak, len(self._ends))

    def _end_now(self, leaves: list[int], now: float) -> None:
        """Brings the ends of cancelled leaves forward, in the order they were cancelled."""
        # Negative numbers, so that they come before all other ends at this moment.
        order = {leaf: position - len(leaves) for position, leaf in enumerate(leaves)}
        unaffected = [end for end in self._ends if end[2] not in order]
        moved = [(now, order[end[2]], end[2], end[3]) for end in self._ends if end[2] in order]
        self._ends = sorted(unaffected + moved, key=lambda end: end[:2])  # a sorted list is a heap

    def _how(self, leaf: int) -> Behaviour:
        if self._behaviour is None:
            return Behaviour(self._tree.estimates[leaf])
        path = self._tree.paths[leaf]
        answer = self._behaviour(path)
        behaviour = answer if isinstance(answer, Behaviour) else Behaviour(answer)
        duration: object = behaviour.duration
        if type(duration) not in {int, float} or not 0 <= behaviour.duration < inf:
            raise ConfigError(f"{path}: duration is {duration!r}; a number of seconds ≥ 0 is needed")
        return behaviour

    def _lower_bound(self) -> float:
        tree, slots = self._tree, self._tree.caps[ROOT]
        assert slots is not None
        tree.estimates[:] = self._durations
        return max(longest_paths(tree)[ROOT], sum(self._durations) / slots)
