"""The world of a replication: it decides how long each ordered execution takes, and how it ends."""

from collections.abc import Mapping
from math import exp
from typing import NamedTuple

from msgspec import Struct

from weft.engine.messages.facts import Ended, StepOutcome
from weft.engine.messages.orders import Land, Launch, Ordered, Prepare
from weft.forecast.estimates import Estimates, WorkEstimate
from weft.forecast.landings import LandingLine
from weft.forecast.spread import Spread
from weft.forecast.streams import Luck, key_of

SIGMA = 0.2
"""How much whole runs differ if history does not say: nights on which everything is slower, or dearer."""
_NIGHT, _PRICES = key_of("@night"), key_of("@prices")
FAILS, LIMITS, COSTS, _WAITS = 1 << 32, 2 << 32, 3 << 32, 4 << 32
"""Offsets that give the draws of one execution different numbers in the stream of its step."""


class WorldSettings(Struct, frozen=True, kw_only=True):
    """What all replications of a forecast have in common."""

    estimates: Estimates
    seed: int = 1
    batch: int = 32
    """The most results that land together."""
    running: Mapping[tuple[str, str], float] = {}
    """By path and step: the seconds for which executions of a run that is under way have run."""


class Execution(NamedTuple):
    """The result of an execution."""

    seconds: float
    """From its start; of one that is under way, from before now."""
    how: StepOutcome
    cost: int | None
    """In micro-dollars; None if it is unknown, or if it is no agent."""
    wait: float | None = None
    """Seconds from the end of its work until the usage limit ends that it met; None without one."""


class World:
    """The durations and ends of one replication."""

    def __init__(self, settings: WorldSettings, replication: int) -> None:
        sigma = settings.estimates.sigma
        factor = Spread(1.0, SIGMA if sigma is None else sigma)
        self.luck = Luck(settings.seed, replication)
        self._estimates = settings.estimates
        self.night = factor.at(self.luck.normal(_NIGHT))
        """The factor of all durations of the replication."""
        self.prices = factor.at(self.luck.normal(_PRICES))
        """The factor of all costs."""
        self._landings = LandingLine(settings.batch)
        self._draws: dict[int, int] = {}
        self._running = dict(settings.running)

    def branch(self, order: Ordered) -> str:
        """Returns the name of the branch that an execution is; empty for the steps that follow each other."""
        return self._estimates.of(order).branch

    def ends(self, order: Ordered, now: float) -> Ended:
        """Returns the end of an execution that is ordered now."""
        estimate = self._estimates.of(order)
        count = self._count(estimate.stream)
        if isinstance(order, Launch):
            return self._end_of_launch(order, estimate, count, now)
        is_kept = isinstance(order, Prepare) and order.continues is not None
        seconds = 0.0 if is_kept else self._seconds(estimate, count)
        if isinstance(order, Land):
            seconds = self._landings.joins(now, seconds)
        return Ended(
            at=now + seconds,
            firing=order.firing,
            execution=order.execution,
            how=StepOutcome.DONE,
            seconds=seconds,
            kept=is_kept,
        )

    def _end_of_launch(self, order: Launch, estimate: WorkEstimate, count: int, now: float) -> Ended:
        elapsed = self._running.pop((order.path, order.step), None) if self._running else None
        if elapsed is None:
            elapsed, seconds = 0.0, self._seconds(estimate, count)
        else:
            luck = self.luck.uniform(estimate.shared or estimate.stream, count)
            seconds = estimate.seconds.scaled(self.night).after(elapsed, luck)
        execution = self._execution(estimate, count, (elapsed, seconds), order.timeout)
        return Ended(
            at=now + execution.seconds - elapsed,
            firing=order.firing,
            execution=order.execution,
            how=execution.how,
            exit_code=1 if execution.how is StepOutcome.FAILED else None,
            cost=execution.cost,
            until=None if execution.wait is None else now + seconds - elapsed + execution.wait,
            seconds=execution.seconds,
        )

    def execution(self, estimate: WorkEstimate, timeout: float, count: int) -> Execution:
        """Returns the result of an execution that starts now; `count` such executions were before it."""
        return self._execution(estimate, count, (0.0, self._seconds(estimate, count)), timeout)

    def lands(self, now: float, seconds: float) -> float:
        """Returns the seconds until a result has landed that joins the landing queue now."""
        return self._landings.joins(now, seconds)

    def _execution(
        self, estimate: WorkEstimate, count: int, spans: tuple[float, float], timeout: float
    ) -> Execution:
        """`spans`: the seconds for which it has run, and those that it takes altogether."""
        elapsed, seconds = spans
        how, wait = self._outcome(estimate, count)
        if seconds > timeout:
            seconds = max(timeout, elapsed)
            # A default is no reason to expect that the plan's own limits are too short.
            if not estimate.is_guessed:
                how, wait = StepOutcome.TIMEOUT, None
        return Execution(seconds, how, self._cost(estimate, count), wait)

    def _cost(self, estimate: WorkEstimate, count: int) -> int | None:
        """Returns the micro-dollars of an execution; None if they are unknown, or if it is no agent."""
        cost = estimate.cost
        if cost is None or estimate.is_free:
            return None
        luck = self._normal(estimate, count + COSTS) if cost.sigma else 0.0
        return round(cost.at(luck) * self.prices)

    def _count(self, stream: int) -> int:
        """Returns how often the work of a stream was executed before in the replication."""
        count = self._draws.get(stream, 0)
        self._draws[stream] = count + 1
        return count

    def _normal(self, estimate: WorkEstimate, count: int) -> float:
        return self.luck.normal(estimate.stream, count)

    def _seconds(self, estimate: WorkEstimate, count: int) -> float:
        spread = estimate.seconds
        median = spread.median * self.night
        if not spread.sigma:
            return median
        return median * exp(spread.sigma * self.luck.normal(estimate.shared or estimate.stream, count))

    def _outcome(self, estimate: WorkEstimate, count: int) -> tuple[StepOutcome, float | None]:
        limit = estimate.limit
        if limit.share and self.luck.uniform(estimate.stream, count + LIMITS) < limit.share:
            return StepOutcome.LIMITED, limit.wait.at(self._normal(estimate, count + _WAITS))
        if estimate.fail and self.luck.uniform(estimate.stream, count + FAILS) < estimate.fail:
            return StepOutcome.FAILED, None
        return StepOutcome.DONE, None
