"""Usage limits of agents, and money."""

import pytest

from engine.run.stories import (
    DONE,
    SLOW,
    Data,
    Ends,
    Story,
    after,
    agent,
    begun,
    branch,
    ends,
    fails,
    group,
    join,
    leaf,
    plan,
    run,
    says,
    tell,
)
from weft.engine.engine import Engine
from weft.engine.messages.event_codec import data_of, kind_of, outcome_of
from weft.engine.messages.facts import Ended, Resumed, Spent, StepOutcome, StopAsked, Woke
from weft.engine.messages.orders import WakeAt
from weft.engine.simulate import Interruptions, SimulatedEnd
from weft.plan.compile.plan_net import CompiledPlan

# Usage limits

LIMITED = ends(StepOutcome.LIMITED, wait=100.0)
TWO_AGENTS = {"coder": {"use": "claude", "pool": 1}, "judge": {"use": "codex"}}


def test_a_step_that_met_a_usage_limit_is_done_again_after_it_and_no_attempt_is_counted() -> None:
    story = tell(plan(leaf("a", agent("work"), run("end"))), {"a:work": [LIMITED, DONE]})
    started = story.of("step_started", "a", "work")
    assert [(event.attempt, event.data["execution"]) for event in started] == [(1, 1), (1, 2)]
    assert story.finished == ["a:work limited", "a:work done", "a:end done"]
    assert story.span("a:end")[0] == 103.0


def test_while_a_slice_waits_for_a_usage_limit_others_have_its_place() -> None:
    compiled = plan(leaf("a", agent("work")), leaf("b"), leaf("c"), max_parallel=1, agents=TWO_AGENTS)
    story = tell(compiled, {"a:work": [LIMITED, DONE]})
    assert story.started == ["a:work", "b:work", "c:work", "a:work"]
    assert not story.overlap("b:work", "c:work")


def test_an_agent_that_met_a_limit_is_given_nothing_until_it_ends() -> None:
    compiled = plan(
        leaf("a", agent("work")), leaf("b", agent("work")), leaf("c", agent("work", agent="judge")),
        max_parallel=2, agents=TWO_AGENTS,
    )  # fmt: skip
    story = tell(compiled, {"a:work": [LIMITED, DONE]})
    assert story.span("c:work")[1] < 100.0
    assert story.span("b:work")[0] >= 102.0
    assert story.states == dict.fromkeys("abc", "completed")


def test_only_so_many_slices_begin_during_a_limit_as_there_are_slots() -> None:
    slices = [leaf(f"s{number}", agent("work")) for number in range(9)]
    story = tell(plan(*slices, max_parallel=2), {"s0:work": [LIMITED, DONE], "s1:work": [LIMITED, DONE]})
    early = [
        event.subplan for at_, event in story.run.events if outcome_of(event) == "running" and at_ < 50.0
    ]
    assert early == ["s0", "s1"]
    assert set(story.states.values()) == {"completed"}


def test_things_of_a_pool_that_were_lent_are_others_when_the_step_goes_on() -> None:
    compiled = plan(
        leaf("a", agent("work", pool="port")), *[leaf(name, run("work", pool="port")) for name in "bc"],
        pools={"port": {"values": [1, 2]}}, agents=TWO_AGENTS,
    )  # fmt: skip
    how: Ends = {
        "a:work": [ends(StepOutcome.LIMITED, wait=5.0), DONE],
        "b:work": says("", seconds=3.0),
        "c:work": SLOW,
    }
    story = tell(compiled, how)
    ports = [launch.env["WEFT_POOL_PORT"] for name in "abc" for launch in story.launches(f"{name}:work")]
    assert ports == ["1", "2", "2", "1"]


