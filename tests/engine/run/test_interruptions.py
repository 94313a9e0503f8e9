"""Stops, deaths and people: what was interrupted goes on, and nothing is done twice."""

import pytest

from engine.run.stories import (
    SLOW,
    after,
    ask,
    begun,
    branch,
    fails,
    join,
    leaf,
    plan,
    run,
    tell,
)
from weft.engine.messages.event_codec import kind_of, outcome_of
from weft.engine.messages.facts import Answered, Ended, Resumed, StepOutcome, StopAsked
from weft.engine.messages.orders import Halt, Launch
from weft.engine.simulate import Interruptions, SimulatedReply

# Stops


def test_what_was_stopped_is_done_again_and_nothing_else_is() -> None:
    compiled = plan(leaf("a", run("one"), run("two")), leaf("b"), isolation="none")
    story = tell(compiled, {"b:work": SLOW}, interruptions=Interruptions(stops=after(2)))
    started = [(event.step, event.data["execution"]) for event in story.of("step_started")]
    assert started == [("one", 1), ("work", 1), ("two", 1), ("work", 2), ("two", 2)]
    assert story.states == {"a": "completed", "b": "completed"}
    assert [event.attempt for event in story.of("step_started", "b")] == [1, 1]


def test_nothing_starts_while_a_run_is_stopping_and_it_is_stopped_when_all_has_ended() -> None:
    engine = begun(plan(leaf("a", run("one"), run("two")), isolation="none"))
    engine.apply(StopAsked(at=1.0))
    assert engine.state == "running"
    assert engine.take_messages()[1] == [Halt(firing=1, execution=1, how="stopped")]
    engine.apply(Ended(at=2.0, firing=1, execution=1, how=StepOutcome.DONE))
    events, orders = engine.take_messages()
    assert (engine.state, orders) == ("stopped", [])
    assert (kind_of(events[-1]), outcome_of(events[-1])) == ("run_finished", "stopped")
    engine.apply(Resumed(at=3.0, epoch=2))
    assert [order.step for order in engine.take_messages()[1] if isinstance(order, Launch)] == ["two"]


def test_who_does_not_want_to_wait_stops_without_grace() -> None:
    engine = begun(plan(leaf("a"), isolation="none"))
    engine.apply(StopAsked(at=1.0))
    engine.apply(StopAsked(at=1.0, now=True))
    assert [order for order in engine.take_messages()[1] if isinstance(order, Halt)] == [
        Halt(firing=1, execution=1, how="stopped"),
        Halt(firing=1, execution=1, how="stopped", now=True),
    ]


def test_a_stop_that_reaches_a_process_after_the_run_goes_on_starts_it_again() -> None:
    engine = begun(plan(leaf("a"), isolation="none"))
    engine.apply(StopAsked(at=1.0))
    engine.apply(Resumed(at=2.0, epoch=2))
    engine.take_messages()
    engine.apply(Ended(at=3.0, firing=1, execution=1, how=StepOutcome.STOPPED))
    assert [(order.firing, order.execution) for order in engine.in_flight] == [(1, 2)]


def test_what_was_to_end_for_good_is_told_so_again_after_a_death() -> None:
    engine = begun(plan(leaf("a"), leaf("b"), isolation="none"))
    engine.apply(Ended(at=1.0, firing=1, execution=1, how=StepOutcome.FAILED))
    assert engine.take_messages()[1] == [Halt(firing=2, execution=1, how="cancelled")]
    engine.apply(Resumed(at=2.0, epoch=2))
    assert engine.take_messages()[1] == [Halt(firing=2, execution=1, how="cancelled")]
    engine.apply(Ended(at=3.0, firing=2, execution=1, how=StepOutcome.LOST))
    assert engine.state == "failed"
    assert engine.tracker.failures()["b"] == "cancelled"


def test_an_order_to_cancel_outranks_one_to_stop() -> None:
    engine = begun(plan(leaf("a"), leaf("b"), isolation="none"))
    engine.apply(StopAsked(at=1.0))
    engine.apply(Ended(at=1.0, firing=1, execution=1, how=StepOutcome.FAILED))
    engine.apply(Ended(at=2.0, firing=2, execution=1, how=StepOutcome.STOPPED))
    assert engine.state == "failed"


def test_what_was_stopped_is_not_done_again_if_something_else_fails_meanwhile() -> None:
    engine = begun(plan(leaf("a"), leaf("b")))
    engine.apply(StopAsked(at=1.0))
    engine.apply(Ended(at=1.0, firing=1, execution=1, how=StepOutcome.STOPPED))
    engine.apply(Ended(at=2.0, firing=2, execution=1, how=StepOutcome.FAILED))
    assert engine.state == "failed"
    assert engine.tracker.failures() == {"a": "cancelled", "b": "error"}


