"""Where an agent is to resolve conflicts: what a merge that meets one leads to, and the end of the agent."""

import json
from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace

from engine.run.stories import DONE, Story, after, agent, ends, fails, leaf, run, tell
from weft.engine.engine import Engine
from weft.engine.messages.facts import (
    EarlierSlice,
    EarlierStep,
    Ended,
    MergeAsked,
    Resumed,
    RunStarted,
    StepOutcome,
    StopAsked,
)
from weft.engine.messages.orders import AnyOrder, Launch, Merge
from weft.engine.simulate import Interruptions, SimulatedReply
from weft.plan.compile.compile import compile_plan
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.loader.load import load_plan

TOLD = "a cannot be merged into main: 1 file in conflict. Nothing has moved."
CONFLICT = ends(StepOutcome.HELD, conflict=True, message=f"{TOLD}\nTo settle it, do this.")
HELD = ends(StepOutcome.HELD, message="a file is in the way")


def plan(
    *subplans: dict[str, Any], resolve: str = "agent", coder: object = None, **head: Any
) -> CompiledPlan:
    data = {
        "weft": 1,
        "plan": "p",
        "isolation": "worktree",
        "infra_retries": 1,
        "merge": {"mode": "auto", "resolve": resolve},
        "agents": {"coder": {"use": "claude", "model": "fast", **(coder or {})}},  # type: ignore[dict-item]
        **head,
    }
    return compile_plan(load_plan(json.dumps({**data, "subplans": subplans})))


def merges(story: Story, path: str = "a") -> list[str]:
    """How each merge of it, and each try to resolve its conflict, ended."""
    ended = [event for event in story.of("step_finished", path) if event.step in {"@merge", "@resolve"}]
    return [f"{event.step} {event.outcome}" for event in ended]


RESOLVED = ["@merge conflict", "@resolve done", "@merge done"]
NOT_RESOLVED = ["@merge conflict", "@resolve failed", "@merge held"]


# The way


def test_a_conflict_is_resolved_by_the_agent_of_the_slice_and_then_it_is_merged() -> None:
    story = tell(plan(leaf("a", title="The store", timeout="5m")), {"a:@merge": [CONFLICT, DONE]})
    assert story.state == "completed"
    assert merges(story) == RESOLVED
    (launch,) = story.launches("a:@resolve")
    task = launch.task
    assert task is not None
    assert (task.agent.name, task.model, launch.timeout) == ("coder", "fast", 300.0)
    assert task.prompt == "do a"
    assert [event.data["agent"] for event in story.of("step_started", "a", "@resolve")] == ["coder"]


def test_the_title_is_what_a_slice_is_about_that_has_no_prompt() -> None:
    slice_ = {"id": "a", "title": "The store", "steps": [run("work")]}
    assert tell(plan(slice_), {"a:@merge": [CONFLICT, DONE]}).prompts("a:@resolve") == ["The store"]


def test_the_second_merge_knows_that_an_agent_was_there() -> None:
    story = tell(plan(leaf("a")), {"a:@merge": [CONFLICT, DONE]})
    assert [order.resolved for order in story.run.orders if isinstance(order, Merge)] == [False, True]


def test_the_conflict_is_told_as_such_and_that_an_agent_resolves_it() -> None:
    story = tell(plan(leaf("a")), {"a:@merge": [CONFLICT, DONE]})
    (messages,) = [event for event in story.of("merge", "a") if event.outcome == "conflict"]
    assert messages.data["message"] == f"{TOLD} An agent resolves it."
    assert [event for event in story.of("merge", "a") if event.outcome == "held"] == []


@pytest.mark.parametrize(
    "end", [fails(), ends(StepOutcome.TIMEOUT), ends(StepOutcome.HELD), ends(StepOutcome.CONFLICT)]
)
def test_an_agent_that_fails_leaves_the_conflict_to_a_person(end: Any) -> None:
    story = tell(plan(leaf("a")), {"a:@merge": CONFLICT, "a:@resolve": end})
    assert story.state == "waiting"
    assert [merge.split()[0] for merge in merges(story)] == ["@merge", "@resolve", "@merge"]
    assert (merges(story)[0], merges(story)[-1]) == ("@merge conflict", "@merge held")
    assert story.states == {}


