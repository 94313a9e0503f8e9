"""Lognormal distributions, and what few observations say about them."""

from math import exp, isclose, log, sqrt
from random import Random
from statistics import NormalDist, fmean, variance

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple

from weft.forecast.quantiles import quantile
from weft.forecast.spread import P90, LogSample, Spread, between, log_sample, pooled
from weft.forecast.streams import Luck

_SECONDS = st.floats(1e-3, 1e6)
_SIGMAS = st.floats(0.0, 2.0)
_UNIFORM = st.floats(1e-12, 1 - 1e-12)


@given(low=_SECONDS, high=_SECONDS)
def test_a_range_is_the_10_and_the_90_percent_quantile(low: float, high: float) -> None:
    low, high = sorted((low, high))
    spread = between(low, high)
    assert isclose(spread.at(-P90), low, rel_tol=1e-9)
    assert isclose(spread.at(P90), high, rel_tol=1e-9)
    assert isclose(spread.at(0.0), sqrt(low * high), rel_tol=1e-9)


def test_samples_of_a_range_have_its_quantiles() -> None:
    luck = [Luck(1, number) for number in range(20_000)]
    values = sorted(between(5.0, 20.0).at(each.normal(1)) for each in luck)
    assert quantile(values, 0.1) == pytest.approx(5.0, rel=0.03)
    assert quantile(values, 0.5) == pytest.approx(10.0, rel=0.03)
    assert quantile(values, 0.9) == pytest.approx(20.0, rel=0.03)


@pytest.mark.parametrize(("low", "high", "value"), [(5.0, 5.0, 5.0), (0.0, 10.0, 5.0), (0.0, 0.0, 0.0)])
def test_a_single_number_and_a_range_from_nothing_are_fixed(low: float, high: float, value: float) -> None:
    assert between(low, high) == Spread(value)
    assert between(low, high).at(3.0) == value


@given(median=_SECONDS, sigma=_SIGMAS, elapsed=st.floats(0.0, 1e9), uniform=_UNIFORM)
def test_work_that_has_taken_a_while_takes_at_least_that_long(
    median: float, sigma: float, elapsed: float, uniform: float
) -> None:
    assert Spread(median, sigma).after(elapsed, uniform) >= elapsed


@given(median=_SECONDS, sigma=st.floats(0.05, 2.0), level=st.floats(0.0, 0.99), uniform=_UNIFORM)
def test_the_rest_has_the_conditional_distribution(
    median: float, sigma: float, level: float, uniform: float
) -> None:
    normal = NormalDist()
    spread = Spread(median, sigma)
    elapsed = spread.at(normal.inv_cdf(level)) if level else 0.0
    value = spread.after(elapsed, uniform)
    below = normal.cdf(log(value / median) / sigma)
    assert (below - level) / (1 - level) == pytest.approx(uniform, abs=1e-6)


def test_work_that_has_just_started_has_its_whole_distribution_ahead() -> None:
    spread = Spread(60.0, 0.5)
    for uniform in (0.1, 0.5, 0.9):
        assert spread.after(0.0, uniform) == pytest.approx(spread.at(NormalDist().inv_cdf(uniform)))


def test_work_that_takes_longer_than_the_estimate_explains_ends_now() -> None:
    assert Spread(1.0, 0.01).after(1e6, 0.5) == 1e6
    assert Spread(10.0).after(4.0, 0.5) == 10.0
    assert Spread(10.0).after(14.0, 0.5) == 14.0


@given(median=_SECONDS, sigma=_SIGMAS, factor=st.floats(0.1, 10.0), z=st.floats(-3.0, 3.0))
def test_a_factor_scales_every_quantile(median: float, sigma: float, factor: float, z: float) -> None:
    spread = Spread(median, sigma)
    assert isclose(spread.scaled(factor).at(z), factor * spread.at(z), rel_tol=1e-9)


# Samples


@given(st.lists(_SECONDS, min_size=2, max_size=20))
def test_a_sample_has_the_mean_and_the_variance_of_the_logarithms(values: list[float]) -> None:
    sample = log_sample(values)
    logs = [log(value) for value in values]
    assert sample.count == len(values)
    assert isclose(sample.mean, fmean(logs), abs_tol=1e-9)
    assert isclose(sample.variance, variance(logs), rel_tol=1e-6, abs_tol=1e-9)


