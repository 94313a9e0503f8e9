"""The world of a replication: it decides how long each ordered execution takes, and how it ends."""

from collections.abc import Mapping
from math import exp

from msgspec import Struct

from weft.engine.messages.facts import Ended, StepOutcome
from weft.engine.messages.orders import Land, Launch, Ordered, Prepare
from weft.forecast.estimates import Basis, Estimates, WorkEstimate
from weft.forecast.landings import LandingLine
from weft.forecast.spread import Spread
from weft.forecast.streams import Luck, key_of

SIGMA = 0.2
"""How much whole runs differ if history does not say: nights on which everything is slower, or dearer."""
_NIGHT, _PRICES = key_of("@night"), key_of("@prices")
_FAILS, _LIMITS, _COSTS, _WAITS = 1 << 32, 2 << 32, 3 << 32, 4 << 32
"""Offsets that give the draws of one execution different numbers in the stream of its step."""
_GUESSED = frozenset({Basis.DEFAULT, Basis.INTERNAL})


class WorldSettings(Struct, frozen=True, kw_only=True):
    """What all replications of a forecast have in common."""

    estimates: Estimates
    seed: int = 1
    batch: int = 32
    """The most results that land together."""
    running: Mapping[tuple[str, str], float] = {}
    """By path and step: the seconds for which executions of a run that is under way have run."""


class World:
    """The durations and ends of one replication."""

    def __init__(self, settings: WorldSettings, replication: int) -> None:
        sigma = settings.estimates.sigma
        factor = Spread(1.0, SIGMA if sigma is None else sigma)
        self._luck = Luck(settings.seed, replication)
        self._estimates = settings.estimates
        self._night = factor.at(self._luck.normal(_NIGHT))
        self._prices = factor.at(self._luck.normal(_PRICES))
        self._landings = LandingLine(settings.batch)
        self._draws: dict[int, int] = {}
        self._running = dict(settings.running)

    @property
    def night(self) -> float:
        """The factor of all durations of the replication."""
        return self._night

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
            luck = self._luck.uniform(estimate.shared or estimate.stream, count)
            seconds = estimate.seconds.scaled(self._night).after(elapsed, luck)
        how, until = self._outcome(estimate, count, now + seconds - elapsed)
        if seconds > order.timeout:
            seconds = max(order.timeout, elapsed)
            # A default is no reason to expect that the plan's own limits are too short.
            if estimate.basis not in _GUESSED:
                how, until = StepOutcome.TIMEOUT, None
        return Ended(
            at=now + seconds - elapsed,
            firing=order.firing,
            execution=order.execution,
            how=how,
            exit_code=1 if how is StepOutcome.FAILED else None,
            cost=self._cost(estimate, count),
            until=until,
            seconds=seconds,
        )

    def _cost(self, estimate: WorkEstimate, count: int) -> int | None:
        """Returns the micro-dollars of an execution; None if they are unknown, or if it is no agent."""
        cost = estimate.cost
        if cost is None or estimate.is_free:
            return None
        luck = self._normal(estimate, count + _COSTS) if cost.sigma else 0.0
        return round(cost.at(luck) * self._prices)

    def _count(self, stream: int) -> int:
        """Returns how often the work of a stream was executed before in the replication."""
        count = self._draws.get(stream, 0)
        self._draws[stream] = count + 1
        return count

    def _normal(self, estimate: WorkEstimate, count: int) -> float:
        return self._luck.normal(estimate.stream, count)

    def _seconds(self, estimate: WorkEstimate, count: int) -> float:
        spread = estimate.seconds
        median = spread.median * self._night
        if not spread.sigma:
            return median
        return median * exp(spread.sigma * self._luck.normal(estimate.shared or estimate.stream, count))

    def _outcome(self, estimate: WorkEstimate, count: int, end: float) -> tuple[StepOutcome, float | None]:
        limit = estimate.limit
        if limit.share and self._luck.uniform(estimate.stream, count + _LIMITS) < limit.share:
            return StepOutcome.LIMITED, end + limit.wait.at(self._normal(estimate, count + _WAITS))
        if estimate.fail and self._luck.uniform(estimate.stream, count + _FAILS) < estimate.fail:
            return StepOutcome.FAILED, None
        return StepOutcome.DONE, None
