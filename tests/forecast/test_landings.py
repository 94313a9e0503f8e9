"""The landing queue in virtual time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.forecast.landings import LandingLine


def landed(arrivals: list[tuple[float, float]], most: int = 32) -> list[float]:
    """When each result has landed; an arrival is its time and the seconds that a batch takes."""
    line = LandingLine(most)
    return [now + line.joins(now, seconds) for now, seconds in arrivals]


def test_a_result_that_finds_nothing_before_it_lands_after_its_own_verify() -> None:
    assert landed([(5.0, 10.0)]) == [15.0]
    assert landed([(5.0, 10.0), (30.0, 10.0)]) == [15.0, 40.0]


def test_results_that_are_ready_at_the_same_time_land_together() -> None:
    assert landed([(0.0, 10.0), (0.0, 10.0), (0.0, 10.0)]) == [10.0, 10.0, 10.0]


def test_results_that_wait_during_a_verify_are_the_next_batch() -> None:
    assert landed([(0.0, 10.0), (1.0, 10.0), (9.0, 10.0), (12.0, 10.0)]) == [10.0, 20.0, 20.0, 30.0]


def test_a_full_batch_leaves_the_rest_for_the_next() -> None:
    assert landed([(0.0, 10.0), *[(1.0, 10.0)] * 5], most=2) == [10.0, 20.0, 20.0, 30.0, 30.0, 40.0]


def test_a_batch_takes_as_long_as_the_verify_of_its_first_result() -> None:
    assert landed([(0.0, 10.0), (1.0, 5.0), (2.0, 50.0)]) == [10.0, 15.0, 15.0]


def test_a_queue_whose_results_need_no_time_holds_nothing_up() -> None:
    assert landed([(0.0, 0.0), (0.0, 0.0), (3.0, 0.0)]) == [0.0, 0.0, 3.0]


@given(
    st.lists(st.tuples(st.floats(0, 100), st.just(7.0)), min_size=1, max_size=30).map(sorted),
    st.integers(1, 4),
)
def test_the_queue_serves_as_a_server_that_takes_all_who_wait(
    arrivals: list[tuple[float, float]], most: int
) -> None:
    times = landed(arrivals, most)
    assert times == sorted(times)
    for (now, seconds), at in zip(arrivals, times, strict=True):
        assert at >= now + seconds - 1e-9
    # Batches follow each other without a pause while something waits, and none is larger than allowed.
    ends = sorted(set(times))
    for place, end in enumerate(ends):
        members = [now for (now, _), at in zip(arrivals, times, strict=True) if at == end]
        assert len(members) <= most
        before = ends[place - 1] if place else 0.0
        assert end == pytest.approx(max(before, members[0]) + 7.0)
