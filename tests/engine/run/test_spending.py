"""Usage limits of agents, and money."""

from engine.run.stories import (
    DONE,
    SLOW,
    Data,
    Ends,
    Story,
    after,
    agent,
    begun,
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
from weft.engine.run.facts import Ended, How, Woke
from weft.engine.run.orders import WakeAt
from weft.engine.run.simulate import Happening, Interruptions

# Usage limits

LIMITED = ends(How.LIMITED, wait=100.0)
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


def test_only_so_many_slices_begin_during_a_limit_as_there_are_slots_twice_over() -> None:
    slices = [leaf(f"s{number}", agent("work")) for number in range(9)]
    story = tell(plan(*slices, max_parallel=2), {"s0:work": [LIMITED, DONE], "s1:work": [LIMITED, DONE]})
    early = [event.subplan for at_, event in story.run.events if event.outcome == "running" and at_ < 50.0]
    assert early == ["s0", "s1", "s2", "s3"]
    assert set(story.states.values()) == {"completed"}


def test_things_of_a_pool_that_were_lent_are_others_when_the_step_goes_on() -> None:
    compiled = plan(
        leaf("a", agent("work", pool="port")), *[leaf(name, run("work", pool="port")) for name in "bc"],
        pools={"port": {"values": [1, 2]}}, agents=TWO_AGENTS,
    )  # fmt: skip
    how: Ends = {
        "a:work": [ends(How.LIMITED, wait=5.0), DONE],
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


def test_a_limit_without_an_end_is_tried_again_at_once() -> None:
    engine = begun(plan(leaf("a", agent("work")), isolation="none", policy="serial"))
    engine.apply(Ended(at=5.0, firing=1, execution=1, how=How.LIMITED))
    assert engine.taken()[1] == [WakeAt(at=5.0)]
    engine.apply(Woke(at=5.0))
    assert [(order.firing, order.execution) for order in engine.in_flight] == [(1, 2)]


# Money


def story_of(slices: list[Data], how: dict[str, Happening], **head: object) -> Story:
    return tell(plan(*slices, failure_mode="continue_on_error", **head), how)


def spends(dollars: float) -> Happening:
    return Happening(cost=round(dollars * 1_000_000))


def test_what_does_not_fit_under_the_ceiling_is_not_started() -> None:
    slices = [leaf(name, agent("work", max_cost=1.0)) for name in "abc"]
    story = story_of(slices, {f"{name}:work": spends(1.0) for name in "abc"}, budget=2.5, policy="serial")
    assert story.states == {"a": "completed", "b": "completed", "c": "budget"}
    assert story.why("c")["message"] == "the budget of the plan is used up"
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
    assert story.why("g/b")["message"] == "the budget of g is used up"


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
    told = [(event.outcome, event.data["percent"], event.data["spent"]) for event in story.of("budget")]
    assert told == [("alert", 75, 800_000), ("alert", 90, 920_000), ("reached", 100, 1_000_000)]
    assert story.states == {"a": "completed"}


def test_what_a_cancelled_agent_has_spent_counts() -> None:
    engine = begun(plan(leaf("a"), leaf("b", agent("work")), failure_mode="fail_fast"))
    for firing in (1, 2):
        engine.apply(Ended(at=1.0, firing=firing, execution=1, how=How.DONE))
    engine.apply(Ended(at=2.0, firing=3, execution=1, how=How.FAILED))
    engine.apply(Ended(at=3.0, firing=4, execution=1, how=How.CANCELLED, cost=70))
    assert engine.taken()[0][-1].cost == 70
    assert engine.tracker.failures() == {"a": "error", "b": "cancelled"}


def test_a_cost_that_nobody_knows_is_told_as_unknown() -> None:
    story = tell(plan(leaf("a", agent("work"))))
    assert story.last.data["unknown_costs"] == 1


def test_an_agent_without_money_for_its_next_execution_is_given_up() -> None:
    how = {"a:work": [ends(How.LIMITED, wait=5.0, cost=1_000_000), DONE]}
    story = tell(
        plan(leaf("a", agent("work", max_cost=1.0)), leaf("b"), budget=1.5, failure_mode="continue_on_error"),
        how,
    )
    assert story.states == {"a": "budget", "b": "completed"}
