"""Random numbers of a forecast: spread evenly, unrelated to each other, and the same wherever they are drawn."""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from math import sqrt
from random import Random
from statistics import NormalDist, fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.forecast import streams
from weft.forecast.streams import Luck, Streams, key_of

SEED = 20261118
"""Fixed, so that a test of chance has always the same answer."""
_DRAWS = 20_000
_NUMBERS = st.integers(0, 2**64 - 1)


def _chi_square_limit(freedom: int) -> float:
    """The value that one draw in a million exceeds, after Wilson and Hilferty."""
    third = 2 / (9 * freedom)
    return freedom * (1 - third + NormalDist().inv_cdf(1 - 1e-6) * sqrt(third)) ** 3


def _chi_square(counts: Counter[object], cells: int, total: int) -> float:
    expected = total / cells
    seen = sum((count - expected) ** 2 / expected for count in counts.values())
    return seen + (cells - len(counts)) * expected


@given(seed=st.integers(-(2**70), 2**70), replication=st.integers(0, 2**40), key=_NUMBERS, count=_NUMBERS)
def test_every_number_lies_between_0_and_1_and_has_a_quantile(
    seed: int, replication: int, key: int, count: int
) -> None:
    luck = Luck(seed, replication)
    assert 0.0 < luck.uniform(key, count) < 1.0
    assert abs(luck.normal(key, count)) < 9.0


@pytest.mark.parametrize("draw", [0, 1, 2**64 - 1, 2**63])
def test_not_even_the_extreme_draws_give_0_or_1(draw: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def mix(_value: int) -> int:
        return draw

    monkeypatch.setattr(streams, "_mix", mix)
    luck = Luck(1, 1)
    assert 0.0 < luck.uniform(1) < 1.0
    assert abs(luck.normal(1)) < 9.0


@given(names=st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=8), max_size=3))
def test_a_key_is_a_number_of_64_bits_that_depends_on_each_name(names: list[str]) -> None:
    key = key_of(*names)
    assert 0 <= key < 2**64
    assert key_of(*names) == key
    assert key_of(*names, "x") != key


def test_a_name_that_is_no_text_has_a_key() -> None:
    assert key_of("a\udcff") != key_of("a")


def test_another_process_draws_the_same_numbers() -> None:
    code = "from weft.forecast.streams import *;l = Luck(7, 3);print(l.uniform(key_of('a', 'b'), 2), l.normal(5))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    luck = Luck(7, 3)
    assert other.split() == [str(luck.uniform(key_of("a", "b"), 2)), str(luck.normal(5))]


@given(draws=st.lists(st.tuples(_NUMBERS, st.integers(0, 100)), min_size=1, max_size=20), order=st.randoms())
def test_numbers_do_not_depend_on_the_order_in_which_they_are_drawn(
    draws: list[tuple[int, int]], order: Random
) -> None:
    shuffled = list(draws)
    order.shuffle(shuffled)
    first, second = Luck(SEED, 0), Luck(SEED, 0)
    forwards = {draw: first.uniform(*draw) for draw in draws}
    backwards = {draw: second.uniform(*draw) for draw in shuffled}
    assert forwards == backwards


SERIES: dict[str, Callable[[int], float]] = {
    "replications": lambda number: Luck(SEED, number).uniform(key_of("a", "b")),
    "seeds": lambda number: Luck(number, 0).uniform(key_of("a", "b")),
    "draws of a stream": lambda number: Luck(SEED, 0).uniform(key_of("a", "b"), number),
    "neighbouring keys": lambda number: Luck(SEED, 0).uniform(number),
    "named keys": lambda number: Luck(SEED, 0).uniform(key_of(f"s{number}", "work")),
    "draws far apart": lambda number: Luck(SEED, 0).uniform(key_of("a", "b"), number + (1 << 32)),
}


@pytest.mark.parametrize("series", SERIES.values(), ids=SERIES)
def test_numbers_are_spread_evenly_alone_and_in_pairs_of_neighbours(series: Callable[[int], float]) -> None:
    numbers = [series(number) for number in range(_DRAWS)]
    cells = 100
    single: Counter[object] = Counter(int(number * cells) for number in numbers)
    assert _chi_square(single, cells, _DRAWS) < _chi_square_limit(cells - 1)
    side = 10
    paired: Counter[object] = Counter(
        (int(first * side), int(second * side)) for first, second in pairwise(numbers)
    )
    assert _chi_square(paired, side * side, _DRAWS - 1) < _chi_square_limit(side * side - 1)


@pytest.mark.parametrize("series", SERIES.values(), ids=SERIES)
def test_neighbours_are_not_correlated(series: Callable[[int], float]) -> None:
    numbers = [series(number) - 0.5 for number in range(_DRAWS)]
    for lag in (1, 2, 7):
        products = [first * second for first, second in zip(numbers, numbers[lag:], strict=False)]
        # The variance of a uniform number is 1/12; five standard errors are one draw in a million.
        assert abs(fmean(products) * 12) < 5 / sqrt(len(products))


def test_the_draws_of_one_execution_are_not_correlated_with_each_other() -> None:
    key = key_of("a", "b")
    offsets = [0, *(number << 32 for number in range(1, 5))]
    columns = [[Luck(SEED, n).uniform(key, offset) - 0.5 for n in range(5_000)] for offset in offsets]
    for place, first in enumerate(columns):
        for second in columns[place + 1 :]:
            products = [item * other for item, other in zip(first, second, strict=True)]
            assert abs(fmean(products) * 12) < 5 / sqrt(len(products))


def test_normal_numbers_have_the_mean_and_the_deviation_of_the_standard() -> None:
    numbers = [Luck(SEED, number).normal(key_of("a", "b")) for number in range(_DRAWS)]
    assert abs(fmean(numbers)) < 5 / sqrt(_DRAWS)
    assert abs(stdev(numbers) - 1) < 5 / sqrt(2 * _DRAWS)


@given(st.integers(0, 2**70), st.lists(st.integers(0, 2**64 - 1)), st.sampled_from([0, 7, 3 << 32]))
def test_many_streams_at_once_give_the_numbers_that_each_gives_alone(
    seed: int, keys: list[int], count: int
) -> None:
    luck = Luck(seed, 3)
    alone = [luck.uniform(key, count) for key in keys]
    assert luck.uniforms(Streams(keys, use_numpy=True), count) == alone
    assert luck.uniforms(Streams(keys, use_numpy=False), count) == alone


def test_few_streams_do_not_need_numpy_and_many_use_it() -> None:
    assert Streams([1, 2]).draw is None
    assert Streams(range(1_000)).draw is not None
