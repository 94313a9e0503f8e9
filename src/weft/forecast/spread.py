"""Lognormal distributions: durations and costs are positive, and now and then much larger than usual."""

from collections.abc import Sequence
from math import exp, log, sqrt
from statistics import NormalDist

from msgspec import Struct

_NORMAL = NormalDist()
P90 = _NORMAL.inv_cdf(0.9)
_LEAST = 1e-9
"""The shortest time whose logarithm is taken."""


class Spread(Struct, frozen=True):
    """A lognormal distribution; without a sigma it is a fixed value."""

    median: float
    sigma: float = 0.0
    """The standard deviation of the logarithm."""

    def at(self, z: float) -> float:
        """Returns the quantile for a number from the standard normal distribution."""
        return self.median * exp(self.sigma * z) if self.sigma else self.median

    def after(self, elapsed: float, uniform: float) -> float:
        """Returns a value above `elapsed`: the total of work that has already taken so long."""
        if not self.sigma:
            return max(self.median, elapsed)
        below = _NORMAL.cdf(log(max(elapsed, _LEAST) / self.median) / self.sigma)
        level = below + (1.0 - below) * uniform
        if level >= 1.0:  # it has taken longer than the estimate can explain
            return elapsed
        return max(self.at(_NORMAL.inv_cdf(level)), elapsed)

    def scaled(self, factor: float) -> "Spread":
        return Spread(self.median * factor, self.sigma)


def between(low: float, high: float) -> Spread:
    """Returns the distribution with these as its 10 % and 90 % quantiles."""
    if low <= 0.0 or low == high:
        return Spread((low + high) / 2)
    return Spread(exp((log(low) + log(high)) / 2), (log(high) - log(low)) / (2 * P90))


class LogSample(Struct, frozen=True):
    """The count, mean and variance of the logarithms of observations."""

    count: int = 0
    mean: float = 0.0
    variance: float = 0.0

    def shrunk(self, towards: "LogSample | None") -> Spread:
        """Returns the distribution of the next value, drawn towards a wider group as long as there are few.

        The group counts as `_WEIGHT` observations.
        """
        if towards is None or not towards.count:
            if self.count == 1:
                # Its variance is assumed. The observation is then the mean, not the median: otherwise the
                # assumption would make every step longer.
                return Spread(exp(self.mean - self.variance / 2), sqrt(self.variance))
            return self._spread(self.mean, self.variance)
        share = self.count / (self.count + _WEIGHT)
        mean = share * self.mean + (1.0 - share) * towards.mean
        variance = share * self.variance + (1.0 - share) * towards.variance
        return self._spread(mean, variance)

    def _spread(self, mean: float, variance: float) -> Spread:
        # A mean of few observations is itself uncertain.
        return Spread(exp(mean), sqrt(variance * (1.0 + 1.0 / max(self.count, 1))))


_WEIGHT = 2.0


def log_sample(values: Sequence[float]) -> LogSample:
    """Returns the sample of positive observations."""
    logs = [log(max(value, _LEAST)) for value in values]
    if not logs:
        return LogSample()
    mean = sum(logs) / len(logs)
    variance = sum((value - mean) ** 2 for value in logs) / (len(logs) - 1) if len(logs) > 1 else _ALONE
    return LogSample(len(logs), mean, variance)


_ALONE = 0.04
"""The variance that is assumed for a single observation: a standard deviation of 20 %."""
