"""Lognormal distributions: durations and costs are positive, and now and then much larger than usual."""

from collections.abc import Iterable, Sequence
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


class Noise(Struct, frozen=True):
    """How much executions of the same step differ, as far as repeated executions show it."""

    squares: float = 0.0
    """The sum of the squared differences from the mean of each step, of logarithms."""
    freedom: int = 0
    """The executions beyond the first of each step."""

    def variance(self, assumed: float) -> float:
        """Returns the variance; `assumed` counts as a few observations."""
        return (_WEIGHT * assumed + self.squares) / (_WEIGHT + self.freedom)


class LogSample(Struct, frozen=True):
    """The count, mean and variance of the logarithms of observations."""

    count: int = 0
    mean: float = 0.0
    variance: float = 0.0

    def next_value(self, noise: float, group: "LogSample | None" = None) -> Spread:
        """Returns the distribution of the next value of a step, drawn towards a wider group of steps.

        `noise` is the variance of executions of the same step that is expected before its own are seen. The means
        of the steps of a group differ by what is left of the group's variance. So a step is drawn towards its
        group by as much as its own observations may be chance.
        """
        within = self.noise.variance(noise)
        if group is None or group.count <= self.count:
            # With the mean of the logarithms as the median, every uncertain step would be longer on average than
            # it was: chance lengthens it by more than it shortens it. This keeps sums of steps as they were.
            return Spread(exp(self.mean - within / self.count), sqrt(within * (1.0 + 1.0 / self.count)))
        between = max(group.variance - within, 0.0)
        certain = self.count * between
        share = certain / (certain + within) if within else 1.0
        mean = share * self.mean + (1.0 - share) * group.mean
        return Spread(exp(mean), sqrt(within + between * (1.0 - share)))

    def any_value(self, assumed: float) -> Spread:
        """Returns the distribution of a value of a new step of this group; `assumed` is the expected variance."""
        variance = self.noise.variance(assumed)
        return Spread(exp(self.mean), sqrt(variance * (1.0 + 1.0 / self.count)))

    @property
    def noise(self) -> Noise:
        """The differences of these observations, if they are of one step."""
        freedom = max(self.count - 1, 0)
        return Noise(self.variance * freedom, freedom)


_WEIGHT = 3.0
"""So many observations count as much as the assumption about a variance."""


def log_sample(values: Sequence[float]) -> LogSample:
    """Returns the sample of positive observations."""
    logs = [log(max(value, _LEAST)) for value in values]
    if not logs:
        return LogSample()
    mean = sum(logs) / len(logs)
    squares = sum((value - mean) ** 2 for value in logs)
    return LogSample(len(logs), mean, squares / max(len(logs) - 1, 1))


def pooled(samples: Iterable[LogSample]) -> Noise:
    """Returns the noise of several steps together."""
    noises = [sample.noise for sample in samples]
    return Noise(sum(noise.squares for noise in noises), sum(noise.freedom for noise in noises))