def test_a_conflict_that_is_there_after_the_agent_is_held_until_a_person_asks() -> None:
    how = {"a:@merge": [CONFLICT, CONFLICT, DONE]}
    story = tell(plan(leaf("a")), how, replies={"a:@merge": SimulatedReply(after=9.0)})
    assert story.state == "completed"
    assert merges(story) == ["@merge conflict", "@resolve done", "@merge held", "@merge done"]


@pytest.mark.parametrize("how", [StepOutcome.LOST, StepOutcome.INFRA])
def test_an_agent_that_is_lost_is_started_again_within_its_bound(how: StepOutcome) -> None:
    once = tell(plan(leaf("a")), {"a:@merge": [CONFLICT, DONE], "a:@resolve": [ends(how), DONE]})
    assert merges(once) == ["@merge conflict", f"@resolve {how}", "@resolve done", "@merge done"]
    ever = tell(plan(leaf("a")), {"a:@merge": CONFLICT, "a:@resolve": ends(how)})
    assert merges(ever) == ["@merge conflict", f"@resolve {how}", f"@resolve {how}", "@merge held"]
    assert (ever.state, ever.states) == ("waiting", {})


def test_a_merge_that_was_lost_before_it_met_the_conflict_leads_there_too() -> None:
    story = tell(
        plan(leaf("a")), {"a:@merge": [ends(StepOutcome.LOST), CONFLICT, ends(StepOutcome.LOST), DONE]}
    )
    assert story.state == "completed"
    outcomes = ["@merge lost", "@merge conflict", "@resolve done", "@merge lost", "@merge done"]
    assert merges(story) == outcomes


@pytest.mark.parametrize("resolve", ["agent", "hold"])
def test_what_is_held_for_another_reason_is_no_matter_for_an_agent(resolve: str) -> None:
    story = tell(plan(leaf("a"), resolve=resolve), {"a:@merge": HELD})
    assert merges(story) == ["@merge held"]


def test_without_the_setting_a_conflict_is_held() -> None:
    story = tell(plan(leaf("a"), resolve="hold"), {"a:@merge": CONFLICT})
    assert (story.state, merges(story)) == ("waiting", ["@merge held"])


def test_what_cannot_land_for_a_conflict_is_held() -> None:
    story = tell(plan(leaf("a")), {"a:@land": CONFLICT})
    assert story.state == "waiting"
    assert [event.outcome for event in story.of("step_finished", "a", "@land")] == ["held"]


def test_a_group_in_conflict_is_held() -> None:
    group = {"id": "g", "subplans": [leaf("a")]}
    story = tell(plan(group), {"g:@merge": CONFLICT})
    assert (story.state, merges(story, "g")) == ("waiting", ["@merge held"])


# With others


def test_the_pool_of_the_agent_holds_for_conflicts_too() -> None:
    slices = [leaf("a"), leaf("b", agent("work"))]
    story = tell(
        plan(*slices, coder={"pool": 1}),
        {
            "a:@merge": [CONFLICT, DONE],
            "a:@resolve": ends(StepOutcome.DONE, seconds=20.0),
            "b:work": ends(StepOutcome.DONE, seconds=9.0),
        },
    )
    assert story.state == "completed"
    assert not story.overlap("a:@resolve", "b:work")


def test_others_are_merged_while_an_agent_is_at_work() -> None:
    slow = ends(StepOutcome.DONE, seconds=50.0)
    slices = [leaf("a"), leaf("b", run("one"), run("two"), run("three"))]
    story = tell(plan(*slices), {"a:@merge": [CONFLICT, DONE], "a:@resolve": slow})
    assert story.span("b:@merge")[1] < story.span("a:@resolve")[1]


