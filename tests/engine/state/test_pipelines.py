"""Steps within a slice: branches and joins, conditions, results that decide, pipelines in pipelines."""

import pytest

from engine.run.stories import (
    DONE,
    Data,
    agent,
    ask,
    branch,
    ends,
    fails,
    join,
    run,
    says,
    steps,
)
from weft.engine.messages.facts import StepOutcome


def test_steps_without_branches_run_one_after_the_other() -> None:
    story = steps(run("one"), run("two"), run("three"))
    assert story.started == ["a:one", "a:two", "a:three"]
    assert story.run.peak == 1


# Branches and joins


def test_branches_run_at_once_and_are_told_as_one_group() -> None:
    story = steps(branch("x"), branch("y"), join("both", "x", "y"), how={"y": says("", seconds=3.0)})
    ended = {event.step: event.data for event in story.of("step_finished", "a")}
    assert story.overlap("a:x", "a:y")
    assert ended["x"]["concurrent_group"] == ended["y"]["concurrent_group"] == "a:x#1"
    assert (ended["x"]["launched_at"], ended["x"]["completed_at"]) == (1.0, 2.0)
    assert (ended["y"]["launched_at"], ended["y"]["completed_at"]) == (1.0, 4.0)


def test_a_branch_that_is_a_pipeline_is_told_as_one_of_its_group() -> None:
    story = steps(
        branch("x"), {"id": "y", "pipeline": "p", "async": True}, join("both", "x", "y"),
        pipelines={"p": [run("in")]},
    )  # fmt: skip
    (ended,) = [event.data for event in story.of("step_finished", "a") if event.step == "y"]
    assert (ended["concurrent_group"], ended["launched_at"], ended["completed_at"]) == ("a:x#1", 1.0, 2.0)


def test_a_join_merges_texts_in_the_order_of_its_dependencies_and_calls_nobody() -> None:
    story = steps(
        branch("x"), branch("y"), join("both", "y", "x"), agent("sum", "{{ step.both.result }}"),
        how={"x": says("one"), "y": says("two", seconds=5.0)},
    )  # fmt: skip
    assert story.prompts("a:sum") == ["[y]:\ntwo\n\n[x]:\none"]
    assert story.launches("a:both") == []
    assert "a:both done" in story.finished


def test_a_branch_that_never_runs_does_not_hold_up_the_join() -> None:
    story = steps(
        branch("x", condition="never"), branch("y"), join("both", "x", "y"),
        run("out", "echo {{ step.both.result }}"), how={"y": says("two")},
    )  # fmt: skip
    assert "a:x" not in story.started
    assert story.commands("a:out") == ["echo '[x]:\n<skipped>\n\n[y]:\ntwo'"]


@pytest.mark.parametrize(("found", "state"), [("bad", "error"), ("good", "completed")])
def test_the_result_of_a_join_can_abort_the_pipeline(found: str, state: str) -> None:
    rule = [{"when": "'bad' in step.both.result", "action": "abort"}]
    story = steps(branch("x"), join("both", "x", on_result=rule), run("out"), how={"x": says(found)})
    assert story.states == {"a": state}
    assert ("a:out" in story.started) is (state == "completed")


@pytest.mark.parametrize("cap", [1, 2])
def test_max_concurrency_limits_the_branches_of_a_slice(cap: int) -> None:
    story = steps(*map(branch, "xyz"), join("all", "x", "y", "z"), max_concurrency=cap)
    assert story.run.peak == cap
    assert story.started == ["a:x", "a:y", "a:z"]


def test_a_branch_with_dependencies_waits_for_them() -> None:
    story = steps(branch("x"), branch("y", depends_on=["x"]), run("z"), join("all", "x", "y"))
    assert story.span("a:x")[1] == story.span("a:y")[0]
    assert story.overlap("a:x", "a:z")


def test_the_first_branch_to_fail_ends_the_others_and_fails_the_join() -> None:
    story = steps(
        *map(branch, "xyz"), join("all", "x", "y", "z"), run("out"),
        how={"x": says("", seconds=50.0), "y": fails(seconds=3.0), "z": fails(seconds=2.0)},
    )  # fmt: skip
    assert story.cancelled() == {"a:x": "a:z", "a:y": "a:z"}
    assert story.started == ["a:x", "a:y", "a:z"]
    assert story.states == {"a": "error"}
    message = "all: step 'z', which it depends on, failed: exit code 1"
    assert story.why("a")["message"] == message
    assert story.run.seconds == pytest.approx(3.001)


def test_of_branches_that_fail_at_once_the_join_names_the_first_in_time() -> None:
    story = steps(
        branch("x"), branch("y"), join("all", "x", "y"),
        how={"x": fails("late", seconds=2.0), "y": ends(StepOutcome.TIMEOUT, seconds=1.9995)},
    )  # fmt: skip
    assert story.why("a")["message"].startswith("all: step 'y'")
    assert story.states == {"a": "timeout"}