def test_a_limit_whose_step_was_cancelled_still_ends_for_a_new_coordinator() -> None:
    compiled = plan(
        group("g", leaf("a", agent("work")), leaf("x"), failure_mode="fail_fast"), leaf("b", agent("work")),
        failure_mode="continue_on_error", agents=TWO_AGENTS,
    )  # fmt: skip
    how = {"g/a:work": LIMITED, "g/x:work": fails(seconds=5.0)}
    story = tell(compiled, how, interruptions=Interruptions(dies=after(7)))
    assert story.states == {"g": "error", "g/a": "cancelled", "g/x": "error", "b": "completed"}


def test_only_agents_have_usage_limits() -> None:
    story = tell(plan(leaf("a"), infra_retries=1), {"a:work": LIMITED})
    assert story.finished == ["a:work infra", "a:work infra"]
    assert story.states == {"a": "infra"}


def test_a_step_that_waits_for_a_limit_can_be_cancelled() -> None:
    story = tell(plan(leaf("a", agent("work")), leaf("b")), {"a:work": LIMITED, "b:work": fails(seconds=9.0)})
    assert story.states == {"a": "cancelled", "b": "error"}
    assert story.run.seconds < 20.0


def test_two_branches_that_met_a_limit_both_go_on() -> None:
    both = [agent("x") | {"async": True}, agent("y") | {"async": True}]
    compiled = plan(leaf("a", *both, join("all", "x", "y")), leaf("b"), max_parallel=1)
    story = tell(compiled, {"a:x": [LIMITED, DONE], "a:y": [LIMITED, DONE]})
    assert story.started == ["a:x", "a:y", "b:work", "a:x", "a:y"]
    assert story.states == {"a": "completed", "b": "completed"}


def test_a_limit_outlives_the_coordinator() -> None:
    story = tell(
        plan(leaf("a", agent("work")), leaf("b", agent("work"))),
        {"a:work": [LIMITED, DONE]},
        interruptions=Interruptions(dies=after(3, 4, 5), dies_early=after(6)),
    )
    assert story.states == {"a": "completed", "b": "completed"}


def test_a_run_that_is_stopped_during_a_limit_goes_on_after_it() -> None:
    story = tell(
        plan(leaf("a", agent("work"), agent("more"))),
        {"a:work": [LIMITED, DONE]},
        interruptions=Interruptions(stops=after(3, 6)),
    )
    assert story.states == {"a": "completed"}
    assert story.finished[-1] == "a:more done"


def limited(engine: Engine, at: float, *, execution: int, until: float | None) -> float:
    """When it is tried again after it has met a limit that ends then."""
    engine.apply(Ended(at=at, firing=1, execution=execution, how=StepOutcome.LIMITED, until=until))
    events, orders = engine.take_messages()
    (wake,) = [order.at for order in orders if isinstance(order, WakeAt)]
    assert [data_of(event)["until"] for event in events if kind_of(event) == "limited"] == [wake]
    engine.apply(Woke(at=wake))
    assert [(order.firing, order.execution) for order in engine.in_flight] == [(1, execution + 1)]
    return wake


def one_agent() -> Engine:
    return begun(plan(leaf("a", agent("work"), agent("more")), isolation="none", policy="serial"))


def test_a_limit_without_an_end_is_tried_again_soon() -> None:
    assert limited(one_agent(), 5.0, execution=1, until=None) == 6.0


@pytest.mark.parametrize(("until", "end"), [(4.0, 6.0), (5.0, 6.0), (80.0, 80.0), (1e12, 5.0 + 7 * 86400)])
def test_a_limit_ends_neither_at_once_nor_in_the_distant_future(until: float, end: float) -> None:
    assert limited(one_agent(), 5.0, execution=1, until=until) == end


def test_a_limit_that_is_met_again_and_again_lasts_longer_each_time_up_to_a_quarter_of_an_hour() -> None:
    engine, at, waits = one_agent(), 0.0, list[float]()
    for execution in range(1, 14):
        wake = limited(engine, at, execution=execution, until=at)
        waits.append(wake - at)
        at = wake
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 900.0, 900.0, 900.0]


