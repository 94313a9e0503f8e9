"""Failures: whom they concern, what they are called, and what is told of their causes."""

import pytest

from engine.run.stories import DONE, SLOW, agent, branch, ends, fails, group, join, leaf, plan, run, tell
from weft.engine.engine import Engine
from weft.engine.messages.event_codec import kind_of
from weft.engine.messages.facts import Ended, RunStarted, StepOutcome
from weft.errors import StateError

CONTINUE = {"failure_mode": "continue_on_error"}


# Who is concerned


def test_a_failed_slice_cancels_what_runs_and_what_waits_beside_it() -> None:
    compiled = plan(leaf("a"), leaf("b"), leaf("c", depends_on=["b"]), max_parallel=2)
    story = tell(compiled, {"a:work": fails(), "b:work": SLOW})
    assert story.states == {"a": "error", "b": "cancelled", "c": "cancelled"}
    assert story.cancelled() == {"b:work": "a"}
    assert story.started == ["b:work", "a:work"], "the longest way first"
    assert story.why("c")["message"] == "cancelled: a failed"
    assert (story.why("c")["cause"], story.why("c")["from"]) == ("a", "pending")
    assert story.run.seconds < 3.0


def test_the_failed_slice_is_told_before_those_it_cancels() -> None:
    story = tell(plan(leaf("a"), leaf("b"), leaf("c", depends_on=["b"])), {"a:work": fails(), "b:work": SLOW})
    failed = [event.subplan for event in story.of("subplan_state") if event.outcome == "failed"]
    assert failed[-1] == "b", "what runs has failed when nothing of it is alive"
    assert set(failed) == {"a", "b", "c"}


def test_what_is_dying_already_is_not_told_to_end_again() -> None:
    two = leaf("a", branch("x"), branch("y"), join("all", "x", "y"))
    story = tell(plan(two, leaf("b")), {"a:x": SLOW, "a:y": fails(), "b:work": fails(seconds=1.0005)})
    assert story.states == {"a": "cancelled", "b": "error"}
    assert len(story.halted) == 1
    assert story.cancelled() == {"a:x": "a:y"}


def test_a_failed_sibling_never_undoes_a_finished_one() -> None:
    story = tell(plan(leaf("a"), leaf("b")), {"a:work": fails(seconds=20.0)})
    assert story.states == {"a": "error", "b": "completed"}


def test_what_has_passed_and_is_only_to_be_merged_is_not_cancelled() -> None:
    story = tell(plan(leaf("a"), leaf("b")), {"a:work": fails(seconds=2.0), "b:@merge": SLOW})
    assert story.states == {"a": "error", "b": "completed"}
    assert story.cancelled() == {}


def test_a_group_whose_children_are_completed_is_not_verified_in_a_doomed_plan() -> None:
    compiled = plan(leaf("a"), group("g", leaf("b"), verify="make"), group("h", leaf("c")))
    how = {"a:work": fails(seconds=2.0), "g/b:@merge": SLOW, "h/c:@merge": SLOW}
    story = tell(compiled, how)
    assert story.states == {
        "a": "error",
        "g": "cancelled",
        "g/b": "completed",
        "h": "completed",
        "h/c": "completed",
    }
    assert story.launches("g:@verify") == []


def test_under_continue_on_error_only_dependents_are_blocked() -> None:
    compiled = plan(
        leaf("a"), leaf("b", depends_on=["a"]), leaf("c", depends_on=["b"]), leaf("d"), **CONTINUE
    )
    story = tell(compiled, {"a:work": fails()})
    assert story.states == {"a": "error", "b": "blocked", "c": "blocked", "d": "completed"}
    assert (story.why("c")["message"], story.why("c")["cause"]) == ("blocked by b", "b")
    assert story.last.data["message"] == "a, b, c failed"
    assert story.last.data["cause"] == "a"


def test_a_failure_under_fail_fast_fails_the_groups_around_it_at_once() -> None:
    compiled = plan(group("g", group("h", leaf("a")), leaf("b")), leaf("c"))
    story = tell(compiled, {"g/h/a:work": fails(), "g/b:work": SLOW, "c:work": SLOW})
    assert story.states == {
        "g": "error",
        "g/h": "error",
        "g/h/a": "error",
        "g/b": "cancelled",
        "c": "cancelled",
    }
    assert story.cancelled() == {"g/b:work": "g/h", "c:work": "g"}


