"""Where the duration, the cost and the failures of each piece of work come from."""

from math import log
from typing import Any

import pytest

from forecast.rehearsals import Data, call, group, leaf, plan, sampled, work
from weft.engine.messages.orders import Land, Launch, LaunchKind, Merge, Prepare
from weft.forecast.estimates import (
    AGENT_MINUTES,
    COMMAND_SECONDS,
    MERGE_SECONDS,
    WORKSPACE_SECONDS,
    Basis,
    Estimates,
    WorkEstimate,
)
from weft.forecast.history import History, LimitSample, WorkSample
from weft.forecast.spread import LogSample, Noise, Spread, between
from weft.forecast.streams import key_of

BARE: Data = {"id": "call", "agent": "coder", "prompt": "do"}
COMMAND: Data = {"id": "work", "run": "true"}
OWN = ("a", "call")


def estimates(*steps: Data, history: History | None = None, **slice_: Any) -> Estimates:
    """Of a plan with the slice `a`, which has these steps."""
    return Estimates(plan(leaf("a", *steps, **slice_), isolation="dir"), history or History())


def of(*steps: Data, address: str | None = None, **more: Any) -> WorkEstimate:
    return estimates(*steps, **more).of_step(1, address or steps[0]["id"])


def cost_of(*values: float, free: int = 0, unpriced: int = 0, seconds: float = 60.0) -> WorkSample:
    count = len(values) + free + unpriced
    mean = sum(map(log, values)) / len(values) if values else 0.0
    return WorkSample(
        seconds=LogSample(count, log(seconds), 0.0),
        cost=LogSample(len(values), mean, 0.0),
        free=free,
        unpriced=unpriced,
    )


# Durations


def test_the_plan_comes_before_all_history() -> None:
    history = History(steps={OWN: sampled(9.0)}, agents={"coder": sampled(99.0)})
    estimate = of(call(minutes="5..20"), history=history)
    assert estimate.seconds == between(300.0, 1200.0)
    assert estimate.basis is Basis.PLAN


def test_the_history_of_the_step_comes_before_that_of_its_agent() -> None:
    history = History(steps={OWN: sampled(9.0, 1000)}, agents={"coder": sampled(99.0, 2000, 1.0)})
    estimate = of(BARE, history=history)
    assert estimate.seconds.median == pytest.approx(9.0, rel=0.01)
    assert estimate.basis is Basis.HISTORY


def test_a_short_history_of_the_step_is_drawn_towards_its_agent() -> None:
    noise = {"coder": Noise(0.04 * 10**9, 10**9)}
    agents = {"coder": WorkSample(seconds=LogSample(50, log(1000.0), 0.04 + 0.02))}
    history = History(steps={OWN: sampled(10.0, 2, 0.04)}, agents=agents, noises=noise)
    # Two observations, each with a variance of 0.04, tell as much as that steps differ by a variance of 0.02.
    assert of(BARE, history=history).seconds.median == pytest.approx(100.0)


def test_the_history_of_the_agent_comes_before_the_default() -> None:
    history = History(steps={("b", "call"): sampled(9.0)}, agents={"coder": sampled(99.0)})
    estimate = of(BARE, history=history)
    assert estimate.seconds.median == pytest.approx(99.0)
    assert estimate.basis is Basis.AGENT


def test_the_history_of_another_agent_says_nothing() -> None:
    estimate = of(BARE, history=History(agents={"tester": sampled(9.0)}))
    low, high = AGENT_MINUTES
    assert estimate.seconds == between(60 * low, 60 * high)
    assert estimate.basis is Basis.DEFAULT


def test_a_command_is_drawn_towards_nothing_else() -> None:
    history = History(kinds={"@merge": sampled(7.0)}, agents={"coder": sampled(9.0)})
    assert of(COMMAND, history=history).seconds == between(*COMMAND_SECONDS)
    assert of(COMMAND).seconds == between(*COMMAND_SECONDS)


# The estimate of a slice


def test_agents_of_a_slice_share_its_estimate_in_equal_parts_and_with_one_luck() -> None:
    several = estimates(
        BARE, COMMAND, {**BARE, "id": "review"}, estimate={"minutes": "10..40", "cost": 3, "fail": 0.36}
    )
    first, command, second = (several.of_step(1, name) for name in ("call", "work", "review"))
    assert first.seconds == second.seconds == between(600.0, 2400.0).scaled(1 / 2)
    assert first.shared == second.shared != 0
    assert first.cost == second.cost == Spread(1_500_000.0)
    assert command.seconds == between(*COMMAND_SECONDS)
    assert command.shared == 0
    assert command.cost == Spread(0.0)