def test_one_thing_at_a_time_where_the_plan_says_so() -> None:
    slow = ends(StepOutcome.DONE, seconds=50.0)
    story = tell(
        plan(leaf("a"), leaf("b"), policy="serial"), {"a:@merge": [CONFLICT, DONE], "a:@resolve": slow}
    )
    assert story.state == "completed"
    assert story.run.peak == 1


def test_what_has_passed_and_is_being_resolved_stays_when_a_sibling_fails() -> None:
    slow = ends(StepOutcome.DONE, seconds=50.0)
    slices = [leaf("a"), leaf("b", run("one"), run("two"), run("three"))]
    story = tell(plan(*slices), {"a:@merge": [CONFLICT, DONE], "a:@resolve": slow, "b:three": fails()})
    assert merges(story) == RESOLVED
    assert story.states == {"a": "completed", "b": "error"}


def test_what_depends_on_a_slice_waits_until_its_conflict_is_resolved() -> None:
    story = tell(plan(leaf("a"), leaf("b", depends_on=["a"])), {"a:@merge": [CONFLICT, DONE]})
    assert story.span("b:work")[0] >= story.span("a:@merge")[1]


# Money


def test_what_it_costs_counts() -> None:
    story = tell(
        plan(leaf("a")), {"a:@merge": [CONFLICT, DONE], "a:@resolve": ends(StepOutcome.DONE, cost=70)}
    )
    assert story.last.cost == 70


@pytest.mark.parametrize(("budget", "outcomes"), [(3, RESOLVED), (1, NOT_RESOLVED)])
def test_without_the_money_for_an_agent_the_conflict_is_held_and_the_slice_has_not_failed(
    budget: int, outcomes: list[str]
) -> None:
    held = [CONFLICT, DONE if outcomes == RESOLVED else CONFLICT]
    story = tell(plan(leaf("a"), coder={"max_cost": 2}, budget=budget), {"a:@merge": held})
    assert merges(story) == outcomes
    assert story.states == ({"a": "completed"} if outcomes == RESOLVED else {})


def test_an_agent_that_is_at_work_when_the_ceiling_is_reached_leaves_the_conflict_to_a_person() -> None:
    slices = [leaf("a"), leaf("b", agent("work"))]
    story = tell(
        plan(*slices, budget=1, failure_mode="continue_on_error"),
        {
            "a:@merge": CONFLICT,
            "a:@resolve": ends(StepOutcome.DONE, seconds=50.0, cost=0),
            "b:work": ends(StepOutcome.DONE, seconds=9.0, cost=2_000_000),
        },
    )
    assert story.state == "waiting"
    assert merges(story) == ["@merge conflict", "@resolve stopped", "@resolve failed", "@merge held"]
    assert "is used up" in story.of("step_finished", "a", "@resolve")[-1].data["message"]
    assert story.states == {"b": "completed"}


def test_a_usage_limit_is_waited_for() -> None:
    limited = ends(StepOutcome.LIMITED, wait=500.0)
    story = tell(plan(leaf("a")), {"a:@merge": [CONFLICT, DONE], "a:@resolve": [limited, DONE]})
    assert merges(story) == ["@merge conflict", "@resolve limited", "@resolve done", "@merge done"]
    assert story.span("a:@resolve")[1] > 500.0


# Interruptions


MERGING = 3
"""After so many facts the first merge is under way; if it is stopped, it is not the same one that goes on."""


@pytest.mark.parametrize(
    ("kind", "facts"),
    [
        *product(("dies", "dies_early"), range(1, 9)),
        *product(("stops",), (facts for facts in range(1, 9) if facts != MERGING)),
    ],
)
def test_whoever_takes_over_goes_on_where_it_was(kind: str, facts: int) -> None:
    how = {"a:@merge": [CONFLICT, DONE]}
    story = tell(plan(leaf("a")), how, interruptions=Interruptions(**{kind: after(facts)}))  # type: ignore[arg-type]
    assert story.state == "completed"
    ended = [merge for merge in merges(story) if not merge.endswith("stopped")]
    assert ended == RESOLVED


