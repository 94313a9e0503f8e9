"""How a run is, from its journal alone."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.books import Written, written
from weft.app.run_control import DeafError, chosen, steer, under_way
from weft.app.run_overview import Overview, SubplanNow, overview
from weft.engine.run.events import Event
from weft.engine.run.facts import Wanted
from weft.errors import InputError
from weft.plan.loading.load import load_plan
from weft.plan.showing.show import record_plan

PLAN = """
weft: 1
plan: tried
isolation: worktree
budget: 20
agents: {coder: {use: command, command: [x]}}
subplans:
  - id: store
    subplans:
      - {id: model, steps: [{id: work, run: "true"}, {id: check, run: "true"}]}
      - {id: disk, depends_on: [model], steps: [{id: work, run: "true"}]}
  - {id: docs, depends_on: [store], steps: [{id: write, run: "true"}]}
"""


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Written]:
    with written(tmp_path, text=record_plan(load_plan(PLAN))) as made:
        yield made


def state(path: str, outcome: str, **data: object) -> Event:
    return Event(kind="subplan_state", subplan=path, outcome=outcome, data=data)


def step(kind: str, path: str, name: str, outcome: str = "", firing: int = 1, **more: object) -> Event:
    data = {"firing": firing, "execution": 1}
    return Event(kind=f"step_{kind}", subplan=path, step=name, attempt=1, outcome=outcome, data=data, **more)  # type: ignore[arg-type]


def seen(book: Written, *, everything: bool = True) -> Overview:
    with book.opened() as opened:
        return overview(opened, everything=everything)


def row(book: Written, path: str) -> SubplanNow:
    return next(one for one in seen(book).subplans if one.path == path)


BEGUN = (state("store", "running"), state("store/model", "running"), step("started", "store/model", "work"))


def test_a_run_that_has_just_begun(book: Written) -> None:
    book.tell(*BEGUN)
    now = seen(book)
    assert (now.run, now.plan, now.state, now.ceiling) == ("r1", "tried", "running", 20.0)
    assert now.counts == {"pending": 2, "running": 1, "completed": 0, "failed": 0}
    assert [one.path for one in now.subplans] == ["store", "store/model", "store/disk", "docs"]
    model = row(book, "store/model")
    assert (model.state, model.step, model.attempt, model.landing) == ("running", "work", 1, "unmerged")
    assert (model.steps_done, model.steps_total, model.branch) == (0, 2, "weft/tried/store.model")
    assert row(book, "docs").blocked_by == ("store",)


def test_a_ceiling_in_tokens_is_told_as_it_is_written(tmp_path: Path) -> None:
    plan = load_plan(PLAN.replace("budget: 20", "budget: {tokens: 5M}"))
    with written(tmp_path, text=record_plan(plan)) as book:
        assert (seen(book).ceiling, seen(book).token_ceiling) == (None, "5M")


def test_only_what_somebody_may_want_to_look_at_is_listed_without_everything(book: Written) -> None:
    book.tell(*BEGUN)
    assert [one.path for one in seen(book, everything=False).subplans] == ["store", "store/model"]


def test_a_step_that_has_ended_counts_and_is_not_under_way(book: Written) -> None:
    ends = step("finished", "store/model", "work", "done", cost=1_500_000, tokens=7)
    book.tell(*BEGUN, ends)
    model = row(book, "store/model")
    assert (model.step, model.steps_done, model.cost) == (None, 1, 1_500_000)
    assert (seen(book).cost, seen(book).tokens) == (1_500_000, 7)


def test_steps_that_changed_nothing_when_they_were_last_done_are_told(book: Written) -> None:
    def ends(name: str, *, changed: bool) -> Event:
        done = step("finished", "store/model", name, "done")
        return Event(
            kind=done.kind, subplan=done.subplan, step=done.step, outcome=done.outcome,
            data={**done.data, "changed": changed},
        )  # fmt: skip

    book.tell(*BEGUN, ends("work", changed=False), ends("check", changed=False))
    assert row(book, "store/model").idle == ("work", "check")
    book.tell(ends("work", changed=True))
    assert row(book, "store/model").idle == ("check",)
    assert row(book, "docs").idle is None


def test_a_slice_that_is_completed_has_done_all_its_steps_and_is_merged_into_its_group(book: Written) -> None:
    book.tell(*BEGUN, state("store/model", "completed"))
    model = row(book, "store/model")
    assert (model.steps_done, model.landing, model.step) == (2, "merged", None)


def test_what_failed_says_why(book: Written) -> None:
    book.tell(*BEGUN, state("store/model", "failed", reason="error", message="it broke"))
    model = row(book, "store/model")
    assert (model.state, model.reason, model.message) == ("failed", "error", "it broke")


def test_a_question_is_shown_until_it_is_answered(book: Written) -> None:
    book.tell(*BEGUN, Event(kind="ask", subplan="store/model", step="sure", data={"question": "Sure?"}))
    assert row(book, "store/model").question == "Sure?"
    book.tell(Event(kind="answered", subplan="store/model", step="sure", outcome="yes"))
    assert row(book, "store/model").question is None


@pytest.mark.parametrize(("outcome", "files"), [("conflict", ("a.py",)), ("held", ())])
def test_what_is_held_is_listed_until_it_has_landed(
    book: Written, outcome: str, files: tuple[str, ...]
) -> None:
    told = Event(
        kind="merge", subplan="docs", step="@land", outcome=outcome, data={"files": ["a.py"], "message": "no"}
    )
    book.tell(state("docs", "running"), state("docs", "completed"), told)
    (docs,) = seen(book, everything=False).subplans
    assert (docs.landing, docs.conflict, docs.message) == (outcome, files, "no")
    book.tell(Event(kind="merge", subplan="docs", step="@land", outcome="merged"))
    assert row(book, "docs").landing == "merged"


def test_what_was_left_out_of_its_group_is_listed_with_the_reason(book: Written) -> None:
    book.tell(*BEGUN, state("store/model", "completed"), state("store", "completed"))
    book.tell(Event(kind="left_out", subplan="store/model", data={"message": "it breaks verify"}))
    (model,) = seen(book, everything=False).subplans
    assert (model.path, model.landing, model.message) == ("store/model", "unmerged", "it breaks verify")


def test_what_people_want_is_shown(book: Written) -> None:
    assert seen(book).wants is False
    book.tell(
        Event(kind="paused", subplan="store", outcome="pause"),
        Event(kind="paused", subplan="docs", outcome="stop"),
    )
    assert (row(book, "store/disk").wanted, row(book, "docs").wanted, seen(book).wants) == (
        "pause",
        "stop",
        True,
    )
    book.tell(Event(kind="recovered"), Event(kind="resumed", subplan="", outcome="go"))
    assert seen(book).wants is False


def test_costs_that_nobody_knows_are_counted(book: Written) -> None:
    book.tell(Event(kind="run_finished", outcome="completed", data={"unknown_costs": 2}))
    assert seen(book).unknown == 2


def test_costs_that_nobody_knows_are_counted_while_it_runs(book: Written) -> None:
    book.tell(*BEGUN, *[Event(kind="cost_unknown", subplan="store/model", step="work")] * 2)
    assert seen(book).unknown == 2


def test_what_a_running_step_has_spent_counts_once_and_less_is_reserved_for_it(book: Written) -> None:
    started = Event(
        kind="step_started", subplan="store/model", step="work", attempt=1,
        data={"firing": 1, "execution": 1, "reserved": 900_000},
    )  # fmt: skip
    heard = Event(
        kind="spent", subplan="store/model", step="work", attempt=1, cost=300_000, tokens=7,
        data={"firing": 1, "execution": 1},
    )  # fmt: skip
    book.tell(*BEGUN[:2], started)
    assert (seen(book).cost, seen(book).reserved) == (0, 900_000)
    book.tell(heard)
    assert (seen(book).cost, seen(book).tokens, seen(book).reserved) == (300_000, 7, 600_000)
    book.tell(step("finished", "store/model", "work", "done", cost=400_000, tokens=9))
    assert (seen(book).cost, seen(book).tokens, seen(book).reserved) == (400_000, 9, 0)
    assert row(book, "store/model").cost == 400_000


def test_the_process_of_a_step_is_the_one_that_its_supervisor_names(book: Written) -> None:
    book.tell(*BEGUN)
    with book.opened() as opened:
        host = opened.places.host("r1")
    host.mkdir(parents=True)
    (host / "heartbeat.json").write_text(json.dumps({"at": 5.0, "running": {"r1.1.1": 4711}}))
    assert (row(book, "store/model").pid, row(book, "store/model").heartbeat_at) == (4711, 5.0)
    for broken in ("{", "[]"):
        (host / "heartbeat.json").write_text(broken)
        assert row(book, "store/model").pid is None


def test_a_coordinator_that_has_died_is_not_alive(book: Written) -> None:
    book.come_back()
    assert seen(book).coordinator is not None
    assert seen(book).coordinator.alive  # type: ignore[union-attr]
    book.die()
    assert not seen(book).coordinator.alive  # type: ignore[union-attr]


# Steering


def test_a_subplan_is_named_by_its_path_or_by_a_last_part_that_is_no_other_s(book: Written) -> None:
    with book.opened() as opened:
        assert chosen(opened, ["store/model", "disk", "/docs/"]) == ("store/model", "store/disk", "docs")
        with pytest.raises(InputError, match=r"run r1 has no subplan 'dosc'; did you mean 'docs'\?"):
            chosen(opened, ["dosc"])


def test_a_last_part_that_several_have_is_an_error(tmp_path: Path) -> None:
    text = """