def test_a_crash_in_the_middle_loses_no_finished_branch() -> None:
    compiled = plan(leaf("a", branch("x"), branch("y"), join("all", "x", "y")))
    story = tell(compiled, {"a:y": SLOW}, interruptions=Interruptions(dies=after(4), dies_early=after(2)))
    assert story.started == ["a:x", "a:y"]
    assert [event.data for event in story.of("recovered")] == [
        {"epoch": 2, "running": [2, 3]},
        {"epoch": 3, "running": [3]},
    ]


# People


def test_a_question_holds_up_its_own_slice_and_nothing_else() -> None:
    compiled = plan(leaf("a", run("one"), ask(), run("two")), leaf("b"), leaf("c"), max_parallel=1)
    story = tell(compiled, replies={"a:sure": SimulatedReply(100.0)})
    assert story.started == ["a:one", "b:work", "c:work", "a:two"]
    assert story.states == dict.fromkeys("abc", "completed")


def test_a_run_with_nothing_but_questions_waits() -> None:
    story = tell(plan(leaf("a", ask("sure", "Really, {{ slice.id }}?")), leaf("b")), replies={"a:sure": None})
    assert story.state == "waiting"
    assert [(item.subplan.path, item.step, item.question) for item in story.run.engine.questions()] == [
        ("a", "sure", "Really, a?")
    ]
    assert story.states == {"b": "completed"}


@pytest.mark.parametrize(
    ("text", "said"), [("", "sure: a person said no"), ("bad", "sure: a person said no: bad")]
)
def test_a_no_fails_the_step(text: str, said: str) -> None:
    story = tell(plan(leaf("a", ask(), run("two"))), replies={"a:sure": SimulatedReply(1.0, False, text)})
    assert story.states == {"a": "error"}
    assert story.why("a")["message"] == said
    assert story.started == []


def test_an_answer_is_the_result_of_the_question() -> None:
    story = tell(
        plan(leaf("a", ask(), run("out", "echo {{ step.sure.result }}"))),
        replies={"a:sure": SimulatedReply(1.0, True, "blue")},
    )
    assert story.commands("a:out") == ["echo blue"]


def test_a_question_of_a_slice_that_is_cancelled_is_cancelled() -> None:
    story = tell(
        plan(leaf("a", ask()), leaf("b")), {"b:work": fails()}, replies={"a:sure": SimulatedReply(100.0)}
    )
    assert story.states == {"a": "cancelled", "b": "error"}
    assert story.cancelled()["a:sure"] == "b"
    assert story.run.seconds < 10


def test_a_question_in_a_branch_leaves_the_other_branches_alone() -> None:
    in_branch = {"id": "in", "pipeline": "p", "async": True}
    story = tell(
        plan(leaf("a", in_branch, branch("y"), join("all", "in", "y")), pipelines={"p": [ask()]}),
        replies={"a:in.sure": SimulatedReply(30.0)},
    )
    assert story.span("a:y")[1] == 2.0
    assert story.states == {"a": "completed"}


def test_a_question_in_a_branch_is_cancelled_when_another_fails() -> None:
    in_branch = {"id": "in", "pipeline": "p", "async": True}
    story = tell(
        plan(leaf("a", in_branch, branch("y"), join("all", "in", "y")), pipelines={"p": [ask()]}),
        {"a:y": fails()},
        replies={"a:in.sure": SimulatedReply(30.0)},
    )
    assert story.cancelled() == {"a:in.sure": "a:y"}
    assert story.states == {"a": "error"}


def test_a_question_whose_dependency_failed_is_not_asked() -> None:
    story = tell(plan(leaf("a", branch("x"), ask(depends_on=["x"]))), {"a:x": fails()})
    assert story.of("ask") == []
    assert story.states == {"a": "error"}


def test_an_answer_that_nobody_asked_for_is_noted_and_ignored() -> None:
    engine = begun(plan(leaf("a", ask()), isolation="none"))
    engine.apply(Answered(at=1.0, subplan="b", step="", accepted=True))
    engine.apply(Answered(at=1.0, subplan="a", step="other", accepted=True))
    assert [kind_of(event) for event in engine.take_messages()[0]] == ["ignored", "ignored"]
    engine.apply(Answered(at=2.0, subplan="a", step="", accepted=True))
    assert engine.state == "completed"


def test_a_run_that_waits_for_people_can_be_stopped_and_goes_on_waiting() -> None:
    engine = begun(plan(leaf("a", ask()), isolation="none"))
    engine.apply(StopAsked(at=1.0))
    assert engine.state == "stopped"
    engine.apply(Resumed(at=2.0, epoch=2))
    assert engine.state == "waiting"
