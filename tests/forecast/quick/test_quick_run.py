"""Quick runs, against the engine: the same luck gives the same run, to the last bit."""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from forecast.rehearsals import STEADY, Data, call, leaf, plan, steady, work
from sim.random_plans import Drawer
from weft.engine.messages.facts import EarlierSlice, EarlierSpending
from weft.forecast.history import History, LimitSample
from weft.forecast.replications import Rehearsal
from weft.forecast.spread import Spread
from weft.forecast.start import Start
from weft.plan.loader.load import Surroundings, load_plan
from weft.plan.model import Plan
from weft.plan.text.problems import PlanError

SEEDS = range(300)
REPLICATIONS = range(3)


class _EstimatedPlans(Drawer):
    """Plans without questions to people. The steps have estimates: wide ranges, or equal times with many ties."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.rows = random.randint(1, 14)
        self.has_ties = random.random() < 0.3

    def settings(self, part: float) -> Data:
        order = self.maybe(part, order=lambda: self.random.choice(["sequential", "completion"]))
        settings = super().settings(part)
        return settings | ({"merge": settings.get("merge", {}) | order} if order else {})

    def step(self, name: str, earlier: list[Data], *, nested: bool) -> Data:
        step: Data = super().step(name, earlier, nested=nested)
        if step.get("action") == "ask":
            step = dict[str, Any](id=name, run="true")
        if step.keys() & {"run", "prompt"} or step.get("action") == "verify":
            is_retried = "on_fail" in step or "max_retries" in step
            step["estimate"] = self.estimate(fails=0.5 if is_retried else 0.04)
        return step

    def estimate(self, fails: float) -> Data:
        random = self.random
        minutes: Any = f"{random.randint(1, 3)}..{random.randint(4, 9)}"
        return {
            "minutes": random.randint(1, 3) if self.has_ties else minutes,
            **self.maybe(fails, fail=lambda: random.choice([0.05, 0.2, 0.5])),
            **self.maybe(0.5, cost=lambda: random.choice([0.01, 0.05, 0.3])),
        }


def _random_plan(random: Random) -> Plan:
    while True:
        try:
            text = json.dumps(_EstimatedPlans(random).plan())
            return load_plan(text, surroundings=Surroundings(git=False))
        except PlanError:
            continue


def _random_start(plan_: Plan, random: Random) -> Start:
    """Returns the start of a run after others that have completed some slices, and landed some of them."""
    outline = plan_.outline
    slices = [str(path) for path, is_leaf in zip(outline.paths, outline.leaves, strict=True) if is_leaf]
    carried = tuple(path for path in slices if random.random() < 0.4)
    landed = tuple(path for path in carried if random.random() < 0.5)
    spending = EarlierSpending(subplan=random.choice(slices), cost=random.choice([0, 2_000, 50_000]))
    return Start(carried=carried, landed=landed, earlier=(spending,))


def _random_rehearsals(seed: int) -> tuple[Rehearsal, Rehearsal]:
    """Returns the same rehearsal with and without quick runs."""
    random = Random(seed)
    plan_ = _random_plan(random)
    history = History(sigma=random.choice([0.0, 0.2]))
    start = _random_start(plan_, random) if random.random() < 0.4 else Start()
    return (
        Rehearsal(plan_, history, seed=seed, start=start),
        Rehearsal(plan_, history, seed=seed, start=start, is_quick=False),
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_quick_runs_change_nothing_in_the_outcomes_of_random_plans(seed: int) -> None:
    quick, slow = _random_rehearsals(seed)
    for number in REPLICATIONS:
        assert quick.play(number) == slow.play(number)


def test_most_runs_of_random_plans_are_quick() -> None:
    outcomes = [
        quick.play_quickly(number)
        for quick, _ in map(_random_rehearsals, SEEDS[::5])
        for number in REPLICATIONS
    ]
    assert sum(outcome is not None for outcome in outcomes) > len(outcomes) / 2


def _pair(
    *subplans: Data, history: History = STEADY, start: Start | None = None, **head: Any
) -> Iterator[Rehearsal]:
    for is_quick in (True, False):
        yield Rehearsal(plan(*subplans, **head), history, start=start or Start(), is_quick=is_quick)


# Crowds: many slices behind few tokens, where lanes, hold-backs, lent slots and the backlog of merges matter

_PIPELINES: Data = {
    "coded": [
        call("code", minutes="5..20"),
        work(
            "test",
            minutes="1..3",
            pool="db",
            estimate={"fail": 0.1},
            on_fail={"retry_from": "code", "max": 6},
        ),
    ],
    "tested": [work("test", minutes=2, pools=["db", "lab"]), call("code", minutes="2..40", agent="second")],
    "built": [work("build", minutes=1, pools={"lab": 2}), work("check", minutes=1)],
    "beside": [
        work("lint", minutes="1..2", **{"async": True}),
        work("types", minutes="1..5", pool="db", **{"async": True}),
        {"id": "both", "action": "join", "depends_on": ["lint", "types"]},
        call("code"),
    ],
}


def _crowd(random: Random) -> tuple[Plan, History]:
    groups: list[Data] = []
    for number in range(random.randint(1, 3)):
        slices = [
            {
                "id": f"s{place}",
                "prompt": "do",
                "pipeline": random.choice(list(_PIPELINES)),
                **_after(place, random),
            }
            for place in range(random.randint(8, 40))
        ]
        settings: Data = {}
        if random.random() < 0.5:
            settings["max_parallel"] = random.randint(2, 8)
        if random.random() < 0.2:
            settings["policy"] = "serial"
        groups.append({"id": f"g{number}", "subplans": slices, **settings})
    head: Data = {
        "max_parallel": random.randint(2, 12),
        "isolation": random.choice(["worktree", "dir"]),
        "agents": {
            "coder": {"use": "claude", "pool": random.randint(1, 5)},
            "second": {"use": "codex", "max_cost": 2},
        },
        "pools": {"db": random.randint(1, 2), "lab": 2},
        "pipelines": _PIPELINES,
        "merge": {
            "order": random.choice(["sequential", "completion"]),
            "when": random.choice(["slice", "milestone"]),
        },
    }
    if random.random() < 0.4:
        head |= {"budget": random.randint(20, 300), "reserve": 5}
    return plan(*groups, git=True, **head), steady(merge=random.choice([1e-6, 60.0, 400.0]))


def _after(place: int, random: Random) -> Data:
    return {"depends_on": [f"s{random.randrange(place)}"]} if place and random.random() < 0.3 else {}


@pytest.mark.parametrize("seed", range(80))
def test_quick_runs_of_crowds_are_those_of_the_engine(seed: int) -> None:
    plan_, history = _crowd(Random(seed))
    quick, slow = Rehearsal(plan_, history), Rehearsal(plan_, history, is_quick=False)
    for number in range(2):
        assert quick.play(number) == slow.play(number)


def test_most_runs_of_crowds_are_quick() -> None:
    outcomes = [Rehearsal(*_crowd(Random(seed))).play_quickly(0) for seed in range(40)]
    assert sum(outcome is not None for outcome in outcomes) > len(outcomes) / 2


# What only the engine plays


def test_a_step_that_fails_for_good_is_for_the_engine() -> None:
    quick, slow = _pair(leaf("a", work(estimate={"fail": 1})), leaf("b"))
    assert quick.play_quickly(0) is None
    assert quick.play(0) == slow.play(0)
    assert not quick.play(0).is_completed


def test_a_failure_that_a_retry_puts_right_is_no_reason_for_the_engine() -> None:
    again: Data = {"on_error": "retry", "max_retries": 9}
    quick, slow = _pair(leaf("a", work(minutes="1..2", estimate={"fail": 0.5}, **again)))
    outcomes = [quick.play_quickly(number) for number in range(30)]
    assert outcomes == [slow.play(number) for number in range(30)]
    lengths = [outcome.seconds for outcome in outcomes if outcome is not None]
    assert max(lengths) > 200.0


def test_a_step_beyond_its_time_limit_is_for_the_engine() -> None:
    quick, slow = _pair(leaf("a", work(minutes=5)), timeout="2m")
    assert quick.play_quickly(0) is None
    assert quick.play(0) == slow.play(0)


def test_an_agent_that_meets_a_usage_limit_is_for_the_engine() -> None:
    history = History(sigma=0.0, limits={"coder": LimitSample(share=0.5, wait=Spread(600.0))})
    quick, slow = _pair(leaf("a", call()), isolation="dir", history=history)
    outcomes = [quick.play_quickly(number) for number in range(40)]
    limited = [slow.play(number).seconds > 600.0 for number in range(40)]
    assert [outcome is None for outcome in outcomes] == limited
    assert 0 < sum(limited) < 40
    assert [quick.play(number) for number in range(40)] == [slow.play(number) for number in range(40)]


def test_a_run_that_meets_its_ceiling_is_for_the_engine() -> None:
    slices = [leaf(f"s{number}", call(estimate={"cost": 1})) for number in range(4)]
    quick, slow = _pair(*slices, isolation="dir", budget=2.5)
    assert quick.play_quickly(0) is None
    assert quick.play(0) == slow.play(0)
    assert quick.play(0).meets_ceiling


def test_a_ceiling_that_is_not_met_is_no_reason_for_the_engine() -> None:
    slices = [leaf(f"s{number}", call(estimate={"cost": 1})) for number in range(4)]
    quick, slow = _pair(*slices, isolation="dir", budget=4.5)
    assert quick.play_quickly(0) == slow.play(0)


def test_what_earlier_runs_spent_counts_against_the_ceiling() -> None:
    start = Start(earlier=(EarlierSpending(subplan="s0", cost=2_000_000),))
    slices = [leaf(f"s{number}", call(estimate={"cost": 1})) for number in range(4)]
    quick, slow = _pair(*slices, isolation="dir", budget=4.5, start=start)
    assert quick.play_quickly(0) is None
    assert quick.play(0) == slow.play(0)


def test_a_plan_with_a_question_is_for_the_engine() -> None:
    question = {"id": "q", "action": "ask", "question": "Well?"}
    quick, slow = _pair(leaf("a", work("x"), question, work("y")))
    assert quick.play_quickly(0) is None
    assert quick.play(0) == slow.play(0)


def test_a_start_in_the_middle_of_a_slice_is_for_the_engine() -> None:
    start = Start(continued=(EarlierSlice(subplan="a", run="r"),))
    quick, slow = _pair(leaf("a", work("x"), work("y")), start=start)
    assert quick.play_quickly(0) is None
    assert quick.play(0) == slow.play(0)


def test_a_plan_that_always_fails_is_left_to_the_engine_and_has_the_same_outcomes() -> None:
    quick, slow = _pair(leaf("a", work(minutes="1..2", estimate={"fail": 1})))
    assert [quick.play(number) for number in range(40)] == [slow.play(number) for number in range(40)]


def test_an_unknown_price_is_counted_in_a_quick_run() -> None:
    quick, _ = _pair(leaf("a", call("x"), call("y", estimate={"cost": 1})), isolation="dir")
    outcome = quick.play_quickly(0)
    assert outcome is not None
    assert (outcome.unpriced, outcome.cost) == (1, 1_000_000)


def test_another_limit_meets_the_same_luck() -> None:
    quick, _ = _pair(*[leaf(f"s{number}", work(minutes="1..9")) for number in range(6)], max_parallel=1)
    wide = quick.changed([])
    assert wide.play_quickly(2) == quick.play_quickly(2)
