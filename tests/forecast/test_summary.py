"""What the replications of a plan tell together."""

from random import Random

import pytest

from forecast.rehearsals import STEADY, call, group, leaf, rehearsal, steady, work
from sim.random_plans import random_plan
from weft.forecast.bounds import LowerBounds
from weft.forecast.history import History
from weft.forecast.replications import Rehearsal, play_all
from weft.forecast.summary import share_before, summarize

RUNS = range(200)


def test_quantiles_are_those_of_the_makespans_and_costs() -> None:
    rehearsed = rehearsal(leaf("a", call(minutes="10..40", estimate={"cost": 2})), isolation="dir")
    tally = play_all(rehearsed, range(1000))
    summary = summarize(rehearsed, tally)
    assert (summary.runs, summary.seed) == (1000, 1)
    assert summary.p10.value == pytest.approx(600.0, rel=0.1)
    assert summary.p50.value == pytest.approx(1200.0, rel=0.1)
    assert summary.p90.value == pytest.approx(2400.0, rel=0.1)
    assert summary.p50.low < summary.p50.value < summary.p50.high
    assert summary.cost_p50.value == summary.cost_p90.value == 2_000_000.0
    assert summary.fails.value == summary.ceiling.value == summary.unpriced == 0.0


def test_nights_differ_by_a_fifth_if_history_does_not_say() -> None:
    rehearsed = rehearsal(leaf("a"), history=History())
    summary = summarize(rehearsed, play_all(rehearsed, range(1000)))
    assert summary.p50.value == pytest.approx(60.0, rel=0.03)
    assert summary.p90.value == pytest.approx(60.0 * 1.292, rel=0.05)


def test_a_plan_without_estimates_and_history_completes() -> None:
    bare = {"id": "bare", "agent": "coder", "prompt": "do"}
    rehearsed = rehearsal(*[leaf(f"s{number}", bare) for number in range(5)], isolation="dir", timeout="30m")
    summary = summarize(rehearsed, play_all(rehearsed, RUNS))
    assert summary.fails.value == 0.0
    assert len(summary.defaults) == 5


def test_unknown_prices_are_counted_per_run() -> None:
    rehearsed = rehearsal(leaf("a", call("x"), call("y"), call("z", estimate={"cost": 1})), isolation="dir")
    summary = summarize(rehearsed, play_all(rehearsed, range(10)))
    assert summary.unpriced == 2.0
    assert summary.cost_p50.value == 1_000_000.0


def test_defaults_are_listed() -> None:
    bare = {"id": "bare", "run": "true"}
    rehearsed = rehearsal(leaf("a", work(), bare), leaf("b", {**bare, "estimate": {"fail": 0.1}}))
    summary = summarize(rehearsed, play_all(rehearsed, range(3)))
    assert [(step.path, step.step) for step in summary.steps] == [("a", "work"), ("a", "bare"), ("b", "bare")]
    assert [(step.path, step.step) for step in summary.defaults] == [("a", "bare"), ("b", "bare")]


# In time


def test_a_run_that_fails_is_never_done_in_time() -> None:
    always = rehearsal(leaf("a", work(estimate={"fail": 1})))
    assert share_before(play_all(always, range(10)), 1e9).value == 0.0


def test_runs_that_fail_after_the_time_do_not_count_against_those_that_are_done_before_it() -> None:
    # The slice fails after an hour or succeeds after a minute: by then, all that will ever be done is done.
    rehearsed = rehearsal(
        leaf("a", work("x", estimate={"fail": 0.5}, on_error="continue"), work("y", estimate={"fail": 0}))
    )
    tally = play_all(rehearsed, range(100))
    late = {number for number in range(100) if number % 3 == 0}
    tally.failed = late
    for number in late:
        tally.seconds[number] = 3600.0
    assert share_before(tally, 600.0).value == pytest.approx(1 - len(late) / 100)


# Pools and paths


def test_pools_are_as_busy_as_their_tokens() -> None:
    rehearsed = rehearsal(
        *[leaf(f"s{number}", work("x", pool="db"), work("y", 2)) for number in range(6)],
        max_parallel=3,
        pools={"db": 1},
    )
    summary = summarize(rehearsed, play_all(rehearsed, range(3)))
    pools = {pool.name: pool for pool in summary.pools}
    assert set(pools) == {"slots", "pool:db"}
    makespan = summary.p50.value
    assert pools["pool:db"].busy == pytest.approx(360.0 / makespan)
    assert pools["slots"].busy == pytest.approx(6 * 180.0 / makespan / 3)
    assert pools["pool:db"].wait > 0.0


