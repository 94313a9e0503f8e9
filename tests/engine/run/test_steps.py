"""Steps of a slice: results that decide, errors, pipelines in pipelines, templates."""

from typing import Any

import pytest

from engine.run.stories import (
    DONE,
    Data,
    Ends,
    Story,
    agent,
    ask,
    branch,
    fails,
    join,
    leaf,
    plan,
    run,
    says,
    steps,
    tell,
)
from weft.engine.messages.facts import StepOutcome
from weft.engine.simulate import SimulatedEnd, SimulatedReply

# Results that decide


def test_the_first_rule_that_fits_decides() -> None:
    rules = [
        {"when": "step.x.result == 'fine'", "action": "continue"},
        {"when": "always", "action": "fail"},
    ]
    assert steps(run("x", on_result=rules), how={"x": says("fine")}).state == "completed"
    assert steps(run("x", on_result=rules), how={"x": says("bad")}).states == {"a": "error"}


def test_a_rule_that_cannot_be_evaluated_fails_the_step() -> None:
    rule = [{"when": "step.x.json.no", "action": "continue"}]
    story = steps(run("x", on_result=rule), how={"x": says("{}")})
    assert story.why("a")["message"].startswith("x: on_result: step.x.json.no: ")


def test_what_a_rule_rejects_is_the_feedback_of_the_next_attempt() -> None:
    rule = [{"when": "'ugly' in step.look.result", "action": "fail"}]
    story = steps(
        agent("work", "do {{ feedback }}"),
        agent("look", on_result=rule, on_fail={"retry_from": "work", "max": 1}),
        how={"look": [says("it is ugly"), says("nice")]},
    )  # fmt: skip
    assert story.states == {"a": "completed"}
    assert "it is ugly" in story.prompts("a:work")[1]


ASK_IF_ODD = [{"when": "step.x.result == 'odd'", "action": "ask"}]


@pytest.mark.parametrize(("accepted", "state"), [(True, "completed"), (False, "error")])
def test_a_result_can_make_a_person_be_asked(accepted: bool, state: str) -> None:
    story = steps(
        run("x", on_result=ASK_IF_ODD), run("y"), how={"x": says("odd")},
        replies={"a:x": SimulatedReply(5.0, accepted, "hm")},
    )  # fmt: skip
    assert story.states == {"a": state}
    assert story.of("ask", "a")[0].step == "x"
    assert story.of("answered", "a")[0].outcome == ("yes" if accepted else "no")
    assert ("a:y" in story.started) is accepted


def test_a_person_can_be_asked_about_a_join_that_has_seen_a_failure() -> None:
    rule = [{"when": "'error' in step.all.result", "action": "ask"}]
    story = steps(
        branch("x"), join("all", "x", on_error="wait_for_all", on_result=rule), run("y"), how={"x": fails()}
    )
    assert story.of("ask", "a")[0].step == "all"
    assert story.states == {"a": "completed"}


def test_a_no_about_a_result_sends_the_work_back_if_the_step_says_so() -> None:
    story = steps(
        agent("work", "do {{ feedback }}"),
        run("x", on_result=ASK_IF_ODD, on_fail={"retry_from": "work", "max": 1}),
        how={"x": [says("odd"), DONE]}, replies={"a:x": SimulatedReply(0.0, False, "try the other way")},
    )  # fmt: skip
    assert story.states == {"a": "completed"}
    assert "try the other way" in story.prompts("a:work")[1]


# Errors


def test_a_failure_may_count_as_done() -> None:
    story = steps(run("x", on_error="continue"), run("y"), how={"x": fails()})
    assert story.finished == ["a:x failed", "a:y done"]
    assert story.states == {"a": "completed"}


def test_a_step_that_is_tried_again_as_often_as_it_may_is_exhausted() -> None:
    story = steps(run("x", on_error="retry", max_retries=2), how={"x": fails()})
    assert story.started == ["a:x"] * 3
    assert story.states == {"a": "exhausted"}