def test_a_group_that_goes_on_after_errors_shields_those_around_it_until_it_ends() -> None:
    compiled = plan(group("g", leaf("a"), leaf("b", run("one"), run("two")), **CONTINUE), leaf("c"))
    story = tell(compiled, {"g/a:work": fails(), "c:work": SLOW})
    assert story.states == {"g": "error", "g/a": "error", "g/b": "completed", "c": "cancelled"}
    assert story.why("g")["message"] == "g/a failed"


def test_a_group_that_fails_fast_inside_one_that_goes_on_fails_alone() -> None:
    compiled = plan(group("g", leaf("a"), leaf("b"), failure_mode="fail_fast"), leaf("c"), **CONTINUE)
    story = tell(compiled, {"g/a:work": fails(), "g/b:work": SLOW})
    assert story.states == {"g": "error", "g/a": "error", "g/b": "cancelled", "c": "completed"}


def test_all_in_a_blocked_group_is_blocked() -> None:
    compiled = plan(leaf("a"), group("g", leaf("b"), group("h", leaf("c")), depends_on=["a"]), **CONTINUE)
    story = tell(compiled, {"a:work": fails()})
    assert story.states == {
        "a": "error",
        "g": "blocked",
        "g/b": "blocked",
        "g/h": "blocked",
        "g/h/c": "blocked",
    }
    order = [event.subplan for event in story.of("subplan_state") if event.outcome == "failed"]
    assert order.index("g/h/c") < order.index("g/h") < order.index("g")


def test_a_slice_blocked_from_afar_fails_its_own_group() -> None:
    compiled = plan(
        group("g", leaf("a")), group("h", leaf("b", depends_on=["/g/a"]), leaf("c"), failure_mode="fail_fast"),
        **CONTINUE,
    )  # fmt: skip
    story = tell(compiled, {"g/a:work": fails(), "h/c:work": SLOW})
    assert story.states["h/b"] == "blocked"
    assert story.states["h/c"] == "cancelled"
    assert story.why("h/c")["cause"] == "h/b"


def test_when_a_slice_waits_for_room_and_is_cancelled_it_never_starts() -> None:
    story = tell(plan(leaf("a"), leaf("b"), max_parallel=1), {"a:work": fails()})
    assert story.states == {"a": "error", "b": "cancelled"}
    assert story.started == ["a:work"]


def test_the_plans_own_verify_can_fail() -> None:
    story = tell(plan(leaf("a"), verify="make all", isolation="none"), {":@verify": fails()})
    assert story.state == "failed"
    assert story.states == {"a": "completed"}
    assert story.last.data["message"] == "@verify: exit code 1 (make all)"


# Reasons


@pytest.mark.parametrize("how", [StepOutcome.TIMEOUT, StepOutcome.LOST, StepOutcome.INFRA])
def test_the_reason_says_how_a_step_ended(how: StepOutcome) -> None:
    story = tell(plan(leaf("a"), infra_retries=0), {"a:work": ends(how, message="so it was")})
    assert story.states == {"a": str(how)}
    assert story.why("a")["message"] == "work: so it was (true)"


def test_after_further_attempts_a_timeout_is_exhaustion() -> None:
    step = run("work", on_error="retry", max_retries=1)
    assert tell(plan(leaf("a", step)), {"a:work": ends(StepOutcome.TIMEOUT)}).states == {"a": "exhausted"}


@pytest.mark.parametrize("how", [StepOutcome.LOST, StepOutcome.INFRA])
def test_what_was_lost_is_tried_again_within_a_bound_of_its_own_as_the_same_attempt(how: StepOutcome) -> None:
    story = tell(plan(leaf("a"), infra_retries=2), {"a:work": ends(how)})
    started = story.of("step_started", "a", "work")
    assert [event.data["transition"] for event in started] == ["run work#1", "run work#1~1", "run work#1~2"]
    assert {event.attempt for event in started} == {1}
    assert story.states == {"a": str(how)}