def test_after_work_that_was_done_a_limit_is_a_new_one() -> None:
    engine = one_agent()
    at = limited(engine, 0.0, execution=1, until=None)
    at = limited(engine, at, execution=2, until=None)
    engine.apply(Ended(at=at, firing=1, execution=3, how=StepOutcome.DONE))
    engine.apply(Ended(at=at, firing=2, execution=1, how=StepOutcome.LIMITED))
    assert [order for order in engine.take_messages()[1] if isinstance(order, WakeAt)] == [
        WakeAt(at=at + 1.0)
    ]


def test_several_steps_that_meet_the_same_limit_are_one_reason_to_wait() -> None:
    engine = begun(plan(leaf("a", agent("work")), leaf("b", agent("work"))))
    for firing in (1, 2):
        engine.apply(Ended(at=1.0, firing=firing, execution=1, how=StepOutcome.DONE))
    for firing in (3, 4):
        engine.apply(Ended(at=2.0, firing=firing, execution=1, how=StepOutcome.LIMITED, until=50.0 + firing))
    assert [order.at for order in engine.take_messages()[1] if isinstance(order, WakeAt)] == [53.0, 54.0]
    engine.apply(Woke(at=53.0))
    assert engine.in_flight == []
    engine.apply(Woke(at=54.0))
    assert [(order.firing, order.execution) for order in engine.in_flight] == [(3, 2), (4, 2)]


def test_and_to_wait_no_longer_than_if_one_had_met_it() -> None:
    engine = begun(plan(leaf("a", agent("work")), leaf("b", agent("work"))))
    for firing in (1, 2):
        engine.apply(Ended(at=1.0, firing=firing, execution=1, how=StepOutcome.DONE))
    for at, execution in ((2.0, 1), (3.0, 2)):
        for firing in (3, 4):
            engine.apply(Ended(at=at, firing=firing, execution=execution, how=StepOutcome.LIMITED))
        engine.apply(Woke(at=at + execution))
    assert [(order.firing, order.execution) for order in engine.in_flight] == [(3, 3), (4, 3)]


def test_agents_that_are_called_in_the_same_way_are_limited_together() -> None:
    agents = {
        "coder": {"use": "claude", "model": "sonnet", "pool": 1},
        "tester": {"use": "claude", "model": "haiku"},
        "other": {"use": "claude", "env": {"ACCOUNT": "2"}},
    }
    slices = [leaf(name, agent("work", agent=name)) for name in agents]
    before_that = leaf("later", run("first", "sleep"), agent("work", agent="tester"))
    how: Ends = {
        "coder:work": [LIMITED, DONE],
        "tester:work": SimulatedEnd(seconds=0.5),
        "later:first": says(""),
    }
    story = tell(plan(*slices, before_that, agents=agents), how)
    assert story.span("other:work")[1] < 100.0
    assert story.span("later:work")[0] >= 102.0
    (event,) = story.of("limited")
    assert (event.subplan, event.step, event.data["agents"]) == ("coder", "work", ["coder", "tester"])
    assert event.data["until"] == 102.0


# Money


def story_of(slices: list[Data], how: dict[str, SimulatedEnd], **head: object) -> Story:
    return tell(plan(*slices, failure_mode="continue_on_error", **head), how)


def spends(dollars: float) -> SimulatedEnd:
    return SimulatedEnd(cost=round(dollars * 1_000_000))


def test_what_does_not_fit_under_the_ceiling_is_not_started() -> None:
    slices = [leaf(name, agent("work", max_cost=1.0)) for name in "abc"]
    story = story_of(slices, {f"{name}:work": spends(1.0) for name in "abc"}, budget=2.5, policy="serial")
    assert story.states == {"a": "completed", "b": "completed", "c": "budget"}
    message = "$2.00 of $2.50 spent, and this may cost $1.00"
    assert story.why("c")["message"] == f"the budget of the plan is used up: {message}"
    assert story.last.cost == 2_000_000


