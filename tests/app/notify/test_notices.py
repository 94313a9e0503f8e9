"""What somebody is told of a run, and that each thing is told once."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from app.notice_stories import asked, ended, event, failed, finished, held, recorded, spent
from app.run_stories import group, plan_of, slices
from weft.app.notify.notices import Notice, Notices
from weft.engine.messages.event_codec import kind_of, outcome_of
from weft.engine.messages.events import AnyEvent, Recorded

PLAN = plan_of(group("store", *slices("model", "disk")), *slices("cli"))


ASKS = held("cli", asks=True, message="cli is ready to land on main; type: weft merge cli")
IN_CONFLICT = held(
    "cli",
    "@merge",
    conflict=True,
    files=["a.py", "b.py", "c.py", "d.py"],
    message="cli cannot be merged: 4 files.\nand so on",
)


def heard(notices: Notices, events: Iterable[Recorded]) -> list[Notice]:
    return [notice for notice in map(notices.notice_of, events) if notice is not None]


def told(*events: AnyEvent) -> list[Notice]:
    return heard(Notices(PLAN), recorded(events))


def in_short(*events: AnyEvent) -> list[tuple[str, str, str, str]]:
    return [(item.event, item.title, item.text, item.next) for item in told(*events)]


# What is said


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (finished("completed"), ("finished", "notes is completed", "All 3 slices are completed.", "")),
        (
            structs.replace(finished("completed"), cost=1_230_000),
            ("finished", "notes is completed", "All 3 slices are completed; $1.23 spent.", ""),
        ),
        (finished("failed", message="cli failed"), ("failed", "notes has failed", "cli failed", "weft run")),
        (finished("failed", stuck=["cli waits"]), ("failed", "notes has failed", "cli waits", "weft run")),
        (finished("failed"), ("failed", "notes has failed", "Something failed.", "weft run")),
        (
            failed("store/disk", message="check: exit code 1\n\x1b[31mmore\x1b[0m"),
            ("failed", "notes: store/disk has failed", "check: exit code 1 more", "weft logs store/disk"),
        ),
        (
            failed("cli", reason="budget"),
            ("failed", "notes: cli has failed", "budget", "weft logs cli"),
        ),
        (
            failed("store", message="verify: exit code 2"),
            ("failed", "notes: store has failed", "verify: exit code 2", "weft logs store"),
        ),
        (
            IN_CONFLICT,
            (
                "conflict", "notes: cli is in conflict",
                "cli cannot be merged: 4 files. (a.py, b.py, c.py and 1 more)", "weft merge cli",
            ),
        ),
        (
            held("cli", message="cli cannot land: a is in the way", files=["a"]),
            ("conflict", "notes: cli is held", "cli cannot land: a is in the way", "weft merge cli"),
        ),
        (
            ASKS,
            (
                "gate", "notes: cli waits to land", "cli is ready to land on main",
                "weft merge cli",
            ),
        ),
        (asked("cli", 7), ("gate", "notes: cli asks", "Go on?", "weft answer cli:gate yes")),
        (spent(75), ("budget", "notes has spent 75 % of its budget", "$0.75 of $1.00 are spent.", "")),
        (
            event("budget", "", outcome="alert", unit="tokens", percent=90, spent=9_000, ceiling=10_000),
            ("budget", "notes has spent 90 % of its budget", "9,000 tokens of 10,000 tokens are spent.", ""),
        ),
        (
            spent(100, "store"),
            (
                "budget", "notes: store has used up its budget",
                "$1.00 of $1.00 are spent; nothing new starts.", "",
            ),
        ),
    ],
)  # fmt: skip
def test_a_thing_is_reported_in_a_line_with_what_to_type(
    one: AnyEvent, said: tuple[str, str, str, str]
) -> None:
    assert in_short(one) == [said]


@pytest.mark.parametrize(
    "one",
    [
        finished("stopped"),
        failed("cli", reason="blocked", cause="store"),
        failed("cli", reason="cancelled"),
        failed("store", cause="store/disk", message="store/disk failed"),
        held("cli", waits_for=["store"]),
        event("subplan_state", "cli", outcome="completed"),
        event("step_finished", "cli", "code", "failed"),
        event("merge", "cli", "@merge", "conflict"),
        event("something new"),
    ],
)
def test_events_that_need_no_action_are_not_reported(one: AnyEvent) -> None:
    assert told(one) == []


def test_the_only_slice_is_not_called_all_of_them() -> None:
    (notice,) = heard(Notices(plan_of(*slices("a"))), recorded([finished("completed")]))
    assert notice.text == "The one slice is completed."


@pytest.mark.parametrize(
    ("file", "command"),
    [("weft.yml", "weft run"), ("my plan.yaml", "weft run 'my plan.yaml'"), ("standard input", "weft run -")],
)
def test_what_to_type_names_the_plan(file: str, command: str) -> None:
    plan = structs.replace(PLAN, document=structs.replace(PLAN.document, file=file))
    (notice,) = heard(Notices(plan), recorded([finished("failed")]))
    assert notice.next == command


def test_a_notice_is_sent_as_json_of_this_shape() -> None:
    run, item = (notice.to_json() for notice in told(finished("completed"), asked("cli", 1)))
    assert (run["subplan"], run["next"]) == (None, None)
    assert item == {
        "weft": 1,
        "event": "gate",
        "plan": "notes",
        "run": "r1",
        "subplan": "cli",
        "title": "notes: cli asks",
        "text": "Go on?",
        "next": "weft answer cli:gate yes",
        "at": "1970-01-01T00:16:41.000Z",
    }


def test_of_a_long_text_only_one_line_is_reported() -> None:
    (notice,) = told(event("ask", "cli", "gate", question="x\n" * 10_000, firing=1))
    assert len(notice.text) == 300
    assert "\n" not in notice.text


# Once


@pytest.mark.parametrize(
    "between", [[], [ended("cli", "stopped")], [ended("cli", "lost"), ended("cli", "infra")]]
)
def test_what_is_tried_again_and_held_again_is_reported_once(between: list[AnyEvent]) -> None:
    assert [item.event for item in told(ASKS, *between, ASKS)] == ["gate"]


@pytest.mark.parametrize("settles", [ended("cli", "done"), event("step_cancelled", "cli", "@land", firing=1)])
def test_what_is_held_again_after_it_was_settled_is_reported_again(settles: AnyEvent) -> None:
    assert [item.event for item in told(ASKS, settles, ASKS)] == ["gate", "gate"]


def test_a_landing_that_was_agreed_to_and_is_in_conflict_then_is_reported_as_that() -> None:
    conflict = held("cli", conflict=True)
    assert [item.event for item in told(ASKS, conflict, conflict, ASKS)] == ["gate", "conflict", "gate"]


def test_another_step_or_subplan_that_is_held_is_another_thing() -> None:
    assert len(told(held("cli", "@merge"), held("cli", "@land"), held("store", "@land"))) == 3


def test_a_question_and_an_alert_are_reported_once_each() -> None:
    tokens = event("budget", outcome="alert", unit="tokens", percent=75, spent=75, ceiling=100)
    events = [
        tokens,
        asked("cli", 1),
        asked("cli", 1),
        asked("cli", 2),
        spent(75),
        spent(75),
        spent(75, "store"),
        spent(90),
    ]
    assert [item.event for item in told(*events)] == ["budget", "gate", "gate", "budget", "budget", "budget"]


PATHS = st.sampled_from(["store", "store/model", "store/disk", "cli"])
ANY_EVENT = st.one_of(
    st.builds(
        failed, PATHS, reason=st.sampled_from(["error", "blocked"]), cause=st.sampled_from(["", "cli"])
    ),
    st.builds(held, PATHS, st.sampled_from(["@merge", "@land"]), asks=st.booleans(), conflict=st.booleans()),
    st.builds(ended, PATHS, st.sampled_from(["done", "stopped", "lost", "failed"])),
    st.builds(asked, PATHS, st.integers(1, 3)),
    st.builds(spent, st.sampled_from([75, 90, 100]), PATHS),
    st.builds(finished, st.sampled_from(["completed", "failed", "stopped"])),
)


@given(st.lists(ANY_EVENT, max_size=30), st.lists(st.integers(0, 30), max_size=4))
def test_however_often_the_coordinator_is_replaced_the_same_things_are_reported(
    events: Sequence[AnyEvent], ends: Sequence[int]
) -> None:
    every = recorded(events)
    bounds = [0, *sorted(min(end, len(every)) for end in ends), len(every)]
    piecewise: list[Notice] = []
    for start, end in pairwise(bounds):
        notices = Notices(PLAN)
        heard(notices, every[:start])
        piecewise += heard(notices, every[start:end])
    assert piecewise == heard(Notices(PLAN), every)


@given(st.lists(ANY_EVENT, max_size=30))
def test_nothing_is_reported_twice_while_it_is_as_it_was(events: Sequence[AnyEvent]) -> None:
    waiting: dict[tuple[str, str], str] = {}
    notices = Notices(PLAN)
    for item in recorded(events):
        notice = notices.notice_of(item)
        key = (item.event.subplan, item.event.step)
        if kind_of(item.event) == "step_finished" and outcome_of(item.event) in {"done", "failed"}:
            waiting.pop(key, None)
        if notice is not None and item.event.step.startswith("@"):
            assert waiting.get(key) != notice.event
            waiting[key] = notice.event