def test_a_branch_that_waits_for_room_is_not_begun_when_another_has_failed() -> None:
    story = steps(
        branch("x"), branch("y"), join("all", "x", "y"), how={"x": fails()}, max_concurrency=1
    )  # fmt: skip
    assert story.started == ["a:x"]
    skipped = story.of("step_skipped", "a", "y")[0]
    assert (skipped.outcome, skipped.data["message"]) == ("cancelled", "a:x failed")


def test_a_patient_join_has_the_error_in_its_place() -> None:
    story = steps(
        branch("x"), branch("y"), join("both", "x", "y", on_error="wait_for_all"),
        run("out", "echo {{ step.both.result }}"), how={"x": fails("broken"), "y": says("two")},
    )  # fmt: skip
    assert story.commands("a:out") == ["echo '[x]:\n<error: broken>\n\n[y]:\ntwo'"]
    assert story.states == {"a": "completed"}


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def test_a_patient_structured_join_has_an_envelope_for_the_error_and_null_for_what_was_skipped() -> None:
    story = steps(
        branch("x", output_schema=SCHEMA), branch("y", output_schema=SCHEMA),
        branch("z", output_schema=SCHEMA, condition="never"),
        join("all", "x", "y", "z", on_error="wait_for_all"), run("out", "echo {{ step.all.json }}"),
        how={"x": ends(StepOutcome.TIMEOUT, message="too slow"), "y": says({"n": 2})},
    )  # fmt: skip
    expected = '{"x":{"error":{"kind":"timeout","message":"too slow"}},"y":{"n":2},"z":null}'
    assert story.commands("a:out") == [f"echo '{expected}'"]


def test_fields_of_joined_results_can_be_read() -> None:
    deep = {"type": "object"}
    story = steps(
        branch("x", output_schema=deep), join("all", "x"),
        run("out", "echo {{ step.all.x.list[1].name }}"), how={"x": says({"list": [0, {"name": "it"}]})},
    )  # fmt: skip
    assert story.commands("a:out") == ["echo it"]


def test_a_field_that_is_not_there_fails_the_step_and_tells_what_is() -> None:
    story = steps(
        run("x", output_schema={"type": "object"}), run("out", "echo {{ step.x.nme }}"),
        how={"x": says({"name": 1})},
    )  # fmt: skip
    assert story.states == {"a": "error"}
    assert "name" in story.why("a")["message"]
    assert story.launches("a:out") == []
    assert story.finished[-1] == "a:out failed"


def test_a_join_whose_object_does_not_fit_its_schema_fails() -> None:
    needs = {"type": "object", "properties": {"x": {"type": "object", "maxProperties": 1}}}
    story = steps(
        branch("x", output_schema={"type": "object"}),
        join("all", "x", output_schema=needs),
        how={"x": says({"n": 1, "m": 2})},
    )
    assert story.states == {"a": "error"}
    assert "does not fit output_schema" in story.why("a")["message"]


def test_a_result_that_is_not_what_was_promised_fails_the_step() -> None:
    story = steps(run("x", output_schema=SCHEMA), how={"x": says("no JSON")})
    assert story.states == {"a": "error"}
    assert "not JSON" in story.why("a")["message"]


def test_a_step_that_depends_on_a_failed_branch_does_not_run() -> None:
    story = steps(branch("x"), run("y", depends_on=["x"]), run("z"), how={"x": fails("broken")})
    assert story.started == ["a:x"]
    assert story.of("step_skipped", "a", "y")[0].outcome == "dependency"
    assert "broken" in story.why("a")["message"]


def test_a_step_that_depends_on_a_failed_branch_and_may_fail_lets_the_rest_go_on() -> None:
    story = steps(branch("x"), run("y", depends_on=["x"], on_error="continue"), run("z"), how={"x": fails()})
    assert story.started == ["a:x", "a:z"]
    assert story.states == {"a": "completed"}


@pytest.mark.parametrize(("condition", "outcome"), [("never", "condition"), ("attempt == 2", "dependency")])
def test_a_branch_fails_the_slice_even_if_who_waits_for_it_would_be_skipped(
    condition: str, outcome: str
) -> None:
    story = steps(branch("x"), run("y", depends_on=["x"], condition=condition), run("z"), how={"x": fails()})
    assert story.states == {"a": "error"}
    assert story.started == ["a:x"]
    assert story.of("step_skipped", "a", "y")[0].outcome == outcome


def test_a_patient_join_may_be_skipped_though_a_branch_failed() -> None:
    patient = join("all", "x", on_error="wait_for_all", condition="attempt == 2")
    assert steps(branch("x"), patient, run("z"), how={"x": fails()}).states == {"a": "completed"}


def test_two_joins_over_one_branch_both_see_it() -> None:
    story = steps(
        branch("x"), branch("y"), join("one", "x", "y"), join("two", "x"),
        run("out", "echo {{ step.one.result }} {{ step.two.result }}"), how={"x": says("1"), "y": says("2")},
    )  # fmt: skip
    assert story.commands("a:out") == ["echo '[x]:\n1\n\n[y]:\n2' '[x]:\n1'"]


def test_sequential_steps_can_be_joined() -> None:
    story = steps(
        run("x"), run("y"), join("both", "x", "y"), run("out", "echo {{ step.both.result }}"),
        how={"x": says("1\n"), "y": says("2\n")},
    )  # fmt: skip
    assert story.commands("a:out") == ["echo '[x]:\n1\n\n[y]:\n2'"]


