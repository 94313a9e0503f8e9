"""Sums over replications, which can be added in any order."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forecast.rehearsals import call, group, leaf, rehearsal, work
from weft.forecast.history import History
from weft.forecast.replications import play_all
from weft.forecast.tally import Tally

REHEARSAL = rehearsal(
    leaf("a", work(minutes="1..9", pool="db", estimate={"fail": 0.3})),
    group("g", leaf("b", call(minutes="1..9", estimate={"cost": 1})), leaf("c", call()), depends_on=["a"]),
    isolation="dir",
    budget=5,
    pools={"db": 1},
    failure_mode="continue_on_error",
    history=History(),
)
RUNS = 24
SINGLE = [play_all(REHEARSAL, [number]) for number in range(RUNS)]
ALL = play_all(REHEARSAL, range(RUNS))


def assert_equal(first: Tally, second: Tally) -> None:
    assert first.seconds == second.seconds
    assert first.failed == second.failed
    assert Counter(first.costs) == Counter(second.costs)
    assert Counter(first.bounds) == Counter(second.bounds)
    assert (first.unpriced, first.ceilings, first.paths) == (second.unpriced, second.ceilings, second.paths)
    for name, pool in first.pools.items():
        assert pool.busy == pytest.approx(second.pools[name].busy)
        assert pool.waiting == pytest.approx(second.pools[name].waiting)
    for path, work_ in [("", first.makespan), *first.slices.items()]:
        other = second.makespan if not path else second.slices[path]
        assert work_.seconds == pytest.approx(other.seconds)
        assert work_.squares == pytest.approx(other.squares)
        assert work_.products == pytest.approx(other.products)
    assert first.pools.keys() == second.pools.keys()
    assert first.slices.keys() == second.slices.keys()


def test_the_replications_differ_enough_to_tell_them_apart() -> None:
    assert len(set(ALL.seconds.values())) == RUNS
    assert 0 < len(ALL.failed) < RUNS
    assert ALL.unpriced
    assert {"a", "g/b", "g/c"} == ALL.slices.keys()


@given(st.permutations(range(RUNS)), st.lists(st.integers(1, 6), min_size=RUNS, max_size=RUNS))
def test_the_tally_of_all_is_the_sum_of_the_tallies_of_parts(order: list[int], sizes: list[int]) -> None:
    whole = Tally()
    waiting = list(order)
    for size in sizes:
        part = Tally()
        for number in waiting[:size]:
            part.merge(SINGLE[number])
        waiting = waiting[size:]
        whole.merge(part)
    assert_equal(whole, ALL)
    assert whole.runs == RUNS


def test_parts_that_are_added_stay_as_they_are() -> None:
    before = play_all(REHEARSAL, [0])
    whole = Tally()
    whole.merge(before)
    whole.merge(SINGLE[1])
    assert_equal(before, SINGLE[0])


def test_a_run_that_needs_no_time_has_no_busy_pool() -> None:
    done = rehearsal(leaf("a"))
    assert all(pool.busy > 0 for pool in play_all(done, [0]).pools.values())
    nothing = rehearsal(leaf("a", work(minutes=0)))
    assert all(pool.busy == 0 for pool in play_all(nothing, [0]).pools.values())
