"""What a run asks: from when to when a question is open, and who may answer it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.books import Written, written
from stored_events import make_event
from weft.app.control.questions import OpenQuestion, answer, open_questions
from weft.engine.messages.events import AnyEvent
from weft.errors import InputError

ASK = make_event(kind="ask", subplan="docs", step="sure", data={"question": "Really?", "firing": 1})
OTHER = make_event(
    kind="ask", subplan="store/model", step="sure", data={"question": "And this?", "firing": 2}
)


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Written]:
    with written(tmp_path, [ASK, OTHER]) as files:
        yield files


def asked(one: Written) -> list[OpenQuestion]:
    with one.opened() as recorded_run:
        return open_questions(recorded_run)


def test_what_was_asked_is_open(one: Written) -> None:
    assert asked(one) == [
        OpenQuestion("docs", "sure", "Really?"),
        OpenQuestion("store/model", "sure", "And this?"),
    ]


@pytest.mark.parametrize(
    "event",
    [
        make_event(kind="answered", subplan="docs", step="sure", outcome="yes"),
        make_event(kind="step_cancelled", subplan="docs", step="sure", data={"firing": 1}),
        make_event(kind="subplan_state", subplan="docs", outcome="failed"),
        make_event(kind="subplan_state", subplan="docs", outcome="completed"),
    ],
)
def test_it_is_closed_by_an_answer_and_by_the_end_of_the_step_or_subplan(
    one: Written, event: AnyEvent
) -> None:
    one.tell(event)
    assert [question.name for question in asked(one)] == ["store/model:sure"]


def test_other_things_that_happen_leave_it_open(one: Written) -> None:
    one.tell(
        make_event(kind="subplan_state", subplan="docs", outcome="running"),
        make_event(kind="step_finished", subplan="docs", step="other", outcome="done"),
        make_event(kind="answered", subplan="docs", step="other", outcome="yes"),
    )
    assert len(asked(one)) == 2


def test_a_question_can_be_asked_again(one: Written) -> None:
    one.tell(make_event(kind="answered", subplan="docs", step="sure", outcome="no"))
    one.tell(make_event(kind="ask", subplan="docs", step="sure", data={"question": "Now?", "firing": 3}))
    assert asked(one)[-1] == OpenQuestion("docs", "sure", "Now?")


def test_an_answer_waits_in_the_journal_until_it_is_taken_up(one: Written) -> None:
    with one.opened() as recorded_run:
        answered = answer(recorded_run, "docs", accepted=False, text="not yet")
    assert answered.name == "docs:sure"
    (request,) = one.journal.requests("r1")
    assert (request.kind, request.subplan, request.step) == ("answer", "docs", "sure")
    assert request.data == {"accepted": False, "text": "not yet"}
    assert [question.answer for question in asked(one)] == ["no", ""]
    with one.opened() as recorded_run, pytest.raises(InputError, match="has been answered already: no"):
        answer(recorded_run, "docs:sure", accepted=True, text="")


def test_of_two_answers_at_the_same_moment_the_first_counts(one: Written) -> None:
    for accepted in (True, False):
        one.journal.ask("r1", "answer", subplan="docs", step="sure", data={"accepted": accepted}, at=0.0)
    assert [question.answer for question in asked(one)] == ["yes", ""]


def test_an_answer_to_nothing_changes_nothing(one: Written) -> None:
    one.journal.ask("r1", "answer", subplan="docs", step="other", data={"accepted": True}, at=0.0)
    assert [question.answer for question in asked(one)] == ["", ""]


def test_a_run_that_was_given_up_asks_nothing(one: Written) -> None:
    one.tell(state="abandoned")
    assert asked(one) == []