class Driver:
    """Everything is done when it is told; only merges meet conflicts."""

    def __init__(self, compiled: CompiledPlan) -> None:
        self.engine = Engine(compiled)
        self.orders: list[AnyOrder] = []
        self.tell(RunStarted(at=0.0, run="r"))

    def tell(self, *facts: Any) -> None:
        for fact in facts:
            self.engine.apply(fact)
            self.orders = self.engine.take_messages()[1]

    def end(self, how: StepOutcome = StepOutcome.DONE, *, conflict: bool = False) -> None:
        (order,) = self.engine.in_flight
        end = Ended(at=1.0, firing=order.firing, execution=order.execution, how=how, conflict=conflict)
        self.tell(end)


def at_the_merge() -> Driver:
    driver = Driver(plan(leaf("a")))
    driver.end()
    driver.end()
    assert isinstance(driver.engine.in_flight[0], Merge)
    return driver


def test_where_nothing_but_merges_may_begin_a_conflict_is_held_and_no_agent_starts() -> None:
    driver = at_the_merge()
    driver.end(StepOutcome.HELD)
    driver.tell(Resumed(at=2.0, epoch=2, merges_only=True), MergeAsked(at=3.0, subplan="a"))
    driver.end(StepOutcome.HELD, conflict=True)
    assert (driver.orders, driver.engine.state) == ([], "waiting")
    driver.tell(Resumed(at=4.0, epoch=3))
    driver.end(StepOutcome.HELD, conflict=True)
    assert [order.step for order in driver.orders if isinstance(order, Launch)] == ["@resolve"]


def test_a_run_that_is_to_stop_starts_no_agent_and_goes_on_with_it_later() -> None:
    driver = at_the_merge()
    driver.tell(StopAsked(at=1.0))
    driver.end(StepOutcome.HELD, conflict=True)
    assert (driver.orders, driver.engine.state) == ([], "stopped")
    driver.tell(Resumed(at=2.0, epoch=2))
    assert [order.step for order in driver.orders if isinstance(order, Launch)] == ["@resolve"]


def test_who_resolves_a_conflict_is_told_the_goal() -> None:
    story = tell(plan(leaf("a"), goal="A faster store."), {"a:@merge": [CONFLICT, DONE]})
    assert story.prompts("a:@resolve") == ["What follows is a part of this:\nA faster store.\n\ndo a"]


# In a run that continues after an earlier one


def continues(merge: Ended, *, resolved: bool) -> tuple[Engine, Merge]:
    """All steps were done by an earlier run, and the merge ends like this."""
    done = Ended(at=0.0, firing=1, execution=1, how=StepOutcome.DONE)
    work = EarlierStep(step="work", attempt=1, end=done)
    earlier = EarlierSlice(subplan="a", run="r0", steps=(work,), merging=True, resolved=resolved)
    engine = Engine(plan(leaf("a")))
    engine.apply(RunStarted(at=0.0, run="r", continued=(earlier,)))
    engine.apply(replace(done, kept=True))
    (order,) = [order for order in engine.in_flight if isinstance(order, Merge)]
    engine.apply(replace(merge, firing=order.firing))
    return engine, order


MET = Ended(at=1.0, firing=0, execution=1, how=StepOutcome.HELD, conflict=True, message=TOLD)


def test_a_conflict_that_an_agent_has_tried_to_resolve_waits_for_a_person() -> None:
    engine, order = continues(MET, resolved=True)
    assert order.resolved, "no earlier verify counts"
    assert (engine.state, [firing.subplan.path for firing in engine.held()]) == ("waiting", ["a"])


def test_a_conflict_that_no_agent_has_seen_is_resolved_by_one() -> None:
    engine, order = continues(MET, resolved=False)
    assert not order.resolved
    assert [order.step for order in engine.in_flight if isinstance(order, Launch)] == ["@resolve"]
