"""Plans whose makespans and costs can be computed by hand."""

from math import ceil, sqrt
from statistics import fmean

import pytest

from forecast.rehearsals import call, group, leaf, outcome, rehearsal, steady, tally, work
from weft.forecast.history import History, LimitSample
from weft.forecast.replications import play_all
from weft.forecast.spread import Spread
from weft.forecast.summary import summarize

MINUTE = 60.0


@pytest.mark.parametrize("count", [1, 2, 5, 8, 13])
@pytest.mark.parametrize("slots", [1, 2, 3, 8])
def test_equal_slices_on_slots_take_whole_rounds(count: int, slots: int) -> None:
    slices = [leaf(f"s{number}", work(minutes=3)) for number in range(count)]
    result = outcome(*slices, max_parallel=slots)
    assert result.seconds == ceil(count / slots) * 3 * MINUTE


@pytest.mark.parametrize("slots", [1, 4])
def test_a_chain_takes_the_sum_whatever_the_slots(slots: int) -> None:
    slices = [leaf("s0", work(minutes=1))]
    slices += [leaf(f"s{n}", work(minutes=n + 1), depends_on=[f"s{n - 1}"]) for n in range(1, 5)]
    assert outcome(*slices, max_parallel=slots).seconds == 15 * MINUTE


def test_a_fork_and_join_takes_its_longest_branch() -> None:
    slices = [
        leaf("start", work(minutes=1)),
        *(leaf(f"s{n}", work(minutes=n), depends_on=["start"]) for n in (2, 3, 7)),
        leaf("end", work(minutes=1), depends_on=["s2", "s3", "s7"]),
    ]
    assert outcome(*slices, max_parallel=4).seconds == 9 * MINUTE
    # On one slot everything adds up.
    assert outcome(*slices, max_parallel=1).seconds == 14 * MINUTE


def test_a_pool_of_one_makes_its_steps_wait_in_line_while_others_work() -> None:
    slices = [leaf(f"s{n}", work("x", 2, pool="db"), work("y", 5)) for n in range(4)]
    # The database serves them after 2, 4, 6 and 8 minutes; the last works five more.
    assert outcome(*slices, max_parallel=4, pools={"db": 1}).seconds == 13 * MINUTE
    # A pool of two serves pairs.
    assert outcome(*slices, max_parallel=4, pools={"db": 2}).seconds == 9 * MINUTE


def test_steps_that_take_several_tokens_fit_as_often_as_they_divide_the_pool() -> None:
    slices = [leaf(f"s{n}", work(pools={"db": 2})) for n in range(5)]
    assert outcome(*slices, max_parallel=5, pools={"db": 4}).seconds == 3 * MINUTE
    assert outcome(*slices, max_parallel=5, pools={"db": 3}).seconds == 5 * MINUTE


def test_list_scheduling_serves_the_longest_path_first() -> None:
    # Graham: on two slots, with the longest path first, the short ones fill the gap beside the chain.
    slices = [
        leaf("a", work(minutes=2), estimate={"minutes": 2}),
        leaf("b", work(minutes=2), estimate={"minutes": 2}),
        leaf("c", work(minutes=2), estimate={"minutes": 2}),
        leaf("d", work(minutes=4), estimate={"minutes": 4}),
        leaf("e", work(minutes=2), estimate={"minutes": 2}, depends_on=["d"]),
    ]
    assert outcome(*slices, max_parallel=2).seconds == 6 * MINUTE


def test_nested_limits_hold_inside_outer_ones() -> None:
    inner = group("g", *[leaf(f"s{n}") for n in range(6)], max_parallel=2)
    assert outcome(inner, max_parallel=8).seconds == 3 * MINUTE
    assert outcome(inner, leaf("x", work(minutes=2)), max_parallel=3).seconds == 3 * MINUTE
    innermost = group("h", group("g", *[leaf(f"s{n}") for n in range(6)], max_parallel=3), max_parallel=2)
    assert outcome(innermost, max_parallel=8).seconds == 3 * MINUTE