def test_the_agents_of_a_slice_fail_together_as_often_as_its_estimate_says() -> None:
    several = estimates(BARE, {**BARE, "id": "review"}, estimate={"fail": 0.36})
    fails = [several.of_step(1, name).fail for name in ("call", "review")]
    assert fails == [pytest.approx(0.2), pytest.approx(0.2)]
    assert estimates(BARE, estimate={"fail": 1}).of_step(1, "call").fail == 1.0


def test_commands_share_the_estimate_of_a_slice_without_agents() -> None:
    several = estimates(COMMAND, {**COMMAND, "id": "more"}, estimate={"minutes": 6, "cost": 1})
    assert several.of_step(1, "work").seconds == several.of_step(1, "more").seconds == Spread(180.0)
    assert several.of_step(1, "work").cost == Spread(0.0)


def test_the_estimate_of_a_step_comes_before_that_of_its_slice() -> None:
    both = estimates(
        call(minutes=1, estimate={"cost": 2, "fail": 0.5}),
        {**BARE, "id": "review"},
        estimate={"minutes": 20, "cost": 8, "fail": 0},
    )
    own, rest = both.of_step(1, "call"), both.of_step(1, "review")
    assert (own.seconds, own.cost, own.fail, own.shared) == (Spread(60.0), Spread(2e6), 0.5, 0)
    assert (rest.seconds, rest.cost, rest.fail) == (Spread(600.0), Spread(4e6), 0.0)


def test_a_step_with_any_name_has_a_luck_of_its_own() -> None:
    several = estimates({**BARE, "id": "slice"}, BARE, estimate={"minutes": "10..40"})
    assert several.of_step(1, "slice").stream != several.of_step(1, "call").shared


def test_steps_of_a_nested_pipeline_are_addressed_through_it() -> None:
    nested = Estimates(
        plan(
            leaf("a", {"id": "outer", "pipeline": "inner"}, estimate={"minutes": 8}),
            isolation="dir",
            pipelines={"inner": [BARE, {**BARE, "id": "review"}]},
        )
    )
    assert (
        nested.of_step(1, "outer.call").seconds == nested.of_step(1, "outer.review").seconds == Spread(240.0)
    )
    assert [step.step for step in nested.listed()] == ["outer.call", "outer.review"]


def test_steps_that_run_beside_others_are_branches() -> None:
    beside = {"async": True}
    several = Estimates(
        plan(
            leaf(
                "a",
                work("x", **beside),
                {"id": "n", "pipeline": "inner", **beside},
                work("y"),
                {"id": "m", "pipeline": "inner"},
                {"id": "j", "action": "join", "depends_on": ["x", "n"]},
            ),
            pipelines={"inner": [work("p"), work("q")]},
        )
    )
    branches = {step.step: step.estimate.branch for step in several.listed()}
    assert branches == {"x": "x", "n.p": "n.p", "n.q": "n.q", "y": "", "m.p": "", "m.q": ""}


# Costs


def test_an_agent_without_any_price_has_an_unknown_cost_and_not_none() -> None:
    assert of(BARE).cost is None
    assert of(BARE, history=History(agents={"coder": cost_of(unpriced=5)})).cost is None


def test_a_command_costs_nothing() -> None:
    assert of(COMMAND).cost == Spread(0.0)
    assert of(work(estimate={"cost": 0.5})).cost == Spread(500_000.0)


def test_a_cost_comes_from_the_plan_then_the_step_then_the_agent() -> None:
    own, agent = cost_of(*[100.0] * 1000), cost_of(*[900.0] * 10)
    history = History(steps={OWN: own}, agents={"coder": agent})
    written = of(call(estimate={"cost": 0.25}), history=history).cost
    step = of(BARE, history=history).cost
    group_ = of(BARE, history=History(agents={"coder": agent})).cost
    assert written == Spread(250_000.0)
    assert step is not None
    assert step.median == pytest.approx(100.0, rel=0.01)
    assert group_ is not None
    assert group_.median == pytest.approx(900.0)


def test_an_unknown_price_of_the_step_falls_back_to_that_of_its_agent() -> None:
    history = History(
        steps={OWN: cost_of(unpriced=2)}, agents={"coder": cost_of(50.0, 50.0, 50.0, unpriced=2)}
    )
    cost = of(BARE, history=history).cost
    assert cost is not None
    assert cost.median == pytest.approx(50.0)


def test_a_mostly_unknown_price_is_unknown() -> None:
    assert of(BARE, history=History(steps={OWN: cost_of(50.0, unpriced=2)})).cost is None


def test_an_agent_that_is_known_to_be_free_costs_nothing() -> None:
    assert of(BARE, history=History(agents={"coder": cost_of(free=3)})).cost == Spread(0.0)


# Failures and limits


def failing(count: int, failures: int) -> WorkSample:
    return WorkSample(seconds=LogSample(count, 1.0, 0.0), failures=failures)


