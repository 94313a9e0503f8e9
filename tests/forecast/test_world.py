"""The world of a replication: how long an execution takes, and how it ends."""

from itertools import pairwise
from statistics import fmean
from typing import Any

import pytest

from forecast.rehearsals import Data, call, leaf, plan, sampled, work
from weft.engine.messages.facts import EarlierSlice, Ended, StepOutcome
from weft.engine.messages.orders import Land, Launch, Merge, Prepare
from weft.forecast.estimates import Estimates
from weft.forecast.history import History, LimitSample
from weft.forecast.spread import Spread
from weft.forecast.world import SIGMA, World, WorldSettings

STEADY = History(sigma=0.0)


def world(*steps: Data, history: History = STEADY, replication: int = 0, seed: int = 1, **more: Any) -> World:
    estimates = Estimates(plan(leaf("a", *steps), isolation="dir", verify="true"), history)
    return World(WorldSettings(estimates=estimates, seed=seed, **more), replication)


def launch(step: str = "work", timeout: float = 1e9, **more: Any) -> Launch:
    return Launch(
        firing=1, execution=1, row=1, path="a", step=step, attempt=1, timeout=timeout, grace=1.0, **more
    )


def ends(world_: World, count: int, step: str = "work") -> list[Ended]:
    return [world_.ends(launch(step), 0.0) for _ in range(count)]


def test_fixed_work_takes_its_time_and_succeeds() -> None:
    end = world(work(minutes=2)).ends(launch(), 100.0)
    assert (end.at, end.seconds, end.how, end.cost) == (220.0, 120.0, StepOutcome.DONE, None)


def test_work_beyond_its_time_limit_ends_at_the_limit() -> None:
    end = world(work(minutes=2)).ends(launch(timeout=30.0), 100.0)
    assert (end.at, end.seconds, end.how) == (130.0, 30.0, StepOutcome.TIMEOUT)


def test_a_default_is_no_reason_to_expect_that_a_time_limit_is_too_short() -> None:
    bare = {"id": "work", "run": "true"}
    several = [world(bare, replication=number).ends(launch(timeout=10.0), 0.0) for number in range(50)]
    assert max(end.seconds for end in several) == 10.0
    assert {end.how for end in several} == {StepOutcome.DONE}


def test_each_execution_has_a_duration_of_its_own() -> None:
    seconds = [end.seconds for end in ends(world(work(minutes="1..9")), 50)]
    assert len(set(seconds)) == 50


def test_failures_come_as_often_as_estimated() -> None:
    hows = [end.how for end in ends(world(work(estimate={"fail": 0.3})), 2000)]
    assert set(hows) == {StepOutcome.DONE, StepOutcome.FAILED}
    assert hows.count(StepOutcome.FAILED) / 2000 == pytest.approx(0.3, abs=0.05)
    assert all((end.exit_code == 1) == (end.how is StepOutcome.FAILED) for end in ends(world(work()), 5))


def test_a_failure_has_the_duration_and_the_cost_of_any_execution() -> None:
    whole = world(work(minutes="1..9", estimate={"fail": 0}))
    failing = world(work(minutes="1..9", estimate={"fail": 1}))
    assert [end.seconds for end in ends(whole, 20)] == [end.seconds for end in ends(failing, 20)]


# Usage limits


def limited(share: float, wait: Spread) -> History:
    return History(sigma=0.0, limits={"coder": LimitSample(share=share, wait=wait)})


def test_usage_limits_come_as_often_as_history_says_and_last_as_long() -> None:
    several = ends(world(call(), history=limited(0.25, Spread(600.0))), 2000, "call")
    limits = [end for end in several if end.how is StepOutcome.LIMITED]
    assert len(limits) / 2000 == pytest.approx(0.25, abs=0.05)
    assert {end.until for end in limits} == {660.0}
    assert all(end.until is None for end in several if end.how is not StepOutcome.LIMITED)


def test_the_length_of_a_usage_limit_says_nothing_about_the_next() -> None:
    several = ends(world(call(), history=limited(0.5, Spread(600.0, 0.5))), 4000, "call")
    waits = {
        is_limited: [
            end.until
            for end, following in pairwise(several)
            if end.until is not None and (following.how is StepOutcome.LIMITED) is is_limited
        ]
        for is_limited in (True, False)
    }
    assert fmean(waits[True]) == pytest.approx(fmean(waits[False]), rel=0.1)


# Nights