def test_a_step_waits_for_money_that_is_reserved_and_may_not_be_spent() -> None:
    slices = [leaf(name, agent("work", max_cost=1.0)) for name in "ab"]
    story = story_of(slices, {"a:work": spends(0.2), "b:work": spends(0.5)}, budget=1.5)
    assert not story.overlap("a:work", "b:work")
    assert story.states == {"a": "completed", "b": "completed"}


def test_a_ceiling_on_a_group_counts_only_what_is_in_it() -> None:
    slices = [
        group(
            "g", leaf("a", agent("work", max_cost=1.0)), leaf("b", agent("work", max_cost=1.0)), budget=1.0
        ),
        leaf("c", agent("work", max_cost=1.0)),
    ]
    story = story_of(slices, {"g/a:work": spends(1.0), "c:work": spends(1.0)}, budget=5.0)
    assert story.states == {"g": "error", "g/a": "completed", "g/b": "budget", "c": "completed"}
    message = "$1.00 of $1.00 spent, and this may cost $1.00"
    assert story.why("g/b")["message"] == f"the budget of g is used up: {message}"


def test_at_the_ceiling_running_agents_are_ended_and_commands_go_on() -> None:
    slices = [leaf("a", agent("work")), leaf("b", agent("work")), leaf("c")]
    how = {"a:work": spends(2.0), "b:work": SLOW, "c:work": SLOW}
    story = story_of(slices, how, budget=1.0)
    assert story.states == {"a": "completed", "b": "budget", "c": "completed"}
    assert story.cancelled() == {"b:work": "b:work"}


def test_who_reaches_the_ceiling_with_its_last_step_is_completed_all_the_same() -> None:
    both = [leaf("a", agent("work")), leaf("b", agent("work", agent="judge"))]
    compiled = plan(
        group("g", *both, failure_mode="fail_fast"), leaf("c", depends_on=["/g/b"]),
        isolation="none", policy="serial", budget=1.0, failure_mode="continue_on_error",
    )  # fmt: skip
    story = tell(compiled, {"g/a:work": LIMITED, "g/b:work": spends(2.0)})
    assert story.states == {"g": "error", "g/a": "budget", "g/b": "completed", "c": "completed"}


def test_drain_lets_running_agents_finish() -> None:
    slices = [leaf("a", agent("work")), leaf("b", agent("work"), agent("more"))]
    story = story_of(slices, {"a:work": spends(2.0), "b:work": SLOW}, budget=1.0, on_budget="drain")
    assert story.states == {"a": "completed", "b": "budget"}
    assert "b:work done" in story.finished
    assert "b:more" not in story.started


def test_people_are_told_as_a_ceiling_comes_nearer() -> None:
    slices = [leaf("a", agent("work"), agent("more"), agent("most"))]
    how = {"a:work": spends(0.8), "a:more": spends(0.12), "a:most": spends(0.08)}
    story = story_of(slices, how, budget=1.0)
    values = [(event.outcome, event.data["percent"], event.data["spent"]) for event in story.of("budget")]
    assert values == [("alert", 75, 800_000), ("alert", 90, 920_000), ("reached", 100, 1_000_000)]
    assert story.states == {"a": "completed"}


def test_what_a_cancelled_agent_has_spent_counts() -> None:
    engine = begun(plan(leaf("a"), leaf("b", agent("work")), failure_mode="fail_fast"))
    for firing in (1, 2):
        engine.apply(Ended(at=1.0, firing=firing, execution=1, how=StepOutcome.DONE))
    engine.apply(Ended(at=2.0, firing=3, execution=1, how=StepOutcome.FAILED))
    engine.apply(Ended(at=3.0, firing=4, execution=1, how=StepOutcome.CANCELLED, cost=70))
    assert engine.take_messages()[0][-1].cost == 70
    assert engine.tracker.failures() == {"a": "error", "b": "cancelled"}


def test_a_cost_that_nobody_knows_is_told_as_unknown() -> None:
    story = tell(plan(leaf("a", agent("work"))))
    assert story.last.data["unknown_costs"] == 1