@pytest.mark.parametrize(
    ("own", "group_", "share"),
    [
        (failing(9, 2), failing(99, 9), 0.25),
        (failing(2, 2), failing(99, 0), 0.0),
        (failing(2, 2), failing(9, 2), 0.25),
        (failing(3, 0), failing(9, 9), 0.0),
        (failing(1, 1), failing(2, 2), 0.0),
    ],
)
def test_how_often_a_step_fails_follows_from_enough_executions(
    own: WorkSample, group_: WorkSample, share: float
) -> None:
    assert of(BARE, history=History(steps={OWN: own}, agents={"coder": group_})).fail == share


def test_no_history_of_failures_is_certain() -> None:
    assert 0.9 < of(BARE, history=History(steps={OWN: failing(9, 9)})).fail < 1.0


def test_a_step_meets_the_usage_limits_of_its_agent() -> None:
    limit = LimitSample(share=0.1, wait=Spread(600.0))
    history = History(limits={"coder": limit})
    assert of(BARE, history=history).limit == limit
    assert of(COMMAND, history=history).limit == LimitSample()


# The work of Weft itself


def order(type_: type, **more: Any) -> Any:
    return type_(firing=1, execution=1, row=1, path="a", **more)


def launch(kind: LaunchKind, step: str, **more: Any) -> Launch:
    launched: Launch = order(Launch, step=step, kind=kind, attempt=1, timeout=60.0, grace=1.0, **more)
    return launched


def test_work_of_weft_itself_has_short_defaults() -> None:
    several = estimates(COMMAND)
    assert several.of(order(Prepare)).seconds == between(*WORKSPACE_SECONDS)
    assert several.of(order(Merge)).seconds == between(*MERGE_SECONDS)
    assert several.of(order(Land)).seconds == between(*MERGE_SECONDS)
    assert several.of(launch(LaunchKind.VERIFY, "@verify")).seconds == between(*COMMAND_SECONDS)
    low, high = AGENT_MINUTES
    assert several.of(launch(LaunchKind.RESOLVE, "@resolve")).seconds == between(60 * low, 60 * high)
    assert several.of(order(Merge)).basis is Basis.INTERNAL


def test_a_workspace_that_is_set_up_and_a_landing_that_is_verified_take_longer() -> None:
    subplans = leaf("a", COMMAND)
    several = Estimates(plan(subplans, isolation="dir", setup="make", verify="true"))
    assert several.of(order(Prepare)).seconds == between(*COMMAND_SECONDS)
    assert several.of(order(Land)).seconds == between(*COMMAND_SECONDS)


def test_work_of_weft_itself_follows_its_history() -> None:
    history = History(
        steps={("a", "@merge"): sampled(4.0, 1000)},
        kinds={"@merge": sampled(1.0, 2000, 1.0), "@workspace": sampled(3.0), "@land": sampled(5.0)},
    )
    several = estimates(COMMAND, history=history)
    merge, prepare, land = (several.of(order(kind)) for kind in (Merge, Prepare, Land))
    assert merge.seconds.median == pytest.approx(4.0, rel=0.01)
    assert prepare.seconds.median == pytest.approx(3.0)
    assert land.seconds.median == pytest.approx(5.0)
    assert {each.basis for each in (merge, prepare, land)} == {Basis.HISTORY}


def test_each_piece_of_work_has_a_stream_of_its_own() -> None:
    several = estimates(COMMAND)
    streams = {several.of(order(kind)).stream for kind in (Prepare, Merge, Land)}
    streams.add(several.of(launch(LaunchKind.STEP, "work")).stream)
    assert len(streams) == 4
    assert key_of("a", "work") in streams
    assert several.of(order(Merge)) is several.of(order(Merge))


def test_the_list_for_people_has_each_process_in_plan_order() -> None:
    several = Estimates(
        plan(
            leaf(
                "b",
                work("x"),
                {"id": "q", "action": "ask", "question": "Well?"},
                {"id": "v", "action": "verify"},
            ),
            group("g", leaf("c", BARE)),
            isolation="dir",
            verify="true",
        )
    )
    assert [(step.path, step.step, step.agent) for step in several.listed()] == [
        ("b", "x", None),
        ("b", "v", None),
        ("g/c", "call", "coder"),
    ]
    assert several.sigma is None
    assert Estimates(plan(leaf("a")), History(sigma=0.1)).sigma == 0.1


@pytest.mark.parametrize(
    ("minutes", "may"), [("5..20", False), ("10..30", False), ("7..30", False), ("5..31", True)]
)
def test_a_step_whose_estimate_exceeds_its_timeout_may_time_out(minutes: str, *, may: bool) -> None:
    several = estimates({**COMMAND, "estimate": {"minutes": minutes}, "timeout": "30m"})
    assert [step.may_time_out for step in several.listed()] == [may]


def test_a_default_does_not_exceed_a_timeout() -> None:
    assert [step.may_time_out for step in estimates({**BARE, "timeout": "5m"}).listed()] == [False]
