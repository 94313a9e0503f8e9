"""Results that a schema or a rule turns down, and questions about results."""

import pytest

from engine.run.stories import (
    Data,
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
from stored_events import StoredEvent
from weft.engine.simulate import SimulatedReply

SCORE = {"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]}
TOO_LOW = [{"when": "step.look.score < 5", "action": "fail"}]
BACK = {"retry_from": "work", "max": 1}


def finished(story: Story, step: str) -> list[StoredEvent]:
    return story.of("step_finished", "a", step)


def test_a_step_that_a_rule_turns_down_is_rejected_with_the_rule() -> None:
    story = steps(
        agent("work", "do {{ feedback }}"),
        agent("look", output_schema=SCORE, on_result=TOO_LOW, on_fail=BACK),
        how={"look": [says({"score": 2}), says({"score": 8})]},
    )
    assert story.finished == ["a:work done", "a:look rejected", "a:work done", "a:look done"]
    first, second = finished(story, "look")
    assert first.data["rejected_by"] == "on_result"
    assert first.data["message"] == "on_result: step.look.score < 5 (fail)"
    assert first.data["tail"] == '{"score": 2}'
    assert "rejected_by" not in second.data
    assert story.state == "completed"


def test_a_step_whose_result_does_not_fit_its_schema_is_rejected_with_the_schema_error() -> None:
    story = steps(
        agent("look", "look {{ feedback }}", output_schema=SCORE, on_error="retry", max_retries=1),
        how={"look": [says({"score": "high"}), says({"score": 8})]},
    )
    assert story.finished == ["a:look rejected", "a:look done"]
    first = finished(story, "look")[0]
    assert first.data["rejected_by"] == "output_schema"
    assert first.data["message"].startswith("the result does not fit output_schema: at $.score: ")


def test_the_fact_in_the_journal_still_says_how_the_process_ended() -> None:
    story = steps(run("look", on_result=[{"when": "always", "action": "fail"}]), how={"look": says("x")})
    fact = finished(story, "look")[0].fact
    assert getattr(fact, "how", None) == "done"


@pytest.mark.parametrize("action", ["fail", "abort"])
def test_a_rule_that_ends_the_slice_rejects_the_step_as_well(action: str) -> None:
    story = steps(run("look", on_result=[{"when": "always", "action": action}]), how={"look": says("x")})
    assert story.finished == ["a:look rejected"]
    assert story.why("a")["message"] == f"look: on_result: always ({action})"


def test_a_rule_that_cannot_be_evaluated_rejects_the_step_and_says_so() -> None:
    rule = [{"when": "step.look.json.no", "action": "continue"}]
    story = steps(run("look", on_result=rule), how={"look": says("{}")})
    assert story.finished == ["a:look rejected"]
    assert finished(story, "look")[0].data["message"].startswith("on_result: step.look.json.no: ")


def test_a_process_that_failed_stays_failed_whatever_a_rule_says() -> None:
    rule = [{"when": "always", "action": "fail"}]
    story = steps(run("look", on_result=rule, on_error="continue"), run("more"),
                  how={"look": fails()})  # fmt: skip
    assert story.finished == ["a:look failed", "a:more done"]


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ('{"score": 2, "reasons": ["too slow"]}', "on_result: step.look.score < 5 (fail)"),
        ('{"score": "high"}', "at $.score"),
        ("fine", "the result is not JSON"),
    ],
)
def test_the_next_attempt_hears_which_rule_or_schema_error_it_was(result: str, reason: str) -> None:
    story = steps(
        agent("work", "do {{ feedback }}"),
        agent("look", output_schema=SCORE, on_result=TOO_LOW, on_fail=BACK),
        how={"look": [says(result), says({"score": 8})]},
    )
    assert reason in story.prompts("a:work")[1]
    assert story.state == "completed"


def test_a_verdict_of_words_alone_is_fed_back_with_the_rule() -> None:
    rule = [{"when": "'ugly' in step.look.result", "action": "fail"}]
    story = steps(
        agent("work", "do {{ feedback }}"), agent("look", on_result=rule, on_fail=BACK),
        how={"look": [says("it is ugly"), says("nice")]},
    )  # fmt: skip
    messages = story.prompts("a:work")[1]
    assert "The result of step 'look' was rejected: on_result: 'ugly' in step.look.result (fail)" in messages
    assert "it is ugly" in messages


def test_a_join_that_a_rule_turns_down_is_rejected() -> None:
    rule = [{"when": "'bad' in step.all.result", "action": "fail"}]
    story = steps(branch("x"), join("all", "x", on_result=rule), how={"x": says("bad")})
    assert story.finished == ["a:x done", "a:all rejected"]
    assert finished(story, "all")[0].data["message"] == "on_result: 'bad' in step.all.result (fail)"


def test_an_answer_that_a_rule_turns_down_is_rejected() -> None:
    rule = [{"when": "step.sure.result != 'yes'", "action": "fail"}]
    story = steps(ask(on_result=rule), replies={"a:sure": SimulatedReply(0.0, accepted=True, text="maybe")})
    assert story.finished == ["a:sure rejected"]
    assert story.states == {"a": "error"}


# Questions about results


def question(rule: Data, result: str) -> str:
    story = steps(
        run("x", on_result=[{"when": "step.x.result != ''", "action": "ask", **rule}]),
        how={"x": says(result)},
    )
    text: str = story.of("ask", "a")[0].data["question"]
    return text


def test_a_question_about_a_result_shows_the_condition_and_the_result() -> None:
    assert question({}, "3 tests\n1 warning\n").splitlines() == [
        "Accept the result of x?",
        "(x: on_result: step.x.result != '')",
        "Its result:",
        "3 tests",
        "1 warning",
    ]


def test_a_rule_can_ask_a_question_of_its_own() -> None:
    lines = question({"question": "Release {{ slice.id }} with {{ step.x.result }}?"}, "7").splitlines()
    assert lines[0] == "Release a with 7?"
    assert lines[1] == "(x: on_result: step.x.result != '')"


def test_of_a_long_result_the_question_shows_the_end() -> None:
    lines = question({}, "\n".join(map(str, range(1000)))).splitlines()
    assert lines[-1] == "999"
    assert "lines before this are left out" in lines[3]
    assert len(lines) < 30


def test_a_question_that_cannot_be_rendered_rejects_the_step() -> None:
    rule = {"when": "always", "action": "ask", "question": "{{ step.x.json.a }}?"}
    story = steps(run("x", on_result=[rule]), how={"x": says("no json")})
    assert story.finished == ["a:x rejected"]
    assert story.of("ask") == []


def test_an_empty_result_is_asked_about_without_a_result() -> None:
    story = steps(run("x", on_result=[{"when": "always", "action": "ask"}]))
    assert story.of("ask", "a")[0].data["question"] == "Accept the result of x?\n(x: on_result: always)"


@pytest.mark.parametrize(("text", "result"), [("", "yes"), ("on Monday", "on Monday")])
def test_the_result_of_a_question_is_the_answer(text: str, result: str) -> None:
    story = tell(
        plan(leaf("a", ask(), run("x", "echo {{ step.sure.result }}"))),
        replies={"a:sure": SimulatedReply(0.0, accepted=True, text=text)},
    )
    (command,) = story.commands("a:x")
    assert result in str(command)