# Conversations


def test_a_step_that_resumes_goes_on_with_the_last_conversation_of_its_agent() -> None:
    story = steps(
        agent("one"), agent("two", agent="judge"), agent("three", resume=True), agent("four"),
        how={"one": says("", session="s1"), "two": says("", session="s2")},
    )  # fmt: skip
    assert [story.tasks(f"a:{name}")[0].session for name in ("one", "three", "four")] == [None, "s1", None]


def test_a_branch_that_resumes_forks_the_conversation() -> None:
    fork = agent("two", resume=True) | {"async": True}
    story = steps(agent("one"), fork, join("all", "two"), how={"one": says("", session="s1")})
    launch = story.launches("a:two")[0]
    assert launch.task is not None
    assert (launch.task.session, launch.task.fork) == ("s1", True)


# Pipelines in pipelines

INNER = [run("one"), run("two"), run("three")]


def nested(how: Ends | None = None, inner: list[Data] | None = None, **outer: Any) -> Story:
    return steps(
        {"id": "in", "pipeline": "p", **outer}, run("last", "echo {{ step['in'].result }}"),
        how=how, pipelines={"p": inner or INNER},
    )  # fmt: skip


def test_a_nested_pipeline_runs_in_line_and_gives_the_result_of_its_last_step() -> None:
    story = nested({"in.three": says("3")})
    assert story.started == ["a:in.one", "a:in.two", "a:in.three", "a:last"]
    assert story.commands("a:last") == ["echo 3"]


def test_a_failure_inside_ends_the_nested_pipeline_and_the_slice() -> None:
    story = nested({"in.two": fails()})
    assert story.started == ["a:in.one", "a:in.two"]
    assert story.finished[-1] == "a:in failed"
    assert story.why("a")["failure"]["step"] == "in.two"


def test_a_nested_pipeline_that_failed_may_count_as_done() -> None:
    story = nested({"in.two": fails()}, on_error="continue")
    assert story.started == ["a:in.one", "a:in.two", "a:last"]
    assert story.states == {"a": "completed"}


def test_a_nested_pipeline_can_be_tried_again_as_a_whole() -> None:
    story = nested({"in.two": [fails(), DONE]}, on_error="retry", max_retries=1)
    assert story.started == ["a:in.one", "a:in.two", "a:in.one", "a:in.two", "a:in.three", "a:last"]
    assert story.states == {"a": "completed"}


def test_an_abort_inside_ends_the_whole_slice_whatever_the_step_around_it_says() -> None:
    rule = [{"when": "always", "action": "abort"}]
    story = nested(inner=[run("one", on_result=rule), run("two")], on_error="continue")
    assert story.started == ["a:in.one"]
    assert story.states == {"a": "error"}


def test_branches_inside_a_nested_pipeline_work() -> None:
    story = nested({"in.x": fails(seconds=2.0), "in.y": says("", seconds=9.0)},
                   [branch("x"), branch("y"), join("all", "x", "y")], on_error="continue")  # fmt: skip
    assert story.cancelled() == {"a:in.y": "a:in.x"}
    assert story.started == ["a:in.x", "a:in.y", "a:last"]


def test_a_nested_pipeline_can_be_a_branch_and_is_ended_as_a_whole() -> None:
    story = steps(
        {"id": "in", "pipeline": "p", "async": True}, branch("y"), join("all", "in", "y"),
        how={"in.one": says("", seconds=9.0), "y": fails()}, pipelines={"p": INNER},
    )  # fmt: skip
    assert story.cancelled() == {"a:in.one": "a:y"}
    assert sorted(story.started) == ["a:in.one", "a:y"]


