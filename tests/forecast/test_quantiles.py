"""Quantiles, and how sure they are."""

from statistics import quantiles

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.forecast.quantiles import Interval, interval, paired_saving, quantile, share_interval
from weft.forecast.streams import Luck

_VALUES = st.lists(st.floats(0, 1e6), min_size=2, max_size=60).map(sorted)


@given(_VALUES)
def test_quantiles_are_those_of_the_standard_library(values: list[float]) -> None:
    expected = quantiles(values, n=10, method="inclusive")
    assert [quantile(values, level / 10) for level in range(1, 10)] == pytest.approx(expected)
    assert quantile(values, 0.0) == values[0]
    assert quantile(values, 1.0) == values[-1]


@given(_VALUES, st.floats(0, 1))
def test_an_interval_holds_its_quantile(values: list[float], level: float) -> None:
    result = interval(values, level)
    assert values[0] <= result.low <= result.value + 1e-6
    assert result.value - 1e-6 <= result.high <= values[-1]


def test_a_single_value_is_all_its_quantiles() -> None:
    assert interval([3.0], 0.9) == Interval(3.0, 3.0, 3.0)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_95_percent_of_the_intervals_hold_the_true_quantile(level: float) -> None:
    hits = 0
    for trial in range(400):
        values = sorted(Luck(5, trial).uniform(1, number) for number in range(200))
        result = interval(values, level)
        hits += result.low <= level <= result.high
    assert 0.91 <= hits / 400 <= 0.99


@given(st.integers(1, 2000).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_the_interval_of_a_share_holds_it_and_stays_between_0_and_1(counts: tuple[int, int]) -> None:
    count, total = counts
    result = share_interval(count, total)
    assert result.value == count / total
    assert 0.0 <= result.low <= result.value + 1e-12
    assert result.value - 1e-12 <= result.high <= 1.0


def test_never_in_a_few_runs_is_not_never() -> None:
    assert share_interval(0, 10).high > 0.2
    assert share_interval(0, 1000).high < 0.01


def test_95_percent_of_the_intervals_hold_the_true_share() -> None:
    hits = 0
    for trial in range(400):
        count = sum(Luck(6, trial).uniform(1, number) < 0.2 for number in range(100))
        result = share_interval(count, 100)
        hits += result.low <= 0.2 <= result.high
    assert 0.91 <= hits / 400 <= 0.99


def test_a_saving_that_is_the_same_on_every_night_is_certain() -> None:
    before = [Luck(1, number).uniform(1) * 1000 + 100 for number in range(50)]
    saving = paired_saving(before, [value - 60.0 for value in before])
    assert saving.value == pytest.approx(60.0)
    assert saving.low == pytest.approx(60.0)
    assert saving.high == pytest.approx(60.0)


def test_no_difference_is_no_saving() -> None:
    assert paired_saving([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]) == Interval(0.0, 0.0, 0.0)
    assert paired_saving([4.0], [1.0]) == Interval(3.0, 3.0, 3.0)


def test_a_saving_on_some_nights_only_is_uncertain() -> None:
    before = [100.0 + number % 2 for number in range(40)]
    after = [100.0 + (number // 2) % 2 for number in range(40)]
    saving = paired_saving(before, after)
    assert saving.low < 0.0 < saving.high
