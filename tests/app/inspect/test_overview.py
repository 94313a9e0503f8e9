"""How a run is, from its journal alone."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from app.books import Written, written
from stored_events import make_event
from weft.app.control.control import UnresponsiveError, chosen, steer, under_way
from weft.app.inspect.overview import STATES, overview
from weft.app.inspect.overview_model import Overview, SubplanNow
from weft.engine.messages.event_codec import data_of, kind_of, outcome_of
from weft.engine.messages.events import AnyEvent, ConflictAheadEvent
from weft.engine.messages.facts import ControlState, RunStarted
from weft.errors import InputError
from weft.plan.display.show import record_plan
from weft.plan.loader.load import load_plan

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
def recorded_run(tmp_path: Path) -> Iterator[Written]:
    with written(tmp_path, text=record_plan(load_plan(PLAN))) as made:
        yield made


def state(path: str, outcome: str, **data: object) -> AnyEvent:
    return make_event(kind="subplan_state", subplan=path, outcome=outcome, data=data)


def step(kind: str, path: str, name: str, outcome: str = "", firing: int = 1, **more: object) -> AnyEvent:
    data = {"firing": firing, "execution": 1}
    return make_event(
        kind=f"step_{kind}", subplan=path, step=name, attempt=1, outcome=outcome, data=data, **more
    )


def seen(recorded_run: Written, *, everything: bool = True) -> Overview:
    with recorded_run.opened() as opened:
        return overview(opened, everything=everything)


def row(recorded_run: Written, path: str) -> SubplanNow:
    return next(subplan for subplan in seen(recorded_run).subplans if subplan.path == path)


BEGUN = (state("store", "running"), state("store/model", "running"), step("started", "store/model", "work"))


def test_a_run_that_has_just_started(recorded_run: Written) -> None:
    recorded_run.tell(*BEGUN)
    now = seen(recorded_run)
    assert (now.run, now.plan, now.state, now.ceiling) == ("r1", "tried", "running", 20.0)
    assert now.counts == dict.fromkeys(STATES, 0) | {"pending": 2, "running": 1}
    assert [subplan.path for subplan in now.subplans] == ["store", "store/model", "store/disk", "docs"]
    model = row(recorded_run, "store/model")
    assert (model.state, model.step, model.attempt, model.landing) == ("running", "work", 1, "unmerged")
    assert (model.steps_done, model.steps_total, model.branch) == (0, 2, "weft/tried/store.model")
    assert row(recorded_run, "docs").blocked_by == ("store",)


def test_a_ceiling_in_tokens_is_reported_as_it_is_written(tmp_path: Path) -> None:
    plan = load_plan(PLAN.replace("budget: 20", "budget: {tokens: 5M}"))
    with written(tmp_path, text=record_plan(plan)) as recorded_run:
        assert (seen(recorded_run).ceiling, seen(recorded_run).token_ceiling) == (None, "5M")


def test_without_all_only_relevant_subplans_are_listed(recorded_run: Written) -> None:
    recorded_run.tell(*BEGUN)
    assert [subplan.path for subplan in seen(recorded_run, everything=False).subplans] == [
        "store",
        "store/model",
    ]


def test_a_step_that_has_ended_counts_and_is_not_under_way(recorded_run: Written) -> None:
    ends = step("finished", "store/model", "work", "done", cost=1_500_000, tokens=7)
    recorded_run.tell(*BEGUN, ends)
    model = row(recorded_run, "store/model")
    assert (model.step, model.steps_done, model.cost) == (None, 1, 1_500_000)
    assert (seen(recorded_run).cost, seen(recorded_run).tokens) == (1_500_000, 7)


def test_steps_that_changed_nothing_when_they_were_last_done_are_reported(recorded_run: Written) -> None:
    def ends(name: str, *, changed: bool) -> AnyEvent:
        done = step("finished", "store/model", name, "done")
        return make_event(
            kind=kind_of(done), subplan=done.subplan, step=done.step, outcome=outcome_of(done),
            data={**data_of(done), "changed": changed},
        )  # fmt: skip

    recorded_run.tell(*BEGUN, ends("work", changed=False), ends("check", changed=False))
    assert row(recorded_run, "store/model").idle == ("work", "check")
    recorded_run.tell(ends("work", changed=True))
    assert row(recorded_run, "store/model").idle == ("check",)
    assert row(recorded_run, "docs").idle is None


def test_a_slice_that_is_completed_has_done_all_its_steps_and_is_merged_into_its_group(
    recorded_run: Written,
) -> None:
    recorded_run.tell(*BEGUN, state("store/model", "completed"))
    model = row(recorded_run, "store/model")
    assert (model.steps_done, model.landing, model.step) == (2, "merged", None)


def test_what_failed_says_why(recorded_run: Written) -> None:
    recorded_run.tell(*BEGUN, state("store/model", "failed", reason="error", message="it broke"))
    model = row(recorded_run, "store/model")
    assert (model.state, model.reason, model.message) == ("failed", "error", "it broke")


def test_a_question_is_shown_until_it_is_answered(recorded_run: Written) -> None:
    recorded_run.tell(
        *BEGUN, make_event(kind="ask", subplan="store/model", step="sure", data={"question": "Sure?"})
    )
    assert row(recorded_run, "store/model").question == "Sure?"
    recorded_run.tell(make_event(kind="answered", subplan="store/model", step="sure", outcome="yes"))
    assert row(recorded_run, "store/model").question is None


def ask(recorded_run: Written, kind: str, subplan: str = "", **data: object) -> None:
    """A person says something, and no coordinator has taken it up."""
    recorded_run.journal.ask("r1", kind, subplan=subplan, step="", data=data, at=1.0)


def test_an_answer_that_no_coordinator_has_taken_up_is_no_question_any_more(recorded_run: Written) -> None:
    recorded_run.tell(
        *BEGUN, make_event(kind="ask", subplan="store/model", step="sure", data={"question": "Sure?"})
    )
    assert not seen(recorded_run).is_asked
    ask(recorded_run, "answer", "store/model", accepted=True)
    assert row(recorded_run, "store/model").question is None
    assert seen(recorded_run).is_asked


def test_what_is_to_continue_is_not_paused_any_more_before_a_coordinator_has_taken_that_up(
    recorded_run: Written,
) -> None:
    recorded_run.tell(*BEGUN, make_event(kind="paused", subplan="", outcome="pause"))
    ask(recorded_run, "control", wanted="go")
    assert (seen(recorded_run).wants, row(recorded_run, "store/model").wanted) == (False, ControlState.GO)
    ask(recorded_run, "control", "store/model", wanted="pause")
    assert row(recorded_run, "store/model").wanted is ControlState.PAUSE


def test_a_stop_that_no_coordinator_has_taken_up_is_not_for_the_next_one(recorded_run: Written) -> None:
    recorded_run.tell(*BEGUN)
    ask(recorded_run, "control", wanted="stop")
    ask(recorded_run, "merge", "docs")
    assert (seen(recorded_run).wants, seen(recorded_run).is_asked) == (False, False)


def test_usage_limits_that_a_person_has_ended_are_not_shown(recorded_run: Written) -> None:
    recorded_run.tell(
        *BEGUN, make_event(kind="limited", subplan="docs", data={"agents": ["coder"], "until": 4e9})
    )
    assert [limit.agents for limit in seen(recorded_run).limits] == [("coder",)]
    ask(recorded_run, "limits")
    assert seen(recorded_run).limits == ()


@pytest.mark.parametrize(("outcome", "files"), [("conflict", ("a.py",)), ("held", ())])
def test_what_is_held_is_listed_until_it_has_landed(
    recorded_run: Written, outcome: str, files: tuple[str, ...]
) -> None:
    event = make_event(
        kind="merge", subplan="docs", step="@land", outcome=outcome, data={"files": ["a.py"], "message": "no"}
    )
    recorded_run.tell(state("docs", "running"), state("docs", "completed"), event)
    (docs,) = seen(recorded_run, everything=False).subplans
    assert (docs.landing, docs.conflict, docs.message) == (outcome, files, "no")
    recorded_run.tell(make_event(kind="merge", subplan="docs", step="@land", outcome="merged"))
    assert row(recorded_run, "docs").landing == "merged"


def test_what_was_left_out_of_its_group_is_listed_with_the_reason(recorded_run: Written) -> None:
    recorded_run.tell(*BEGUN, state("store/model", "completed"), state("store", "completed"))
    recorded_run.tell(
        make_event(kind="left_out", subplan="store/model", data={"message": "it breaks verify"})
    )
    (model,) = seen(recorded_run, everything=False).subplans
    assert (model.path, model.landing, model.message) == ("store/model", "unmerged", "it breaks verify")


def test_what_people_want_is_shown(recorded_run: Written) -> None:
    assert seen(recorded_run).wants is False
    recorded_run.tell(
        make_event(kind="paused", subplan="store", outcome="pause"),
        make_event(kind="paused", subplan="docs", outcome="stop"),
    )
    assert (
        row(recorded_run, "store/disk").wanted,
        row(recorded_run, "docs").wanted,
        seen(recorded_run).wants,
    ) == (
        "pause",
        "stop",
        True,
    )
    recorded_run.tell(make_event(kind="recovered"), make_event(kind="resumed", subplan="", outcome="go"))
    assert seen(recorded_run).wants is False


def test_unknown_costs_are_counted(recorded_run: Written) -> None:
    recorded_run.tell(make_event(kind="run_finished", outcome="completed", data={"unknown_costs": 2}))
    assert seen(recorded_run).unknown == 2


def test_unknown_costs_are_counted_while_it_runs(recorded_run: Written) -> None:
    unknown = make_event(kind="cost_unknown", subplan="store/model", step="work", data={"reserved": 50_000})
    recorded_run.tell(*BEGUN, *[unknown] * 2)
    assert (seen(recorded_run).unknown, seen(recorded_run).unreported) == (2, 100_000)


def test_a_reset_releases_what_stays_reserved(recorded_run: Written) -> None:
    unknown = make_event(kind="cost_unknown", subplan="store/model", step="work", data={"reserved": 50_000})
    recorded_run.tell(*BEGUN, unknown, make_event(kind="budget", outcome="reset"), unknown)
    assert seen(recorded_run).unreported == 50_000


def test_what_a_running_step_has_spent_counts_once_and_less_is_reserved_for_it(recorded_run: Written) -> None:
    started = make_event(
        kind="step_started", subplan="store/model", step="work", attempt=1,
        data={"firing": 1, "execution": 1, "reserved": 900_000},
    )  # fmt: skip
    heard = make_event(
        kind="spent", subplan="store/model", step="work", attempt=1, cost=300_000, tokens=7,
        data={"firing": 1, "execution": 1},
    )  # fmt: skip
    recorded_run.tell(*BEGUN[:2], started)
    assert (seen(recorded_run).cost, seen(recorded_run).reserved) == (0, 900_000)
    recorded_run.tell(heard)
    assert (seen(recorded_run).cost, seen(recorded_run).tokens, seen(recorded_run).reserved) == (
        300_000,
        7,
        600_000,
    )
    recorded_run.tell(step("finished", "store/model", "work", "done", cost=400_000, tokens=9))
    assert (seen(recorded_run).cost, seen(recorded_run).tokens, seen(recorded_run).reserved) == (
        400_000,
        9,
        0,
    )
    assert row(recorded_run, "store/model").cost == 400_000


def test_the_process_of_a_step_is_the_one_that_its_supervisor_names(recorded_run: Written) -> None:
    recorded_run.tell(*BEGUN)
    with recorded_run.opened() as opened:
        host = opened.places.host("r1")
    host.mkdir(parents=True)
    (host / "heartbeat.json").write_text(json.dumps({"at": 5.0, "running": {"r1.1.1": 4711}}))
    assert (row(recorded_run, "store/model").pid, row(recorded_run, "store/model").heartbeat_at) == (
        4711,
        5.0,
    )
    for broken in ("{", "[]"):
        (host / "heartbeat.json").write_text(broken)
        assert row(recorded_run, "store/model").pid is None


def test_a_running_step_is_listed_with_what_it_does(recorded_run: Written) -> None:
    agent = {"firing": 2, "execution": 1, "agent": "coder"}
    recorded_run.tell(
        *BEGUN,
        state("docs", "running"),
        make_event(kind="step_started", subplan="docs", step="write", attempt=1, data=agent),
    )
    with recorded_run.opened() as opened:
        host, logs = opened.places.host("r1"), opened.places.logs("r1")
    host.mkdir(parents=True)
    running = {"r1.1.1": 4711, "r1.2.1": 4712}
    (host / "heartbeat.json").write_text(json.dumps({"at": 5.0, "running": running}))
    stored = {"store.model/work.1.1-1.out": "2 passed\n", "docs/write.1.2-1.out": '{"weft": "text"}\n'}
    for name, text in stored.items():
        file = logs / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        os.utime(file, (7_000, 7_000))
    command, docs = row(recorded_run, "store/model"), row(recorded_run, "docs")
    assert (command.activity, command.heard_at) == ("2 passed", None)
    assert (docs.activity, docs.heard_at) == ('{"weft": "text"}', 7_000.0)
    (host / "heartbeat.json").unlink()
    assert row(recorded_run, "docs").activity is None, "it is not known to run"


def test_a_coordinator_that_has_died_is_not_alive(recorded_run: Written) -> None:
    recorded_run.come_back()
    assert seen(recorded_run).coordinator is not None
    assert seen(recorded_run).coordinator.alive  # type: ignore[union-attr]
    recorded_run.die()
    assert not seen(recorded_run).coordinator.alive  # type: ignore[union-attr]


# Steering


def test_a_subplan_is_named_by_its_path_or_by_a_last_part_that_is_no_other_s(recorded_run: Written) -> None:
    with recorded_run.opened() as opened:
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
    with (
        written(tmp_path, text=record_plan(load_plan(text))) as recorded_run,
        recorded_run.opened() as opened,
        ambiguous,
    ):
        chosen(opened, ["x"])


def test_what_is_under_way_is_reported_for_all_or_some(recorded_run: Written) -> None:
    recorded_run.tell(*BEGUN, state("docs", "running"), step("started", "docs", "write", firing=2))
    recorded_run.tell(
        step("started", "docs", "other", firing=3), step("finished", "docs", "other", "done", firing=3)
    )
    with recorded_run.opened() as opened:
        assert under_way(opened) == ("store/model:work", "docs:write")
        assert under_way(opened, ["store"]) == ("store/model:work",)


def test_a_pause_without_reaction_names_the_coordinator(
    recorded_run: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.app.control.control.PATIENCE", 0.0)
    recorded_run.come_back()
    with (
        recorded_run.opened() as opened,
        pytest.raises(UnresponsiveError, match="has not handled this within 0 s"),
    ):
        steer(opened, ControlState.PAUSE)


def test_a_coordinator_that_dies_before_it_takes_it_up_is_noticed(recorded_run: Written) -> None:
    recorded_run.come_back()
    with recorded_run.opened() as opened:
        done = steer(opened, ControlState.PAUSE, sign=recorded_run.die)
    assert (done.changed, done.alive) == (True, False)


def test_a_resume_request_waits_for_the_next_coordinator(recorded_run: Written) -> None:
    recorded_run.tell(make_event(kind="paused", outcome="pause"))
    recorded_run.die()
    with recorded_run.opened() as opened:
        assert steer(opened, ControlState.GO).changed
        (left,) = opened.journal.requests("r1")
        assert left.data == {"wanted": "go"}


# What needs attention beside the subplans


def rare(kind: str, path: str = "", **data: object) -> AnyEvent:
    return make_event(kind=kind, subplan=path, data=data)


def test_agents_that_report_tokens_and_no_cost_are_counted(recorded_run: Written) -> None:
    recorded_run.tell(*BEGUN, step("finished", "store/model", "work", "done", tokens=1_200))
    assert (seen(recorded_run).tokens, row(recorded_run, "store/model").tokens) == (1_200, 1_200)


def test_what_failed_because_of_another_subplan_does_not_count_as_failed(recorded_run: Written) -> None:
    recorded_run.tell(
        *BEGUN,
        state("store/model", "failed", reason="error", message="it broke"),
        state("store/disk", "failed", reason="blocked", cause="store/model"),
        state("docs", "failed", reason="cancelled", cause="store"),
    )
    counts = seen(recorded_run, everything=False).counts
    assert counts == {"pending": 0, "running": 0, "completed": 0, "failed": 1, "blocked": 1, "cancelled": 1}


def limits_at(recorded_run: Written, now: float) -> list[tuple[tuple[str, ...], float]]:
    with recorded_run.opened() as opened:
        return [(limit.agents, limit.until) for limit in overview(opened, now=now).limits]


def test_usage_limits_are_listed_until_they_end(recorded_run: Written) -> None:
    recorded_run.tell(
        *BEGUN, rare("limited", "store/model", agents=["claude", "judge"], until=500.0, firing=1)
    )
    recorded_run.tell(rare("limited", "store/model", agents=["codex"], until=300.0, firing=2))
    assert limits_at(recorded_run, 100.0) == [(("codex",), 300.0), (("claude", "judge"), 500.0)]
    assert limits_at(recorded_run, 400.0) == [(("claude", "judge"), 500.0)]
    recorded_run.tell(state=("stopped"))
    assert limits_at(recorded_run, 100.0) == []


@pytest.mark.parametrize("path", ["store", ""])
def test_the_verify_of_a_group_or_of_the_plan_that_failed_is_listed(recorded_run: Written, path: str) -> None:
    begins = replace(step("started", path, "@verify"), command="make check")
    ends = step("finished", path, "@verify", "failed")
    ends = replace(ends, message="exit code 2", tail="one test failed")
    recorded_run.tell(*BEGUN, begins, ends)
    (verify,) = seen(recorded_run).verifies
    assert (verify.subplan, verify.command, verify.message) == (path, "make check", "exit code 2")
    assert verify.tail == "one test failed"
    recorded_run.tell(step("started", path, "@verify"), step("finished", path, "@verify", "done"))
    assert seen(recorded_run).verifies == ()


def ahead(path: str, other: str, *files: str) -> AnyEvent:
    return ConflictAheadEvent(subplan=path, other=other, files=files, outcome="ahead" if files else "over")


def test_conflicts_ahead_are_listed_until_they_have_come_or_cannot_come(recorded_run: Written) -> None:
    recorded_run.tell(*BEGUN, state("docs", "running"), ahead("docs", "store/model", "a.py"))
    (pair,) = seen(recorded_run).ahead
    assert (pair.subplan, pair.other, pair.files) == ("docs", "store/model", ("a.py",))
    recorded_run.tell(ahead("store/model", "docs"))
    assert seen(recorded_run).ahead == ()
    recorded_run.tell(ahead("docs", "store/model", "a.py"))
    recorded_run.tell(
        make_event(kind="merge", subplan="docs", step="@merge", outcome="conflict", data={"files": ["a.py"]})
    )
    assert seen(recorded_run).ahead == ()


def test_changes_outside_of_worktrees_are_listed(recorded_run: Written) -> None:
    data: dict[str, Any] = {
        "place": "",
        "directory": "/p",
        "files": ["a"],
        "more": 2,
        "during": ["docs:write"],
    }
    recorded_run.tell(*BEGUN, rare("outside_changed", "docs", **data))
    (warning,) = seen(recorded_run).outside
    assert (warning.place, warning.directory, warning.files) == ("", "/p", ("a",))
    assert (warning.more, warning.during) == (2, ("docs:write",))


def test_a_conflict_with_what_has_failed_is_not_ahead(recorded_run: Written) -> None:
    recorded_run.tell(*BEGUN, state("docs", "running"), ahead("docs", "store/model", "a.py"))
    recorded_run.tell(state("store/model", "failed", reason="error"))
    assert seen(recorded_run).ahead == ()


def test_a_step_that_was_rejected_is_shown_until_it_is_done(recorded_run: Written) -> None:
    ends = step("finished", "store/model", "check", "rejected")
    ends = replace(ends, message="on_result: always (fail)")
    recorded_run.tell(*BEGUN, ends)
    shown = row(recorded_run, "store/model")
    assert shown.rejected is not None
    assert (shown.rejected.step, shown.rejected.attempt, shown.rejected.reason) == (
        "check",
        1,
        "on_result: always (fail)",
    )
    assert shown.steps_done == 0, "what was turned down is not done"
    recorded_run.tell(step("finished", "store/model", "check", "done"))
    assert row(recorded_run, "store/model").rejected is None


def test_commands_name_the_plan_and_the_part_of_it_that_the_run_is_for(tmp_path: Path) -> None:
    chosen = RunStarted(at=0.0, run="r1", chosen=("docs",))
    start = make_event(kind="run_started", fact=chosen)
    with written(tmp_path, [start], file="other.yaml", text=record_plan(load_plan(PLAN))) as recorded_run:
        now = seen(recorded_run)
        assert now.plan_words == (str(tmp_path / "other.yaml"), "docs")
        assert now.is_last