def test_steps_beside_each_other_take_the_longest_and_join() -> None:
    slice_ = leaf(
        "a",
        work("x", 5, **{"async": True}),
        work("y", 3, **{"async": True}),
        work("z", 1),
        {"id": "all", "action": "join", "depends_on": ["x", "y"]},
        work("end", 1),
    )
    result = outcome(slice_)
    assert result.seconds == 6 * MINUTE
    assert result.works["a"] == 10 * MINUTE


# Failures


@pytest.mark.parametrize("fail", [0.2, 0.5])
def test_retries_are_geometric_and_each_attempt_costs_again(fail: float) -> None:
    most, runs = 10, 1500
    step = call(estimate={"fail": fail, "cost": 1}, on_error="retry", max_retries=most)
    result = tally(leaf("a", step), isolation="dir", history=steady(), runs=range(runs))
    attempts = [seconds / MINUTE for seconds in result.seconds.values()]
    # A geometric number of attempts, cut off after the last retry.
    expected = (1 - fail ** (most + 1)) / (1 - fail)
    error = 4 * sqrt(fail) / (1 - fail) / sqrt(runs)
    assert fmean(attempts) == pytest.approx(expected, abs=error)
    assert fmean(cost / 1e6 for cost in result.costs) == pytest.approx(expected, abs=error)
    assert len(result.failed) / runs == pytest.approx(fail ** (most + 1), abs=4 / sqrt(runs))


def test_an_on_fail_loop_repeats_the_steps_since_its_start() -> None:
    fail, most, runs = 0.4, 10, 1500
    steps = work("x", 2), work("y", 1, estimate={"fail": fail}, on_fail={"retry_from": "x", "max": most})
    result = tally(leaf("a", *steps), runs=range(runs))
    rounds = [seconds / (3 * MINUTE) for seconds in result.seconds.values()]
    assert all(each == pytest.approx(round(each)) for each in rounds)
    expected = (1 - fail ** (most + 1)) / (1 - fail)
    assert fmean(rounds) == pytest.approx(expected, abs=4 * sqrt(fail) / (1 - fail) / sqrt(runs))


def test_a_step_that_always_fails_uses_up_its_attempts() -> None:
    step = work(estimate={"fail": 1}, on_error="retry", max_retries=4)
    result = outcome(leaf("a", step), leaf("b", depends_on=["a"]))
    assert (result.seconds, result.is_completed) == (5 * MINUTE, False)
    assert "b" not in result.works


def test_one_failure_ends_everything_under_fail_fast_and_nothing_else_under_continue_on_error() -> None:
    slices = (
        leaf("a", work(minutes=2, estimate={"fail": 1})),
        leaf("b", work(minutes=9)),
        leaf("c", work(minutes=1)),
    )
    fast = outcome(*slices, failure_mode="fail_fast", max_parallel=2)
    assert (fast.seconds, fast.is_completed, "c" in fast.works) == (2 * MINUTE, False, False)
    slow = outcome(*slices, failure_mode="continue_on_error", max_parallel=2)
    assert (slow.seconds, slow.is_completed, slow.works["c"]) == (9 * MINUTE, False, MINUTE)


def test_a_step_that_exceeds_its_time_limit_fails_then() -> None:
    result = outcome(leaf("a", work(minutes=10, timeout="3m")))
    assert (result.seconds, result.is_completed) == (3 * MINUTE, False)


# Ceilings


def test_a_ceiling_lets_no_call_start_that_it_does_not_allow() -> None:
    slices = [leaf(f"s{n}", call(estimate={"cost": 1}, max_cost=1)) for n in range(6)]
    result = outcome(*slices, isolation="dir", budget=3.5, max_parallel=1, history=steady())
    assert result.seconds == pytest.approx(3 * MINUTE, abs=0.01)
    assert (result.cost, result.meets_ceiling, result.is_completed) == (3_000_000, True, False)