weft: 1
plan: tried
isolation: none
subplans:
  - {id: a, subplans: [{id: x, steps: [{id: s, run: ls}]}]}
  - {id: b, subplans: [{id: x, steps: [{id: s, run: ls}]}]}
"""
    ambiguous = pytest.raises(InputError, match="'x' may be a/x or b/x; say which")
    with written(tmp_path, text=record_plan(load_plan(text))) as book, book.opened() as opened, ambiguous:
        chosen(opened, ["x"])


def test_what_is_under_way_is_told_of_all_or_of_some(book: Written) -> None:
    book.tell(*BEGUN, state("docs", "running"), step("started", "docs", "write", firing=2))
    book.tell(step("started", "docs", "other", firing=3), step("finished", "docs", "other", "done", firing=3))
    with book.opened() as opened:
        assert under_way(opened) == ("store/model:work", "docs:write")
        assert under_way(opened, ["store"]) == ("store/model:work",)


def test_a_pause_that_nobody_takes_up_in_time_says_who_does_not(
    book: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.app.run_control.PATIENCE", 0.0)
    book.come_back()
    with book.opened() as opened, pytest.raises(DeafError, match="has not taken this up within 0 s"):
        steer(opened, Wanted.PAUSE)


def test_a_coordinator_that_dies_before_it_takes_it_up_is_noticed(book: Written) -> None:
    book.come_back()
    with book.opened() as opened:
        done = steer(opened, Wanted.PAUSE, sign=book.die)
    assert (done.changed, done.alive) == (True, False)


def test_a_word_to_go_on_waits_for_the_next_coordinator(book: Written) -> None:
    book.tell(Event(kind="paused", outcome="pause"))
    book.die()
    with book.opened() as opened:
        assert steer(opened, Wanted.GO).changed
        (left,) = opened.journal.requests("r1")
        assert left.data == {"wanted": "go"}