def test_no_observation_is_an_empty_sample_and_one_has_no_spread_of_its_own() -> None:
    assert log_sample([]) == LogSample()
    assert log_sample([120.0]) == LogSample(1, log(120.0), 0.0)


def test_an_observation_of_nothing_is_very_short() -> None:
    assert 0.0 < log_sample([0.0]).next_value(0.01).median < 1e-6


def _seen(noise: float, count: int) -> LogSample:
    """A step whose observations differ by as much as was assumed."""
    return LogSample(count, log(10.0), noise)


def test_few_observations_are_drawn_towards_the_group_and_many_are_not() -> None:
    group = LogSample(10_000, log(1000.0), 0.05)
    medians = [_seen(0.04, count).next_value(0.04, group).median for count in (1, 2, 10, 1000)]
    assert medians == sorted(medians, reverse=True)
    # Steps differ by a variance of 0.01, and an observation by 0.04: four of them reach half way, in logarithms.
    assert _seen(0.04, 4).next_value(0.04, group).median == pytest.approx(100.0)
    assert medians[-1] == pytest.approx(10.0, rel=0.02)


def test_steps_of_a_group_that_do_not_differ_all_have_its_mean() -> None:
    group = LogSample(10_000, log(1000.0), 0.04)
    assert _seen(0.04, 9).next_value(0.04, group).median == pytest.approx(1000.0)


def test_a_step_that_is_its_own_group_stays_as_it_is() -> None:
    sample = _seen(0.09, 9)
    expected = pytest.approx((10.0 * exp(-0.01), sqrt(0.09 * (1 + 1 / 9))))
    for group in (None, LogSample(), sample):
        assert astuple(sample.next_value(0.09, group)) == expected


@pytest.mark.parametrize("count", [1, 2, 5])
def test_forecasts_of_sums_are_right_on_average(count: int) -> None:
    """A forecast from few observations is the mean of the next ones, over many steps; the seed is fixed."""
    random, noise, steps = Random(7), 0.2, 40_000
    foreseen = next_ones = 0.0
    for _ in range(steps):
        values = [random.lognormvariate(3.0, noise) for _ in range(count)]
        logs = [log(value) for value in values]
        spread = LogSample(count, fmean(logs), noise**2).next_value(noise**2)
        foreseen += spread.median * exp(spread.sigma**2 / 2)
        next_ones += random.lognormvariate(3.0, noise)
    assert foreseen / next_ones == pytest.approx(1.0, abs=0.01)


@given(
    st.integers(1, 50),
    st.floats(-3, 3),
    st.floats(0, 1),
    st.integers(51, 90),
    st.floats(-3, 3),
    st.floats(0, 1),
)
def test_a_median_lies_between_that_of_the_step_and_that_of_its_group(
    count: int, mean: float, spread: float, others: int, other_mean: float, other_spread: float
) -> None:
    group = LogSample(others, other_mean, other_spread)
    drawn = LogSample(count, mean, spread).next_value(0.04, group)
    low, high = sorted((exp(mean), exp(other_mean)))
    assert low * (1 - 1e-9) <= drawn.median <= high * (1 + 1e-9)
    assert drawn.sigma <= sqrt(max(spread, 0.04) + other_spread) + 1e-9


def test_a_new_step_of_a_group_has_the_variance_of_the_group() -> None:
    assert astuple(LogSample(10**9, log(10.0), 0.25).any_value(0.01)) == pytest.approx((10.0, 0.5))
    assert LogSample(1, log(10.0), 0.0).any_value(0.25).sigma == pytest.approx(sqrt(0.5))


def test_noise_is_pooled_over_steps_and_outweighs_the_assumption() -> None:
    noise = pooled([LogSample(3, 1.0, 0.04), LogSample(1, 2.0, 0.0), LogSample(2, 3.0, 0.01)])
    assert astuple(noise) == pytest.approx((0.09, 3))
    assert noise.variance(0.5) == pytest.approx((3 * 0.5 + 0.09) / 6)
    assert pooled([]).variance(0.5) == 0.5
