"""An agent that fails or takes too long has made an attempt; the next one hears of it."""

import pytest

from engine.run.stories import DONE, Data, Story, agent, ends, fails, join, leaf, plan, run, says, steps, tell
from weft.engine.messages.facts import StepOutcome

CRASH = fails(exit_code=1, message="exit code 1: out of memory", result="I was about to")
TOO_LONG = ends(StepOutcome.TIMEOUT)
WRONG_KEY = fails(exit_code=1, message="Invalid API key; set THE_KEY", lasting=True)


def direct(*ends_: object, **more: object) -> Story:
    """A slice with the pipeline `direct`, with so many retries, whose agent ends so."""
    slice_: Data = {"id": "a", "prompt": "do a", "verify": "true"}
    how = {"a:work": list(ends_)} | {f"a:{name}": value for name, value in more.items() if name == "check"}
    head = {name: value for name, value in more.items() if name != "check"}
    return tell(plan(slice_, **head), how)  # type: ignore[arg-type]


@pytest.mark.parametrize("crash", [CRASH, TOO_LONG], ids=["exit", "timeout"])
def test_an_agent_that_crashes_is_tried_again_and_its_slice_lands(crash: object) -> None:
    story = direct(crash, DONE)
    assert story.started == ["a:work", "a:work", "a:check"]
    assert [event.attempt for event in story.of("step_started", "a", "work")] == [1, 2]
    assert story.states == {"a": "completed"}


def test_the_next_attempt_hears_of_the_exit_code_and_of_the_last_words() -> None:
    (first, second) = direct(CRASH, DONE).prompts("a:work")
    assert "failed" not in first
    assert "The agent 'coder' of step 'work' failed with exit code 1: out of memory" in second
    assert "I was about to" in second


def test_the_next_attempt_hears_of_the_time_limit() -> None:
    (_, second) = direct(TOO_LONG, DONE, timeout="90s").prompts("a:work")
    assert "The agent 'coder' of step 'work' took longer than 90 seconds and was ended." in second


def test_the_next_attempt_hears_that_the_agent_was_silent() -> None:
    silent = ends(
        StepOutcome.TIMEOUT, idle=True, message="it wrote nothing for 90 s and was ended (idle_timeout)"
    )
    story = direct(silent, DONE, idle_timeout="90s")
    assert story.states == {"a": "completed"}
    (_, second) = story.prompts("a:work")
    assert "The agent 'coder' of step 'work' failed: it wrote nothing for 90 s and was ended" in second


def test_what_a_check_said_is_not_forgotten_over_a_crash_and_a_crash_is_told_once() -> None:
    story = direct(DONE, CRASH, DONE, check=[fails(message="red"), fails(message="red"), DONE])
    (_, second, third) = story.prompts("a:work")
    assert "'check' failed with exit code 1" in second
    assert "'check' failed with exit code 1" in third
    assert "out of memory" in third
    assert story.states == {"a": "exhausted"}  # 3 attempts, one of which was the crash


@pytest.mark.parametrize("retries", [0, 1, 2])
def test_crashes_are_counted_within_retries(retries: int) -> None:
    story = direct(CRASH, retries=retries)
    assert story.started == ["a:work"] * (retries + 1)
    assert story.states == {"a": "exhausted" if retries else "error"}


def test_without_a_check_a_crash_is_tried_again_in_place() -> None:
    assert steps(agent("x"), how={"x": [CRASH, DONE]}).states == {"a": "completed"}
    assert steps(agent("x"), how={"x": CRASH}, retries=1).started == ["a:x", "a:x"]


def test_a_prompt_that_reads_no_feedback_has_the_crash_at_its_end() -> None:
    story = steps(agent("x", "do it"), agent("y", "then {{ feedback }}"), how={"x": [CRASH, DONE]})
    (_, second) = story.prompts("a:x")
    assert second.startswith("do it\n\nThe agent 'coder' of step 'x' failed with exit code 1")
    assert story.prompts("a:y") == ["then "]


def test_a_judge_that_crashes_is_asked_again_and_the_work_is_not_done_again() -> None:
    no = says({"ok": False})
    judge = agent(
        "judge",
        output_schema={"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]},
        on_result=[{"when": "step.judge.ok == false", "action": "fail"}],
        on_fail={"retry_from": "code"},
    )
    story = steps(agent("code"), judge, how={"judge": [CRASH, no, says({"ok": True})]})
    assert story.started == ["a:code", "a:judge", "a:judge", "a:code", "a:judge"]
    assert story.states == {"a": "completed"}


def test_a_branch_that_crashes_is_tried_again() -> None:
    story = steps(agent("x") | {"async": True}, join("all", "x"), how={"x": [CRASH, DONE]})
    assert story.states == {"a": "completed"}


@pytest.mark.parametrize(
    ("said", "starts", "state"),
    [
        ({"on_error": "abort"}, 1, "error"),
        ({"on_error": "continue"}, 1, "completed"),
        ({"on_error": "retry", "max_retries": 1}, 2, "exhausted"),
    ],
    ids=["abort", "continue", "retry"],
)
def test_what_on_error_says_counts(said: Data, starts: int, state: str) -> None:
    story = steps(agent("x", **said), how={"x": CRASH}, retries=5)
    assert (story.started, story.states) == (["a:x"] * starts, {"a": state})


def test_a_command_that_fails_is_not_tried_again() -> None:
    assert steps(run("x"), how={"x": fails()}).started == ["a:x"]


@pytest.mark.parametrize(
    "said",
    [{}, {"on_error": "retry", "max_retries": 3}, {"on_fail": {"retry_from": "first"}}],
    ids=["default", "retry", "on_fail"],
)
def test_a_failure_that_no_other_try_can_cure_is_the_last(said: Data) -> None:
    story = steps(run("first"), agent("x", **said), run("then"), how={"x": WRONG_KEY})
    assert story.started == ["a:first", "a:x"]
    assert story.states == {"a": "error"}
    assert "set THE_KEY" in story.why("a")["message"]


def test_a_failure_that_no_other_try_can_cure_is_tolerated_where_failures_are() -> None:
    story = steps(agent("x", on_error="continue"), run("then"), how={"x": WRONG_KEY})
    assert story.states == {"a": "completed"}


def test_a_crash_keeps_no_milestone_from_landing() -> None:
    slices = [leaf(name, agent("work")) for name in "abc"]
    story = tell(plan({"id": "g", "subplans": slices}), {"g/b:work": [CRASH, TOO_LONG, DONE]})
    assert set(story.states.values()) == {"completed"}
    assert [event.outcome for event in story.of("step_finished", "g", "@land")] == ["done"]
