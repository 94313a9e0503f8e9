"""A replication, against the simulator that tests the engine, and against arithmetic."""

import json
from random import Random

import pytest

from forecast.rehearsals import STEADY, call, leaf, outcome, plan, rehearsal, steady, work
from sim.random_plans import Drawer
from weft.engine.engine import Engine
from weft.engine.messages.facts import Ended, RunStarted
from weft.engine.messages.orders import Ordered
from weft.engine.simulate import SimulatedEnd, SimulatedReply, Simulator
from weft.forecast.replications import Rehearsal
from weft.forecast.run_outcome import RunOutcome
from weft.forecast.virtual_run import VirtualRun
from weft.forecast.world import World, WorldSettings
from weft.plan.loader.load import Surroundings, load_plan
from weft.plan.model import Plan
from weft.plan.text.problems import PlanError

SEEDS = range(150)


class _Record(World):
    """Remembers the end of each execution, so that another simulator can repeat it."""

    def __init__(self, settings: WorldSettings, replication: int) -> None:
        super().__init__(settings, replication)
        self.ended: dict[tuple[int, int], tuple[Ended, float]] = {}

    def ends(self, order: Ordered, now: float) -> Ended:
        end = super().ends(order, now)
        self.ended[order.key] = (end, end.at - now)
        return end


def _random_plan(random: Random) -> Plan:
    while True:
        try:
            return load_plan(json.dumps(Drawer(random).plan()), surroundings=Surroundings(git=False))
        except PlanError:
            continue


def _play(rehearsed: Rehearsal, record: _Record) -> RunOutcome:
    engine = Engine(rehearsed.compiled, writes_events=False)
    return VirtualRun(engine, record).play(RunStarted(at=0.0, run="forecast"))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_replication_is_what_the_simulator_of_the_engine_makes_of_the_same_ends(seed: int) -> None:
    rehearsed = Rehearsal(_random_plan(Random(seed)))
    record = _Record(WorldSettings(estimates=rehearsed.estimates), 0)
    ours = _play(rehearsed, record)

    def repeat(order: Ordered) -> SimulatedEnd:
        end, seconds = record.ended[order.key]
        wait = 60.0 if end.until is None else end.until - end.at
        return SimulatedEnd(
            seconds=seconds, how=end.how, exit_code=end.exit_code, cost=end.cost, wait=wait, kept=end.kept
        )

    theirs = Simulator(
        rehearsed.compiled, repeat, person=lambda _path, _step: SimulatedReply(text="yes")
    ).play()
    assert ours.is_completed == (theirs.state == "completed")
    assert ours.meets_ceiling == theirs.engine.has_reached_ceiling
    # That simulator lets a halted process take a moment to die, and reports no cost for it.
    has_halts = any(end.signal is not None for end in theirs.facts if isinstance(end, Ended))
    if not has_halts:
        assert ours.seconds == pytest.approx(theirs.seconds, abs=1e-6)
        assert ours.cost == theirs.engine.spent[0]
        assert ours.unpriced == theirs.engine.unknown_costs


@pytest.mark.parametrize("seed", range(40))
def test_what_is_not_watched_changes_nothing(seed: int) -> None:
    rehearsed = Rehearsal(_random_plan(Random(seed)))
    watched, unwatched = rehearsed.play(3), rehearsed.play(3, watches_pools=False)
    assert not unwatched.pools
    for name in ("seconds", "cost", "unpriced", "is_completed", "meets_ceiling", "ends", "works", "chains"):
        assert getattr(watched, name) == getattr(unwatched, name)


@pytest.mark.parametrize("seed", range(40))
def test_pools_are_never_used_beyond_their_size_and_slices_end_within_the_run(seed: int) -> None:
    rehearsed = Rehearsal(_random_plan(Random(seed)))
    result = rehearsed.play(0)
    for name, use in result.pools.items():
        assert 0.0 <= use.busy <= rehearsed.sizes[name] * result.seconds * (1 + 1e-9)
        assert use.waiting >= 0.0
    assert all(end <= result.seconds for end in result.ends.values())
    paths = rehearsed.compiled.plan.outline.paths
    assert all(seconds <= result.works[paths[row]] + 1e-6 for row, seconds in result.chains.items())


def test_a_halted_execution_has_worked_and_cost_only_until_it_was_halted() -> None:
    result = outcome(
        leaf("a", call(minutes=1, estimate={"fail": 1, "cost": 1}), retries=0),
        leaf("b", call(minutes=10, estimate={"cost": 10})),
        isolation="dir",
        failure_mode="fail_fast",
        infra_retries=0,
        history=steady(),
    )
    assert not result.is_completed
    attempts = result.works["a"] / 60.0
    assert result.seconds == pytest.approx(60.0 * attempts, abs=0.1)
    assert result.works["b"] == pytest.approx(60.0 * attempts, abs=0.1)
    assert result.cost == pytest.approx(2e6 * attempts, rel=0.01)
    assert max(result.ends.values()) <= result.seconds


def test_people_answer_at_once_and_agree() -> None:
    question = {"id": "q", "action": "ask", "question": "Well?"}
    result = outcome(leaf("a", work("x"), question, work("y")))
    assert (result.seconds, result.is_completed) == (120.0, True)


def test_the_use_of_pools_is_seconds_times_tokens() -> None:
    result = outcome(
        *[leaf(f"s{number}", work(pool="db")) for number in range(3)], max_parallel=2, pools={"db": 1}
    )
    assert result.seconds == 180.0
    assert result.pools["pool:db"].busy == 180.0
    # For a minute the second waits for the database, for another the third, which does not start before. A slice
    # that waits has lent its slot.
    assert result.pools["pool:db"].waiting == 120.0
    assert (result.pools["slots"].busy, result.pools["slots"].waiting) == (180.0, 0.0)


def test_an_unknown_price_is_counted_and_adds_nothing() -> None:
    result = outcome(leaf("a", call("x"), call("y", estimate={"cost": 1})), isolation="dir", history=steady())
    assert (result.unpriced, result.cost) == (1, 1_000_000)


def test_an_empty_start_is_the_whole_plan_and_a_replication_can_be_repeated() -> None:
    rehearsed = Rehearsal(plan(leaf("a", work(minutes="1..9"))), STEADY)
    assert rehearsed.play(5) == rehearsed.play(5)
    assert rehearsed.play(5).seconds != rehearsed.play(6).seconds


def test_an_execution_that_ends_in_the_moment_of_its_halt_ends_by_itself() -> None:
    result = outcome(
        leaf("a", work(minutes=1, estimate={"fail": 1})),
        leaf("b", work(minutes=1)),
        failure_mode="fail_fast",
    )
    assert result.seconds == 60.0
    assert result.works == {"a": 60.0, "b": 60.0}


def test_orders_that_are_no_work_of_the_plan_have_no_part_in_its_work() -> None:
    rehearsed = rehearsal(leaf("a"), isolation="dir", verify="true", history=steady(verify=60.0))
    result = rehearsed.play(0)
    assert result.works == {"a": 60.0}
    assert result.ends == {1: pytest.approx(60.0)}