def test_an_agent_without_money_for_its_next_execution_is_given_up() -> None:
    how = {"a:work": [ends(StepOutcome.LIMITED, wait=5.0, cost=1_000_000), DONE]}
    story = tell(
        plan(leaf("a", agent("work", max_cost=1.0)), leaf("b"), budget=1.5, failure_mode="continue_on_error"),
        how,
    )
    assert story.states == {"a": "budget", "b": "completed"}


# What nobody knows


def test_an_agent_that_never_tells_what_it_cost_uses_up_what_was_reserved_for_it() -> None:
    slices = [leaf(name, agent("work", max_cost=1.0)) for name in "abc"]
    story = story_of(slices, {}, budget=2.5, policy="serial")
    assert story.states == {"a": "completed", "b": "completed", "c": "budget"}
    why = "$0.00 of $2.50 spent, $2.00 reserved for calls that did not report their cost, and this may cost $1.00"
    assert story.why("c")["message"] == f"the budget of the plan is used up: {why}"
    assert (story.last.cost, story.last.data["unknown_costs"]) == (0, 2)


def test_of_what_could_not_be_started_the_cost_is_known() -> None:
    story = tell(plan(leaf("a", agent("work")), infra_retries=0), {"a:work": ends(StepOutcome.INFRA)})
    assert "unknown_costs" not in story.last.data


def test_what_met_a_limit_and_did_not_report_its_cost_keeps_its_reservation() -> None:
    compiled = plan(leaf("a", agent("work", max_cost=1.0)), budget=2.5)
    story = tell(compiled, {"a:work": [LIMITED, spends(0.5)]})
    assert story.states == {"a": "completed"}
    assert story.last.data["unknown_costs"] == 1
    assert tell(compiled, {"a:work": [LIMITED, LIMITED, spends(0.5)]}).states == {"a": "budget"}


def test_what_met_a_limit_and_reports_its_cost_keeps_nothing() -> None:
    compiled = plan(leaf("a", agent("work", max_cost=1.0)), budget=1.0)
    refused = ends(StepOutcome.LIMITED, wait=100.0, cost=0)
    assert tell(compiled, {"a:work": [refused, refused, spends(0.5)]}).states == {"a": "completed"}


def test_what_is_reserved_where_nothing_is_known_is_a_setting() -> None:
    slices = [leaf(name, agent("work")) for name in "ab"]
    how = {"a:work": spends(0.2), "b:work": spends(0.5)}
    assert story_of(slices, how, budget=1.5).overlap("a:work", "b:work")
    assert not story_of(slices, how, budget=1.5, reserve=1.0).overlap("a:work", "b:work")
    tokens = {name: uses(200) for name in how}
    story = story_of(slices, tokens, budget={"tokens": "15k"}, reserve={"tokens": "10k"})
    assert not story.overlap("a:work", "b:work")


def test_nothing_stays_reserved_for_a_step_that_cannot_be_begun() -> None:
    steps = [run("first"), agent("work", "{{ step.first.json.no }}", max_cost=1.0)]
    slices = [leaf("a", *steps), leaf("b", agent("work", max_cost=1.0))]
    story = story_of(slices, {"b:work": spends(0.0)}, budget=1.0)
    assert story.states == {"a": "error", "b": "completed"}
    assert not any(story.run.engine._state.budget.reserved)
    assert not any(story.run.engine._state.token_budget.reserved)


def test_a_cost_counts_whoever_tells_it() -> None:
    story = tell(plan(leaf("a")), {"a:work": SimulatedEnd(cost=7)})
    assert (story.last.cost, "unknown_costs" in story.last.data) == (7, False)


def test_what_is_heard_of_who_has_no_account_changes_nothing() -> None:
    engine = begun(plan(leaf("a"), isolation="none", policy="serial"))
    engine.apply(Spent(at=1.0, firing=1, execution=1, cost=70))
    assert engine._state.budget.spent[0] == 0


# Tokens


def uses(tokens: int) -> SimulatedEnd:
    return SimulatedEnd(cost=0, tokens=tokens)


