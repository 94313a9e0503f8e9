"""Quantiles of outcomes, and how sure they are."""

from collections.abc import Sequence
from math import sqrt

from msgspec import Struct

_Z = 1.96
"""The half width of a 95 % interval, in standard deviations."""


class Interval(Struct, frozen=True):
    """A quantile, with the bounds between which it lies in 95 % of all forecasts with other luck."""

    value: float
    low: float
    high: float


def quantile(ordered: Sequence[float], level: float) -> float:
    """Returns a quantile of sorted values, interpolated between neighbours."""
    position = level * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def interval(ordered: Sequence[float], level: float) -> Interval:
    """Returns a quantile with its uncertainty, from the binomial distribution of the number of values below it."""
    half = _Z * sqrt(level * (1.0 - level) / len(ordered))
    low, high = max(level - half, 0.0), min(level + half, 1.0)
    return Interval(quantile(ordered, level), quantile(ordered, low), quantile(ordered, high))


def share_interval(count: int, total: int) -> Interval:
    """Returns a share with its uncertainty, after Wilson."""
    share, square = count / total, _Z * _Z
    middle = (share + square / (2 * total)) / (1 + square / total)
    half = _Z * sqrt(share * (1 - share) / total + square / (4 * total * total)) / (1 + square / total)
    return Interval(share, max(middle - half, 0.0), min(middle + half, 1.0))


def paired_saving(before: Sequence[float], after: Sequence[float]) -> Interval:
    """Returns the difference of the medians of paired outcomes, with its uncertainty.

    Both come from the same luck, so the differences of pairs vary much less than the outcomes themselves.
    """
    differences = [first - second for first, second in zip(before, after, strict=True)]
    mean = sum(differences) / len(differences)
    variance = sum((value - mean) ** 2 for value in differences) / max(len(differences) - 1, 1)
    half = _Z * sqrt(variance / len(differences))
    value = quantile(sorted(before), 0.5) - quantile(sorted(after), 0.5)
    return Interval(value, value - half, value + half)