def test_a_ceiling_that_is_high_enough_stops_nothing() -> None:
    slices = [leaf(f"s{n}", call(estimate={"cost": 1}, max_cost=1)) for n in range(6)]
    result = outcome(*slices, isolation="dir", budget=6, max_parallel=1, history=steady())
    assert (result.cost, result.meets_ceiling, result.is_completed) == (6_000_000, False, True)


def test_nights_on_which_all_is_dearer_meet_the_ceiling() -> None:
    slices = [leaf(f"s{n}", call(estimate={"cost": 1}, max_cost=2)) for n in range(4)]
    history = History(kinds=steady().kinds)
    rehearsed = rehearsal(*slices, isolation="dir", budget=6, max_parallel=1, history=history)
    summary = summarize(rehearsed, play_all(rehearsed, range(400)))
    # The fourth call needs $2 after three: too much if a call costs more than $4/3, which is one night in 13.
    assert summary.ceiling.low <= 0.075 <= summary.ceiling.high


# Usage limits


def test_a_usage_limit_parks_the_agent_until_it_ends() -> None:
    limits = {"coder": LimitSample(share=0.5, wait=Spread(600.0))}
    limited = History(sigma=0.0, kinds=steady().kinds, limits=limits)
    result = tally(leaf("a", call()), isolation="dir", history=limited, runs=range(300))
    # Each limit costs the minute of the execution that met it, and its ten minutes.
    met = [(seconds - MINUTE) / (11 * MINUTE) for seconds in result.seconds.values()]
    assert all(each == pytest.approx(round(each), abs=0.01) for each in met)
    assert fmean(met) == pytest.approx(1.0, abs=0.35)
    assert not result.failed


# Landing


def test_results_queue_up_for_their_verify_and_those_that_wait_share_one() -> None:
    history = steady(land=60.0)
    slices = [leaf(f"s{n}", work(minutes=n)) for n in (1, 2, 3, 4)]
    result = outcome(*slices, isolation="worktree", git=True, verify="true", max_parallel=4, history=history)
    # s1 is verified from 1 to 2 minutes, then s2, s3 and s4, each when it is ready.
    assert result.seconds == pytest.approx(5 * MINUTE, abs=0.01)
    together = [leaf(f"s{n}", work(minutes=1)) for n in range(5)]
    landed = outcome(
        *together, isolation="worktree", git=True, verify="true", max_parallel=5, history=history
    )
    # Merges follow each other, so the first result is verified alone, and the others together.
    assert landed.seconds == pytest.approx(3 * MINUTE, abs=0.01)


def test_a_batch_holds_no_more_results_than_the_plan_allows() -> None:
    slices = [leaf(f"s{n}", work(minutes=1)) for n in range(5)]
    result = outcome(
        *slices,
        isolation="worktree",
        git=True,
        verify="true",
        max_parallel=5,
        merge={"batch": 2},
        history=steady(land=60.0),
    )
    assert result.seconds == pytest.approx((1 + 1 + 1 + 1) * MINUTE, abs=0.01)


def test_merges_and_workspaces_take_their_time() -> None:
    history = steady(workspace=10.0, merge=5.0, land=20.0)
    result = outcome(leaf("a"), isolation="worktree", git=True, history=history)
    assert result.seconds == pytest.approx(10.0 + MINUTE + 5.0 + 20.0, abs=0.01)


# Queues


def test_a_pool_in_front_of_which_work_arrives_at_random_is_as_long_as_the_recursion_says() -> None:
    """A queue with one server and fixed service (as M/D/1): the recursion of Lindley gives each end."""
    slices = [leaf(f"s{n}", work("arrive", "1..30"), work("serve", 2, pool="db")) for n in range(12)]
    rehearsed = rehearsal(*slices, max_parallel=12, pools={"db": 1})
    for number in range(30):
        result = rehearsed.play(number)
        arrivals = sorted(seconds - 2 * MINUTE for seconds in result.works.values())
        end = 0.0
        for arrival in arrivals:
            end = max(end, arrival) + 2 * MINUTE
        assert result.seconds == pytest.approx(end)