def test_the_result_of_a_branch_can_abort_the_pipeline() -> None:
    rule = [{"when": "step.x.result == 'stop'", "action": "abort"}]
    story = steps(
        branch("x", on_result=rule), branch("y"), join("all", "x", "y"),
        how={"x": says("stop"), "y": says("", seconds=9.0)},
    )  # fmt: skip
    assert story.states == {"a": "error"}
    assert story.cancelled() == {"a:y": "a:x"}


def test_a_branch_can_be_tried_again() -> None:
    story = steps(
        branch("x", on_error="retry", max_retries=2), branch("y"), join("all", "x", "y"),
        how={"x": [fails(), DONE], "y": says("", seconds=9.0)},
    )  # fmt: skip
    assert story.started == ["a:x", "a:y", "a:x"]
    assert story.states == {"a": "completed"}


def test_a_branch_that_is_being_tried_again_is_ended_by_the_failure_of_another() -> None:
    story = steps(
        branch("x", on_error="retry", max_retries=1), branch("y"), join("all", "x", "y"),
        how={"x": [fails(), says("", seconds=9.0)], "y": fails(seconds=3.0)},
    )  # fmt: skip
    assert story.cancelled() == {"a:x": "a:y"}
    assert story.why("a")["message"].startswith("all: step 'y'")


def test_in_the_second_round_of_a_loop_only_its_own_failures_count() -> None:
    story = steps(
        run("first"), branch("x"), branch("y"),
        join("all", "x", "y", on_fail={"retry_from": "first", "max": 1}),
        how={"x": [fails("x broke"), DONE], "y": [DONE, fails("y broke", seconds=2.0)]},
    )  # fmt: skip
    assert story.states == {"a": "exhausted"}
    assert "y broke" in story.why("a")["message"]


def test_a_branch_that_is_skipped_in_the_second_round_has_not_failed_in_it() -> None:
    story = steps(
        run("first"),
        branch("x", condition="attempt == 1"),
        branch("y"),
        join("all", "x", "y", on_fail={"retry_from": "first", "max": 1}),
        how={"x": fails("x broke"), "y": [DONE, fails("y broke")]},
    )
    assert "y broke" in story.why("a")["message"]


def test_a_branch_that_waits_for_its_next_try_is_not_begun_when_another_has_failed() -> None:
    story = steps(
        branch("w"),
        branch("y", depends_on=["w"], pool="db"),
        branch("x", on_error="retry", max_retries=1, pool="db"),
        join("all", "x", "y"),
        how={"w": says("", seconds=0.5), "x": fails(), "y": fails(seconds=5.0)},
        pools={"db": 1},
    )
    assert story.finished == ["a:w done", "a:x failed", "a:y failed", "a:all failed"]


def test_the_costs_of_failed_and_of_cancelled_branches_count() -> None:
    both = [agent("x") | {"async": True}, agent("y") | {"async": True}]
    how = {"x": fails(cost=300), "y": fails(cost=40)}
    assert steps(*both, join("all", "x", "y"), how=how, retries=0).last.cost == 340
    assert steps(*both, join("all", "x", "y"), how=how, retries=2).last.cost == 3 * 340


def test_a_branch_that_cannot_be_begun_blocks_nobody_and_leaks_no_slot() -> None:
    bad = branch("x", "echo {{ step.first.json.no }}")
    story = steps(
        run("first"), bad, branch("y"), join("all", "x", "y", on_error="wait_for_all"), run("z"),
        max_concurrency=1, how={"first": says("{}")},
    )  # fmt: skip
    assert story.started == ["a:first", "a:y", "a:z"]
    assert story.states == {"a": "completed"}


# Conditions


def test_a_step_whose_condition_is_false_is_skipped_and_its_dependents_go_on() -> None:
    story = steps(run("x", condition="attempt == 2"), run("y", depends_on=["x"]))
    assert story.started == ["a:y"]
    assert story.of("step_skipped", "a", "x")[0].outcome == "condition"


def test_a_condition_knows_which_attempt_is_to_come() -> None:
    story = steps(
        run("x", condition="attempt == 1"), run("y", on_fail={"retry_from": "x", "max": 2}),
        how={"y": [fails(), fails(), DONE]},
    )  # fmt: skip
    assert story.started == ["a:x", "a:y", "a:y", "a:y"]


@pytest.mark.parametrize(
    "step",
    [run("y"), ask("y"), {"id": "y", "pipeline": "p"}, join("y", "x")],
    ids=["run", "ask", "nested", "join"],
)
def test_a_condition_that_cannot_be_evaluated_fails_the_step(step: Data) -> None:
    story = steps(
        run("x"), step | {"condition": "step.x.json.no == 1"}, run("z"),
        how={"x": says("{}")}, pipelines={"p": [run("q")]},
    )  # fmt: skip
    assert story.started == ["a:x"]
    assert story.states == {"a": "error"}
    assert story.why("a")["message"].startswith("y: condition: ")