def test_all_durations_of_a_replication_share_a_factor_and_all_costs_another() -> None:
    steps = (work("x"), call("y", 2, estimate={"cost": 1}))
    several = [world(*steps, history=History(), replication=number) for number in range(400)]
    nights = [each.night for each in several]
    for each, night in zip(several, nights, strict=True):
        assert each.ends(launch("x"), 0.0).seconds == pytest.approx(60.0 * night)
        assert each.ends(launch("y"), 0.0).seconds == pytest.approx(120.0 * night)
    prices = [each.ends(launch("y"), 0.0).cost or 0 for each in several]
    assert len(set(prices)) == 400
    assert sorted(nights)[200] == pytest.approx(1.0, abs=0.06)
    assert sorted(nights)[336] == pytest.approx(1.0 + SIGMA, abs=0.1)
    order = sorted(range(400), key=nights.__getitem__)
    slow = fmean(prices[number] for number in order[200:])
    quick = fmean(prices[number] for number in order[:200])
    assert slow == pytest.approx(quick, rel=0.1)


def test_an_unknown_price_stays_unknown() -> None:
    assert world(call()).ends(launch("call"), 0.0).cost is None


def test_a_known_price_varies_as_history_says() -> None:
    fixed = world(call(estimate={"cost": 0.5})).ends(launch("call"), 0.0)
    assert fixed.cost == 500_000


# Luck that is shared


def test_luck_belongs_to_the_work_and_not_to_the_order_in_which_it_happens() -> None:
    first, second = (world(work("x", "1..9"), work("y", "1..9")) for _ in range(2))
    forwards = [first.ends(launch(step), 0.0).seconds for step in ("x", "y", "x")]
    backwards = [second.ends(launch(step), 50.0).seconds for step in ("y", "x", "x")]
    assert forwards == [backwards[1], backwards[0], backwards[2]]


def test_steps_with_the_estimate_of_their_slice_share_its_luck() -> None:
    bare = {"agent": "coder", "prompt": "do"}
    slice_ = leaf("a", {"id": "x", **bare}, {"id": "y", **bare}, estimate={"minutes": "10..40"})
    estimates = Estimates(plan(slice_, isolation="dir"), STEADY)
    seconds: list[float] = []
    for number in range(500):
        each = World(WorldSettings(estimates=estimates), number)
        first, second = (each.ends(launch(step), 0.0).seconds for step in ("x", "y"))
        assert first == second
        seconds.append(first + second)
    seconds.sort()
    assert seconds[50] == pytest.approx(600.0, rel=0.12)
    assert seconds[450] == pytest.approx(2400.0, rel=0.12)


def test_another_seed_or_replication_has_other_luck() -> None:
    same, again, other, later = (
        world(work(minutes="1..9"), seed=seed, replication=number).ends(launch(), 0.0).seconds
        for seed, number in ((1, 0), (1, 0), (2, 0), (1, 1))
    )
    assert same == again
    assert len({same, other, later}) == 3


# Executions that are under way


def test_an_execution_under_way_takes_at_least_as_long_as_it_has_run() -> None:
    running = {("a", "work"): 500.0}
    for number in range(100):
        each = world(work(minutes="1..9"), running=running, replication=number)
        first = each.ends(launch(), 0.0)
        assert first.seconds >= 500.0
        assert first.at == pytest.approx(first.seconds - 500.0)
        assert each.ends(launch(), 0.0).at > 0.0


def test_an_execution_under_way_that_is_over_its_limit_ends_now() -> None:
    each = world(work(minutes=20), running={("a", "work"): 500.0})
    end = each.ends(launch(timeout=400.0), 7.0)
    assert (end.at, end.how) == (7.0, StepOutcome.TIMEOUT)


def test_the_usage_limit_of_an_execution_under_way_starts_at_its_end() -> None:
    each = world(call(minutes=10), history=limited(1.0, Spread(60.0)), running={("a", "call"): 540.0})
    end = each.ends(launch("call"), 0.0)
    assert (end.at, end.until) == (60.0, 120.0)


# The work of Weft itself


def internal(type_: Any, **more: Any) -> Any:
    return type_(firing=1, execution=1, row=1, path="a", **more)


def test_work_of_weft_itself_succeeds_and_a_kept_workspace_needs_no_time() -> None:
    each = world(
        work(), history=History(sigma=0.0, kinds={"@workspace": sampled(5.0), "@merge": sampled(2.0)})
    )
    assert each.ends(internal(Prepare), 0.0).seconds == pytest.approx(5.0)
    assert each.ends(internal(Merge), 0.0).at == pytest.approx(2.0)
    kept = each.ends(internal(Prepare, continues=EarlierSlice(subplan="a", run="r")), 3.0)
    assert (kept.at, kept.kept) == (3.0, True)


def test_landings_queue_up_and_share_batches() -> None:
    each = world(work(), history=History(sigma=0.0, kinds={"@land": sampled(10.0)}), batch=2)
    landed = [each.ends(internal(Land), at).at for at in (0.0, 1.0, 2.0, 3.0)]
    assert landed == pytest.approx([10.0, 20.0, 20.0, 30.0])
