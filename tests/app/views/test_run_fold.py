"""The fold of a run, without a plan."""

from typing import Any

import pytest

from app.run_stories import Story, slices
from stored_events import make_event
from weft.app.notify.notices import Notices
from weft.app.views.holds import key_of
from weft.app.views.run_fold import RunFold
from weft.cli.text.run_lines import lines_of
from weft.engine.messages.event_codec import CLASSES
from weft.engine.messages.events import (
    AnyEvent,
    MergeEvent,
    PartsEvent,
    PartsOutcome,
    PushEvent,
    Recorded,
    StepCancelledEvent,
    StepEnd,
    StepFinishedEvent,
    StepStartedEvent,
    SubplanStateEvent,
    UnknownEvent,
)
from weft.engine.messages.facts import RefMove
from weft.engine.states import SubplanExecutionState as State

HELD = StepFinishedEvent(
    subplan="a", step="@merge", outcome=StepEnd.HELD, firing=1, execution=1, message="no"
)
RETRY = StepStartedEvent(subplan="a", step="@merge", firing=1, execution=2)
MOVE = (RefMove(ref="refs/heads/main", before="1" * 40, after="2" * 40),)


def folded(*events: AnyEvent) -> RunFold:
    fold = RunFold()
    for at, event in enumerate(events):
        fold.apply(event, float(at))
    return fold


@pytest.mark.parametrize("kind", CLASSES)
def test_every_reader_takes_every_kind(kind: str) -> None:
    story = Story(*slices("a"))
    class_: Any = CLASSES[kind]
    event = class_(subplan="" if kind == "run_finished" else "a", **_NEEDED.get(kind, {}))
    story.view.apply(event, 0.0)
    lines_of(event, 0.0, story.view)
    lines_of(event, 0.0, story.view, quiet=True)
    Notices(story.plan).notice_of(Recorded(seq=1, at=0.0, run="r1", event=event))


_NEEDED: dict[str, dict[str, Any]] = {"conflict_ahead": {"other": "a"}}


def test_an_event_of_another_version_changes_nothing() -> None:
    fold = folded(UnknownEvent(kind="danced", subplan="a", data={"firing": 1}))
    assert (fold.state, dict(fold.by_path), fold.seq) == ("pending", {}, 1)


def test_the_fold_and_the_view_of_a_plan_agree() -> None:
    story = Story(*slices("a", "b"))
    story.start()
    story.run("a", cost=5, tokens=7)
    story.begin("b")
    story.step("b", "code", agent="coder")
    fold = folded(*story.told)
    assert (fold.state, fold.cost, fold.tokens) == (story.view.state, 5, 7)
    for path in ("a", "b"):
        ours, theirs = fold.by_path[path], story.view.row(path)
        assert (ours.state, ours.cost, ours.done) == (theirs.state, theirs.cost, theirs.done)
        assert [step.step for step in ours.steps.values()] == [step.step for step in theirs.steps.values()]


def test_a_hold_is_open_until_it_is_retried_and_known_until_it_ends_otherwise() -> None:
    fold = folded(HELD)
    assert [key_of(hold) for hold in fold.holds.open.values()] == [("a", "@merge")]
    assert fold.by_path["a"].held == fold.holds.open["a"]
    fold.apply(RETRY, 1.0)
    assert not fold.holds.open
    assert folded(HELD, RETRY).by_path["a"].held is None
    assert fold.holds.known.keys() == fold.holds.trying == {("a", "@merge")}
    fold.apply(StepFinishedEvent(subplan="a", step="@merge", firing=1, execution=2), 2.0)
    assert (fold.holds.known, fold.holds.trying, fold.holds.merged) == ({}, set(), {"@merge": {"a"}})


@pytest.mark.parametrize(
    "end",
    [
        StepCancelledEvent(subplan="a", step="@merge", firing=1),
        SubplanStateEvent(subplan="a", outcome=State.FAILED),
    ],
)
def test_a_hold_ends_with_its_step_and_with_its_subplan(end: AnyEvent) -> None:
    fold = folded(HELD, end)
    assert (fold.holds.known, fold.holds.open, fold.by_path["a"].held) == ({}, {}, None)


@pytest.mark.parametrize(
    "landing",
    [
        MergeEvent(subplan="a", step="@land", moves=MOVE),
        PartsEvent(subplan="a", outcome=PartsOutcome.LANDED, moves=MOVE),
    ],
)
def test_a_push_does_not_include_a_later_landing(landing: AnyEvent) -> None:
    push = PushEvent(remote="origin", commit="1" * 40)
    assert folded(push, landing).landings_by_path.push is None
    assert folded(landing, push).landings_by_path.push is not None


def test_a_journal_may_be_read_out_of_order_as_long_as_numbers_are_given() -> None:
    fold = RunFold()
    fold.apply(PushEvent(remote="origin"), 2.0, 9)
    fold.apply(MergeEvent(subplan="a", step="@land", moves=MOVE), 1.0, 8)
    assert fold.landings_by_path.push is not None


def test_an_answer_without_a_step_answers_the_question() -> None:
    ask = make_event(kind="ask", subplan="a", step="sure", data={"firing": 1, "question": "Sure?"})
    fold = folded(ask, make_event(kind="answered", subplan="a", outcome="yes"))
    assert fold.by_path["a"].questions == {}
