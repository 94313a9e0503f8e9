"""What earlier runs of a plan spent counts against its ceilings."""

import pytest

from engine.run.stories import agent, group, leaf, plan, run, says
from stored_events import StoredEvent, all_stored
from weft.engine.engine import Engine
from weft.engine.messages.event_codec import kind_of, outcome_of
from weft.engine.messages.facts import (
    EarlierSpending,
    Ended,
    Resumed,
    RunStarted,
    Spent,
    StepOutcome,
    StopAsked,
)
from weft.engine.messages.orders import Launch
from weft.engine.simulate import SimulatedEnd, Simulator
from weft.engine.state.budget import Budget
from weft.plan.compile.plan_net import CompiledPlan

WORK = agent("work", max_cost=0.45)


def play(compiled: CompiledPlan, *earlier: EarlierSpending, cost: int = 450_000) -> list[StoredEvent]:
    simulator = Simulator(
        compiled, lambda order: says("", cost=cost) if isinstance(order, Launch) else SimulatedEnd()
    )
    return all_stored(event for _, event in simulator.play(earlier=earlier).events)


def failures(events: list[StoredEvent]) -> dict[str, str]:
    return {
        event.subplan: event.data["message"]
        for event in events
        if event.kind == "subplan_state" and event.outcome == "failed" and event.data["reason"] == "budget"
    }


def test_a_ceiling_counts_what_earlier_runs_spent() -> None:
    compiled = plan(leaf("a", WORK), budget=2)
    assert failures(play(compiled, EarlierSpending(subplan="a", cost=1_900_000))) == {
        "a": "the budget of the plan is used up: $1.90 of $2.00 spent ($1.90 by earlier runs), "
        "and this may cost $0.45"
    }
    assert failures(play(compiled, EarlierSpending(subplan="a", cost=1_550_000))) == {}


def test_each_ceiling_counts_what_was_spent_below_it() -> None:
    compiled = plan(
        group("g", leaf("a", WORK), budget=1), group("h", leaf("b", WORK), budget=1),
        failure_mode="continue_on_error",
    )  # fmt: skip
    assert list(failures(play(compiled, EarlierSpending(subplan="g/a", cost=900_000)))) == ["g/a"]


@pytest.mark.parametrize("gone", ["g/was-here", "g/was/here"])
def test_what_a_removed_subplan_spent_counts_for_the_groups_that_it_was_in(gone: str) -> None:
    compiled = plan(
        group("g", leaf("a", WORK), budget=1), leaf("b", WORK), failure_mode="continue_on_error", budget=2
    )
    spent = EarlierSpending(subplan=gone, cost=900_000)
    assert list(failures(play(compiled, spent))) == ["g/a"]
    more = EarlierSpending(subplan="was", cost=900_000)
    assert sorted(failures(play(compiled, spent, more))) == ["b", "g/a"]


def test_what_stays_reserved_for_calls_of_unknown_cost_counts() -> None:
    compiled = plan(leaf("a", WORK), budget=2)
    earlier = EarlierSpending(subplan="a", unknown=2, assumed=1_900_000)
    assert failures(play(compiled, earlier)) == {
        "a": "the budget of the plan is used up: $0.00 of $2.00 spent, $1.90 reserved for calls that did not "
        "report their cost, and this may cost $0.45"
    }


def test_tokens_of_earlier_runs_count() -> None:
    compiled = plan(leaf("a", agent("work", max_tokens=200)), budget={"tokens": 1_000})
    assert list(failures(play(compiled, EarlierSpending(subplan="a", tokens=900)))) == ["a"]


def test_a_run_reports_what_it_spent_itself() -> None:
    earlier = EarlierSpending(subplan="a", cost=1_000_000, tokens=5, unknown=3)
    end = play(plan(leaf("a", WORK), budget=2), earlier)[-1]
    assert (end.kind, end.cost, end.data.get("unknown_costs")) == ("run_finished", 450_000, None)


def test_an_alert_that_an_earlier_run_raised_is_not_repeated() -> None:
    compiled = plan(leaf("a", WORK), budget=2)
    events = play(compiled, EarlierSpending(subplan="a", cost=1_520_000))
    assert [event.data["percent"] for event in events if event.kind == "budget"] == [90]


# A reset


def stopped() -> Engine:
    """One agent spent $1.00 of $1.20, another $0.15 so far; then the run was stopped."""
    compiled = plan(
        leaf("a", agent("work", max_cost=1)), leaf("b", agent("work", max_cost=0.2), run("check")), budget=1.2
    )
    engine = Engine(compiled)
    engine.apply(RunStarted(at=0.0, run="r"))
    for firing in (1, 2):
        engine.apply(Ended(at=1.0, firing=firing, execution=1, how=StepOutcome.DONE))
    engine.apply(Ended(at=2.0, firing=3, execution=1, how=StepOutcome.DONE, cost=1_000_000))
    while others := [order for order in engine.in_flight if order.path == "a"]:
        engine.apply(Ended(at=2.0, firing=others[0].firing, execution=1, how=StepOutcome.DONE))
    engine.apply(Spent(at=2.0, firing=4, execution=1, cost=150_000))
    engine.apply(StopAsked(at=3.0))
    engine.apply(Ended(at=3.0, firing=4, execution=1, how=StepOutcome.STOPPED, cost=150_000, signal=15))
    assert engine.state == "stopped"
    engine.take_messages()
    return engine


def test_a_run_that_is_resumed_has_spent_what_it_had_spent() -> None:
    engine = stopped()
    engine.apply(Resumed(at=4.0, epoch=2))
    events, _ = engine.take_messages()
    assert list(failures(all_stored(events))) == ["b"]


def test_a_reset_lets_it_continue_and_count_from_zero() -> None:
    engine = stopped()
    engine.apply(Resumed(at=4.0, epoch=2, fresh_budget=True))
    events, orders = engine.take_messages()
    assert [outcome_of(event) for event in events if kind_of(event) == "budget"] == ["reset"]
    assert [order.step for order in orders if isinstance(order, Launch)] == ["work"]
    budget = engine._state.budget
    assert (budget.spent[0], budget.own(0)) == (0, 1_150_000)


def test_after_a_reset_what_is_under_way_counts_with_all_that_it_spends() -> None:
    budget = Budget([-1, 0], [100, None])
    budget.carry(1, spent=60, assumed=10, unknown=1)
    budget.open(7, 1, 20)
    budget.record(7, 15)
    budget.reset()
    assert (budget.spent, budget.assumed, budget.unknown) == ([15, 15], [0, 0], [0, 0])
    budget.settle(7, 80)
    assert (budget.spent[0], budget.own(0), budget.earlier(0)) == (80, 80, 0)
    assert budget.alerts() == [(0, 75)]


def test_of_a_run_that_spent_before_a_reset_nothing_is_lost() -> None:
    budget = Budget([-1, 0], [100, None])
    budget.open(1, 1, 20)
    budget.settle(1, None)
    budget.open(2, 1, 20)
    budget.settle(2, 30)
    budget.reset()
    assert (budget.spent[0], budget.committed(0), budget.own(0), budget.own_unknown) == (0, 0, 30, 1)