def test_tokens_have_ceilings_as_money_has() -> None:
    slices = [leaf(name, agent("work", max_tokens=1000)) for name in "abc"]
    how = {f"{name}:work": uses(900) for name in "abc"}
    story = story_of(slices, how, budget={"tokens": 2500}, policy="serial")
    assert story.states == {"a": "completed", "b": "completed", "c": "budget"}
    message = "1,800 tokens of 2,500 tokens spent, and this may cost 1,000 tokens"
    assert story.why("c")["message"] == f"the token budget of the plan is used up: {message}"
    assert story.last.tokens == 1800


def test_ceilings_of_both_kinds_and_of_two_levels_all_hold() -> None:
    one_each: Data = {"max_cost": 1.0, "max_tokens": 1000}
    slices = [
        group("g", *[leaf(name, agent("work", **one_each)) for name in "ab"], budget={"tokens": 1500}),
        *[leaf(name, agent("work", **one_each)) for name in "cd"],
    ]
    how = {
        name: SimulatedEnd(cost=1_000_000, tokens=1000)
        for name in ("g/a:work", "g/b:work", "c:work", "d:work")
    }
    story = story_of(slices, how, budget={"usd": 2.5, "tokens": "1M"}, policy="serial")
    assert story.states == {
        "g": "error",
        "g/a": "completed",
        "g/b": "budget",
        "c": "completed",
        "d": "budget",
    }
    assert story.why("g/b")["message"].startswith("the token budget of g is used up")
    assert story.why("d")["message"].startswith("the budget of the plan is used up")


def test_alerts_say_of_which_unit_they_are() -> None:
    story = story_of([leaf("a", agent("work"))], {"a:work": uses(95)}, budget={"usd": 1, "tokens": 100})
    values = [(event.outcome, event.data["unit"], event.data["percent"]) for event in story.of("budget")]
    assert values == [("alert", "tokens", 75), ("alert", "tokens", 90)]
    assert story.of("budget")[0].data["ceiling"] == 100


# While a step runs


def test_what_is_heard_of_a_running_step_ends_agents_at_the_ceiling() -> None:
    slices = [leaf("a", agent("work")), leaf("b", agent("work")), leaf("c")]
    how = {
        "a:work": SimulatedEnd(seconds=50.0, spends=((10.0, 800_000, 5), (20.0, 1_200_000, 6))),
        "b:work": SLOW,
        "c:work": SLOW,
    }
    story = story_of(slices, how, budget=1.0)
    assert story.states == {"a": "budget", "b": "budget", "c": "completed"}
    assert story.why("b")["message"] == "the budget of the plan is used up: $1.20 of $1.00 spent"
    assert [event.data["percent"] for event in story.of("budget")] == [75, 90, 100]
    assert story.span("a:work")[1] < 25.0
    assert (story.last.cost, story.last.tokens, story.last.data["unknown_costs"]) == (1_200_000, 6, 2)


def test_drain_lets_a_step_finish_that_is_heard_to_have_passed_the_ceiling() -> None:
    how = {"a:work": SimulatedEnd(seconds=50.0, spends=((10.0, 1_200_000, 5),), cost=1_500_000)}
    story = story_of([leaf("a", agent("work"), agent("more"))], how, budget=1.0, on_budget="drain")
    assert story.finished == ["a:work done"]
    assert story.states == {"a": "budget"}
    assert story.last.cost == 1_500_000


def test_tokens_that_are_heard_of_end_agents_too() -> None:
    how = {"a:work": SimulatedEnd(seconds=50.0, spends=((10.0, 0, 5000),))}
    story = story_of([leaf("a", agent("work"))], how, budget={"tokens": "5k"})
    assert (
        story.why("a")["message"]
        == "the token budget of the plan is used up: 5,000 tokens of 5,000 tokens spent"
    )