def test_the_most_frequent_chains_come_first_and_no_more_than_five() -> None:
    rehearsed = rehearsal(*[leaf(f"s{number}", work(minutes="1..9")) for number in range(8)], max_parallel=8)
    summary = summarize(rehearsed, play_all(rehearsed, RUNS))
    shares = [path.share for path in summary.paths]
    assert len(shares) == 5
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) <= 1.0


# Estimates that matter


def test_the_work_with_the_widest_estimate_explains_most() -> None:
    rehearsed = rehearsal(
        leaf("wide", work(minutes="5..100")),
        leaf("narrow", work(minutes="30..31"), depends_on=["wide"]),
        leaf("fixed", work(minutes=30), depends_on=["wide"]),
        history=History(),
    )
    summary = summarize(rehearsed, play_all(rehearsed, RUNS))
    assert [influence.path for influence in summary.influences] == ["wide"]
    assert summary.influences[0].share > 0.9


def test_no_estimate_tells_which_night_it_will_be() -> None:
    rehearsed = rehearsal(leaf("a"), leaf("b", depends_on=["a"]), history=History())
    summary = summarize(rehearsed, play_all(rehearsed, RUNS))
    assert summary.p90.value > 1.1 * summary.p50.value
    assert not summary.influences


def test_work_off_the_critical_path_explains_nothing() -> None:
    rehearsed = rehearsal(
        leaf("long", work(minutes="50..80")), leaf("short", work(minutes="1..9")), max_parallel=2
    )
    summary = summarize(rehearsed, play_all(rehearsed, RUNS))
    assert [influence.path for influence in summary.influences] == ["long"]
    assert summary.influences[0].share == pytest.approx(1.0)


# Lower bounds


@pytest.mark.parametrize("seed", range(100))
def test_no_replication_is_below_its_lower_bound(seed: int) -> None:
    rehearsed = Rehearsal(random_plan(Random(seed)).plan)
    bounds = LowerBounds(rehearsed.compiled)
    for number in range(3):
        outcome = rehearsed.play(number)
        assert bounds.of(outcome.chains) <= outcome.seconds + 1e-6


def test_the_bound_is_the_longest_chain_or_the_work_per_slot() -> None:
    chain = rehearsal(leaf("a"), leaf("b", depends_on=["a"]), leaf("c"), max_parallel=5)
    assert summarize(chain, play_all(chain, [0])).lower_bound == 120.0
    wide = rehearsal(*[leaf(f"s{number}") for number in range(10)], max_parallel=2)
    assert summarize(wide, play_all(wide, [0])).lower_bound == 300.0
    narrow = group("g", *[leaf(f"s{number}") for number in range(6)], max_parallel=2)
    capped = rehearsal(narrow, leaf("t"), max_parallel=5)
    assert summarize(capped, play_all(capped, [0])).lower_bound == 180.0
    nested = rehearsal(group("g", leaf("a"), leaf("b")), leaf("c", depends_on=["g"]), max_parallel=5)
    assert summarize(nested, play_all(nested, [0])).lower_bound == 120.0


def test_steps_beside_each_other_do_not_add_up() -> None:
    beside = rehearsal(
        leaf(
            "a",
            work("x", 3, **{"async": True}),
            work("y", 2),
            {"id": "j", "action": "join", "depends_on": ["x"]},
        )
    )
    summary = summarize(beside, play_all(beside, [0]))
    assert summary.lower_bound == summary.p50.value == 180.0


def test_the_bound_of_a_single_slice_is_its_own_median_on_nights_of_all_kinds() -> None:
    rehearsed = rehearsal(leaf("a"), history=History())
    summary = summarize(rehearsed, play_all(rehearsed, RUNS))
    assert summary.lower_bound == pytest.approx(summary.p50.value)


def test_landing_adds_to_the_finish_and_not_to_the_bound() -> None:
    rehearsed = rehearsal(leaf("a"), isolation="worktree", git=True, verify="true", history=steady(land=30.0))
    summary = summarize(rehearsed, play_all(rehearsed, [0]))
    assert summary.p50.value == pytest.approx(90.0, abs=0.1)
    assert summary.lower_bound == pytest.approx(60.0)
    assert STEADY.sigma == 0.0