def test_what_was_lost_once_and_then_succeeds_has_not_failed() -> None:
    story = tell(plan(leaf("a")), {"a:work": [ends(StepOutcome.LOST), DONE]})
    assert story.states == {"a": "completed"}


def test_feedback_is_not_touched_by_what_has_nothing_to_do_with_the_work() -> None:
    check = run("check", on_fail={"retry_from": "work", "max": 1})
    story = tell(
        plan(leaf("a", agent("work", "do {{ feedback }}"), check)),
        {
            "a:check": [fails(result="red"), DONE],
            "a:work": [DONE, ends(StepOutcome.INFRA, message="no disk"), DONE],
        },
    )
    assert story.states == {"a": "completed"}
    _, second, third = story.prompts("a:work")
    assert second == third
    assert "red" in third


def test_a_merge_that_meets_other_changes_is_a_conflict() -> None:
    story = tell(
        plan(leaf("a"), leaf("b"), **CONTINUE),
        {"b:@merge": ends(StepOutcome.CONFLICT, message="both changed x")},
    )
    assert story.states == {"a": "completed", "b": "conflict"}
    assert story.why("b")["message"] == "@merge: both changed x"


@pytest.mark.parametrize(
    ("how", "reason"), [(StepOutcome.FAILED, "error"), (StepOutcome.CONFLICT, "conflict")]
)
def test_a_slice_without_a_workspace_has_failed(how: StepOutcome, reason: str) -> None:
    story = tell(plan(leaf("a")), {"a:@prepare": ends(how, message="no")})
    assert story.states == {"a": reason}
    assert story.started == []


@pytest.mark.parametrize("how", [StepOutcome.LOST, StepOutcome.INFRA])
def test_a_workspace_is_tried_again_and_then_given_up(how: StepOutcome) -> None:
    story = tell(plan(leaf("a"), infra_retries=1), {"a:@prepare": ends(how)})
    assert len(story.of("step_started", "a", "@workspace")) == 2
    assert story.states == {"a": str(how)}


def test_a_merge_that_is_lost_is_tried_again() -> None:
    story = tell(plan(leaf("a"), infra_retries=1), {"a:@merge": [ends(StepOutcome.LOST), DONE]})
    assert story.states == {"a": "completed"}


@pytest.mark.parametrize("how", [StepOutcome.HELD, StepOutcome.CONFLICT, StepOutcome.FAILED])
def test_what_does_not_land_has_been_done_all_the_same(how: StepOutcome) -> None:
    story = tell(plan(leaf("a")), {"a:@land": ends(how)})
    assert story.states == {"a": "completed"}
    assert story.of("step_finished", "a", "@land")[0].outcome == how


def test_a_failed_subplan_does_not_land() -> None:
    story = tell(plan(leaf("a")), {"a:work": fails()})
    assert story.of("step_started", "a", "@land") == []


# Ends that nobody ordered


@pytest.mark.parametrize("how", [StepOutcome.CANCELLED, StepOutcome.STOPPED])
def test_what_ends_as_if_it_had_been_told_to_and_had_not_is_lost(how: StepOutcome) -> None:
    story = tell(plan(leaf("a"), infra_retries=0), {"a:work": ends(how)})
    assert story.states == {"a": "lost"}


def test_an_end_that_is_told_twice_or_of_nothing_is_noted_and_ignored() -> None:
    engine = Engine(plan(leaf("a")))
    engine.apply(RunStarted(at=0.0, run="r"))
    engine.take_messages()
    prepared = Ended(at=1.0, firing=1, execution=1, how=StepOutcome.DONE)
    for fact in (prepared, prepared, Ended(at=1.0, firing=9, execution=1, how=StepOutcome.DONE)):
        engine.apply(fact)
    kinds = [kind_of(event) for event in engine.take_messages()[0] if event.fact is not None]
    assert kinds == ["step_finished", "ignored", "ignored"]


def test_a_run_starts_once() -> None:
    engine = Engine(plan(leaf("a")))
    engine.apply(RunStarted(at=0.0, run="r"))
    with pytest.raises(StateError, match="has started before"):
        engine.apply(RunStarted(at=1.0, run="r"))