def test_nothing_new_starts_on_what_a_running_step_is_heard_to_have_spent() -> None:
    slices = [leaf("a", agent("work", max_cost=0.1)), leaf("b", run("first"), agent("work", max_cost=0.5))]
    how = {
        "a:work": SimulatedEnd(seconds=50.0, spends=((0.5, 700_000, 0),), cost=700_000),
        "b:first": SimulatedEnd(seconds=1.0),
    }
    story = story_of(slices, how, budget=1.0)
    assert story.states == {"a": "completed", "b": "budget"}


def test_the_end_settles_what_was_heard_once() -> None:
    how = {
        "a:work": SimulatedEnd(
            seconds=9.0, spends=((1.0, 300_000, 7), (2.0, 400_000, 8)), cost=500_000, tokens=9
        )
    }
    story = story_of([leaf("a", agent("work"))], how)
    totals = [(event.cost, event.tokens) for event in story.of("spent", "a", "work")]
    assert totals == [(300_000, 7), (400_000, 8)]
    assert (story.last.cost, story.last.tokens) == (500_000, 9)


def test_an_end_without_a_word_leaves_what_was_heard() -> None:
    how = {"a:work": SimulatedEnd(seconds=9.0, spends=((1.0, 300_000, 7),))}
    story = story_of([leaf("a", agent("work"))], how)
    (end,) = story.of("step_finished", "a", "work")
    assert (end.cost, end.tokens, end.data["cost_at_least"]) == (300_000, 7, True)
    assert (story.last.cost, story.last.data["unknown_costs"]) == (300_000, 1)


def test_what_is_heard_too_late_is_ignored() -> None:
    engine = begun(
        plan(leaf("a", agent("work")), leaf("b", agent("work")), isolation="none", policy="serial")
    )
    engine.apply(Ended(at=1.0, firing=1, execution=1, how=StepOutcome.DONE, cost=5))
    engine.take_messages()
    for fact in (
        Spent(at=2.0, firing=1, execution=1, cost=90),
        Spent(at=2.0, firing=2, execution=2, cost=90),
        Spent(at=2.0, firing=77, execution=1, cost=90),
    ):
        engine.apply(fact)
    assert [kind_of(event) for event in engine.take_messages()[0]] == ["ignored"] * 3
    assert engine._state.budget.spent[0] == 5


def test_what_is_known_so_far_can_be_asked() -> None:
    compiled = plan(
        leaf("a", agent("work")), isolation="none", policy="serial", budget={"usd": 2, "tokens": 90}
    )
    engine = begun(compiled)
    engine.apply(Spent(at=1.0, firing=1, execution=1, cost=70))
    engine.apply(Spent(at=1.0, firing=1, execution=1, tokens=8))
    assert (engine.spent_so_far(1), engine.spent_so_far(2)) == ((70, 8), (0, 0))
    assert engine.lowest_ceilings(1) == (2_000_000, 90)


def test_a_successor_counts_what_was_heard_before_as_its_predecessor_did() -> None:
    how = {
        "a:work": [
            SimulatedEnd(
                seconds=9.0, spends=((1.0, 300_000, 7),), how=StepOutcome.LIMITED, cost=350_000, wait=5.0
            ),
            SimulatedEnd(seconds=9.0, spends=((1.0, 200_000, 3), (3.0, 400_000, 4)), cost=400_000, tokens=5),
        ]
    }
    compiled = plan(leaf("a", agent("work"), agent("more")), budget=5.0)
    undisturbed = tell(compiled, how)
    for number in range(2, 9):
        story = tell(
            compiled, how, interruptions=Interruptions(dies=after(number), dies_early=after(number + 1))
        )
        assert (story.last.cost, story.last.tokens) == (750_000, 12)
        assert story.finished == undisturbed.finished


def test_what_was_stopped_with_the_run_goes_on_while_there_is_money_for_another_execution() -> None:
    slices = [leaf("a", agent("work", max_cost=1.0))]
    story = tell(plan(*slices, budget=2.0), {"a:work": SLOW}, interruptions=Interruptions(stops=after(2)))
    assert story.states == {"a": "completed"}
    assert story.finished == ["a:work stopped", "a:work done"]