def test_a_person_who_says_no_inside_ends_only_the_nested_pipeline() -> None:
    story = steps(
        {"id": "in", "pipeline": "p", "on_error": "continue"}, run("last"),
        replies={"a:in.sure": SimulatedReply(3.0, accepted=False)}, pipelines={"p": [ask(), run("more")]},
    )  # fmt: skip
    assert story.started == ["a:last"]
    assert story.states == {"a": "completed"}


def test_loops_inside_a_nested_pipeline_count_for_each_of_its_own_tries() -> None:
    inner = [run("work"), run("check", on_fail={"retry_from": "work", "max": 1})]
    story = nested({"in.check": fails()}, inner, on_error="retry", max_retries=1)
    assert story.started.count("a:in.work") == 4
    assert story.states == {"a": "exhausted"}


# Templates


def test_templates_read_the_slice_the_plan_the_run_and_the_environment() -> None:
    names = ("slice.id", "slice.path", "plan.id", "plan.goal", "run.id", "env.HOME", "attempt")
    text = " ".join(f"{{{{ {name} }}}}" for name in names)
    compiled = plan(leaf("a", agent("x", text)), env_allow=["HOME"], goal="win")
    assert tell(compiled, env={"HOME": "/h"}).prompts("a:x") == ["a a p win simulated /h 1"]


@pytest.mark.parametrize(
    "step",
    [
        run("y", "echo {{ step.x.json.no }}"),
        agent("y", "{{ step.x.json.no }}"),
        ask("y", "{{ step.x.json.no }}"),
    ],
    ids=["run", "agent", "ask"],
)
def test_a_template_that_cannot_be_filled_fails_the_step_with_the_reason(step: Data) -> None:
    story = steps(run("x"), step, how={"x": says("{}")})
    assert story.finished == ["a:x done", "a:y failed"]
    assert story.states == {"a": "error"}
    assert "'no'" in story.why("a")["message"]


def test_all_templates_of_a_step_see_the_same() -> None:
    story = steps(run("x", "echo {{ slice.id }}", env={"WHO": "{{ slice.id }}", "RUN": "{{ run.id }}"}))
    assert story.commands("a:x") == ["echo a"]
    assert story.launches("a:x")[0].env == {"WHO": "a", "RUN": "simulated"}


def test_an_argv_is_filled_word_by_word_and_not_quoted() -> None:
    story = steps(run("x"), {"id": "y", "run": ["echo", "{{ step.x.result }}"]}, how={"x": says("a b")})
    assert story.commands("a:y") == [("echo", "a b")]


def test_a_step_has_its_own_time_limit_and_environment() -> None:
    story = steps(
        run("x", timeout="5s", grace="2s", env={"MODE": "{{ slice.id }}!"}), run("y"), timeout="60s"
    )
    first, second = story.launches("a:x")[0], story.launches("a:y")[0]
    assert (first.timeout, first.grace, first.env) == (5.0, 2.0, {"MODE": "a!"})
    assert (second.timeout, second.grace) == (60.0, 10.0)


def test_verify_runs_the_commands_of_the_slice_and_tells_which_failed() -> None:
    compiled = plan(leaf("a", {"id": "check", "action": "verify"}, verify=["one", ["two", "x y"]]))
    story = tell(
        compiled, {"a:check": SimulatedEnd(how=StepOutcome.FAILED, exit_code=3, message="exit code 3")}
    )
    assert story.commands("a:check") == ["one", ("two", "x y")]
    assert story.of("step_started", "a", "check")[0].data["command"] == "one && two 'x y'"
    assert story.why("a")["failure"]["exit_code"] == 3


@pytest.mark.parametrize("how", [says("yes\n"), fails(result="yes\n")])
def test_the_end_of_the_last_line_belongs_to_the_output_of_a_command_and_not_to_its_result(
    how: SimulatedEnd,
) -> None:
    messages = run("tell", "x {{ step.ask.result }} {{ step.ask.stdout }}")
    story = steps(run("ask", on_error="continue"), messages, how={"ask": how})
    assert story.commands("a:tell") == ["x yes 'yes\n'"]