def test_what_is_cancelled_for_want_of_money_as_the_run_goes_on_is_not_begun_again() -> None:
    steps = [
        agent("dear", max_cost=1.0) | {"async": True},
        run("beside") | {"async": True},
        join("all", "dear", "beside"),
    ]
    compiled = plan(leaf("a", *steps), budget=1.0)
    engine = begun(compiled)
    engine.apply(Ended(at=1.0, firing=1, execution=1, how=StepOutcome.DONE))
    engine.apply(StopAsked(at=2.0))
    engine.apply(Ended(at=3.0, firing=2, execution=1, how=StepOutcome.STOPPED, cost=500_000))
    engine.apply(Ended(at=3.0, firing=3, execution=1, how=StepOutcome.STOPPED))
    engine.take_messages()
    engine.apply(Resumed(at=4.0, epoch=2))
    assert engine.tracker.failures() == {"a": "budget"}
    events, orders = engine.take_messages()
    assert [event.step for event in events if kind_of(event) == "step_cancelled"] == ["dear", "beside"]
    assert ([event for event in events if kind_of(event) == "step_started"], orders) == ([], [])


# At a ceiling commands continue

DEAR = says("", cost=900_000)


def at_a_ceiling(mode: str, **more: object) -> CompiledPlan:
    """`a` is checked while `b` meets the ceiling."""
    return plan(
        leaf("a", agent("work", max_cost=0.9), run("check"), run("last")),
        leaf("b", run("first"), agent("work", max_cost=0.2)),
        budget=1, failure_mode=mode, **more,
    )  # fmt: skip


@pytest.mark.parametrize("mode", ["fail_fast", "continue_on_error"])
def test_at_a_ceiling_the_commands_of_other_slices_continue(mode: str) -> None:
    how = {"a:work": DEAR, "a:check": SLOW, "b:first": says("", seconds=10.0)}
    story = tell(at_a_ceiling(mode), how)
    assert story.states == {"a": "completed", "b": "budget"}
    assert story.halted == []


def test_what_is_blocked_for_lack_of_budget_cancels_nothing_either() -> None:
    compiled = plan(
        group("g", leaf("a", agent("work", max_cost=0.9), run("check"))),
        group("h", leaf("b", run("first"), agent("work", max_cost=0.2)), leaf("c", depends_on=["b"])),
        leaf("d", depends_on=["h"]),
        budget=1, failure_mode="fail_fast",
    )  # fmt: skip
    how = {"g/a:work": DEAR, "g/a:check": SLOW, "h/b:first": says("", seconds=10.0)}
    assert tell(compiled, how).states == {
        "g": "completed", "g/a": "completed", "h": "error", "h/b": "budget", "h/c": "blocked", "d": "blocked",
    }  # fmt: skip


def test_another_failure_still_cancels_at_once() -> None:
    how = {"a:work": DEAR, "a:check": SLOW, "b:first": fails(seconds=10.0)}
    assert tell(at_a_ceiling("fail_fast"), how).states == {"a": "cancelled", "b": "error"}


def test_a_command_beside_an_agent_that_meets_the_ceiling_finishes() -> None:
    compiled = plan(
        leaf("a", agent("work", max_cost=0.9), branch("test"), agent("more"), join("end", "test")), budget=1
    )
    how = {"a:work": says("", cost=1_000_000), "a:test": SLOW}
    story = tell(compiled, how)
    assert story.finished == ["a:work done", "a:test done"]
    assert story.states == {"a": "budget"}


def test_running_agents_end_at_the_ceiling_and_the_command_beside_them_finishes() -> None:
    work = agent("work", max_cost=0.9) | {"async": True}
    compiled = plan(leaf("a", work, run("test"), join("end", "work")), budget=1)
    how = {"a:work": says("", seconds=20.0, spends=((5.0, 1_000_000, 0),)), "a:test": SLOW}
    story = tell(compiled, how)
    assert story.finished == ["a:work cancelled", "a:test done"]
    assert story.states == {"a": "budget"}
