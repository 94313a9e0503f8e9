"""What is printed of a run where there is no terminal."""

import time
from datetime import UTC

import pytest

from app.run_stories import Story, group, slices
from stored_events import make_event
from weft.cli.text.run_lines import lines_of
from weft.cli.text.run_summary import summary_lines
from weft.engine.messages.events import AnyEvent
from weft.engine.messages.facts import RunStarted


def notes() -> Story:
    store = group("store", *slices("model"), *slices("disk", depends_on=["model"]))
    story = Story(store, *slices("cli", depends_on=["store"]))
    story.at = 43_384.0  # 12:03:04
    return story


def heard(story: Story, *happenings) -> list[str]:
    """The lines that a quiet observer prints."""
    lines: list[str] = []
    for happens in happenings:
        happens()
        lines += filter(None, [line(story, story.told[-1], quiet=True)])
    return lines


def line(story: Story, event: AnyEvent, *, quiet: bool = False) -> str:
    """What the event says, without the time; empty if nothing."""
    lines = lines_of(event, story.at, story.view, quiet=quiet, zone=UTC)
    return "".join(lines).removeprefix("12:03:04 ")


def test_a_line_has_the_time_the_subplan_and_the_event() -> None:
    story = notes()
    event = story.step("store/model", "code", attempt=2)
    assert lines_of(event, story.at, story.view, zone=UTC) == [
        "12:03:04 store/model  code (attempt 2) started"
    ]


def test_times_are_those_of_the_machine(monkeypatch) -> None:
    monkeypatch.setenv("TZ", "UTC-2")
    time.tzset()
    story = notes()
    [lines] = lines_of(story.start(), story.at, story.view)
    monkeypatch.undo()
    time.tzset()
    assert lines.startswith("14:03:04 ")


def test_the_run_begins_and_ends() -> None:
    story = notes()
    begin, end = story.start(), None
    assert line(story, begin) == "notes  run r1 started"
    story.wait(0.5)
    end = story.finish("failed")
    assert line(story, end) == "notes  failed after 0.5 s"


def test_a_run_without_a_name_just_starts() -> None:
    story = notes()
    assert line(story, story.tell("run_started")) == "notes  started"


def test_stopping_says_how_and_that_nothing_is_lost() -> None:
    story = notes()
    assert [line(story, story.tell("stopping", now=now)) for now in (False, True)] == [
        "notes  stopping: running steps are ended gracefully; the run can be resumed",
        "notes  stopping: running steps are ended at once; the run can be resumed",
    ]


def test_going_on_says_what_had_run_meanwhile() -> None:
    story = notes()
    assert [
        line(story, story.tell("recovered", epoch=2, running=running)) for running in ([], [1], [1, 2])
    ] == [
        "notes  resumes after an interruption",
        "notes  resumes after an interruption; 1 step was under way",
        "notes  resumes after an interruption; 2 steps were under way",
    ]


def test_budgets_are_reported() -> None:
    story = notes()
    alert = story.tell("budget", outcome="alert", ceiling=20_000_000, percent=75)
    reached = story.tell("budget", "store", outcome="reached", ceiling=5_000_000, percent=100)
    assert [line(story, event) for event in (alert, reached)] == [
        "notes  75 % of the budget of $20.00 is spent",
        "store  the budget of $5.00 is reached: nothing new starts",
    ]


def test_budgets_of_tokens_are_reported_as_such() -> None:
    story = notes()
    alert = story.tell("budget", outcome="alert", unit="tokens", ceiling=5_000_000, percent=90)
    assert line(story, alert) == "notes  90 % of the budget of 5,000,000 tokens is spent"


def test_a_usage_limit_is_reported_with_the_time_of_its_end() -> None:
    story = notes()
    item = story.tell("limited", "cli", "code", firing=1, agents=["coder"], until=story.at + 3600)
    two = story.tell("limited", "cli", "code", firing=1, agents=["coder", "tester"], until=story.at + 60)
    assert line(story, item) == "cli  coder is limited until 13:03"
    assert line(story, two) == "cli  coder and tester are limited until 12:04"


def test_subplans_start_and_complete() -> None:
    story = notes()
    story.begin("store", "store/model")
    assert line(story, story.told[-1]) == "store/model  started"
    story.complete("store/model")
    assert line(story, story.told[-1]) == "store/model  completed"


def test_what_an_earlier_run_completed_says_so() -> None:
    story = notes()
    story.begin("cli")
    story.complete("cli", carried=True)
    assert line(story, story.told[-1]) == "cli  completed, by an earlier run"


def test_a_step_that_failed_says_how_and_with_which_command() -> None:
    story = notes()
    story.begin("cli")
    story.step("cli", "check", attempt=2, command="pytest -q")
    step = story.end("cli", "check", "failed", attempt=2, exit_code=1)
    assert line(story, step) == "cli  check (attempt 2) failed: exit code 1 (pytest -q)"
    assert line(story, story.fail("cli", "exhausted"), quiet=True) == (
        "cli  failed in step check (attempt 2): exit code 1 (pytest -q)"
    )


def test_a_slice_that_failed_in_no_step_says_why() -> None:
    story = notes()
    assert line(story, story.fail("cli", "blocked", message="blocked by store")) == ("cli  blocked by store")


def test_a_step_that_is_done_says_how_long_it_took_and_what_it_cost() -> None:
    story = notes()
    story.step("cli", "code", agent="coder")
    assert line(story, story.end("cli", "code", seconds=72.0, cost=1_250_000)) == (
        "cli  code done in 1 min 12 s, $1.25"
    )
    story.step("cli", "code", agent="coder")
    assert line(story, story.end("cli", "code")) == "cli  code done"


def test_a_step_may_end_in_other_ways() -> None:
    story = notes()
    story.step("cli", "check", command="make")
    story.end("cli", "check", "failed", exit_code=1)
    story.step("cli", "code")
    assert line(story, story.end("cli", "code", "cancelled")) == "cli  code cancelled"
    story.step("cli", "code")
    assert line(story, story.end("cli", "code", "limited", message="until 14:00")) == (
        "cli  code limited: until 14:00"
    )


def test_a_workspace_is_reported_only_if_it_cannot_be_made() -> None:
    story = notes()
    assert not line(story, story.step("cli", "@workspace"))
    assert not line(story, story.end("cli", "@workspace"))
    story.step("cli", "@workspace")
    assert line(story, story.end("cli", "@workspace", "infra", message="no space left")) == (
        "cli  workspace failed: no space left"
    )


# Merges


CONFLICT = {
    "message": "cli cannot be merged into weft/notes/_plan: 4 files in conflict. Nothing has moved.\nand more",
    "files": ["a.txt", "b.txt", "c.txt", "d.txt"],
    "conflict": True,
}
IN_THE_WAY = {
    "message": "files have changes: f.txt. Commit them, then type: weft merge cli",
    "files": ["f.txt"],
}


def held(story: Story, path: str, step: str, **why) -> AnyEvent:
    story.step(path, step)
    return story.end(path, step, "held", **why)


def test_the_first_line_says_where_results_land() -> None:
    story = notes()
    event = make_event(
        kind="run_started", data={"run": "r1"}, fact=RunStarted(at=0.0, run="r1", target="main")
    )
    story.view.apply(event, 0.0)
    assert line(story, event) == "notes  run r1 started; lands on main"
    assert line(story, held(story, "cli", "@land", message="it is ready", asks=True)) == (
        "cli  waits to land on main"
    )


def test_a_merge_says_where_it_brought_something_and_else_nothing() -> None:
    story = notes()
    for step in ("@merge", "@land"):
        assert not line(story, story.step("cli", step))
        assert not line(story, story.end("cli", step))
    moves = [
        {"ref": "refs/heads/weft/notes/store", "before": "", "after": "bd7e5b6000"},
        {"ref": "refs/heads/main", "before": "", "after": "cd7e5b6000"},
    ]
    values = [
        story.tell("merge", "store/model", "@merge", outcome="merged", moves=moves[:1]),
        story.tell("merge", "store", "@land", outcome="merged", moves=moves),
        story.tell("merge", "cli", "@merge", outcome="conflict", **CONFLICT),
        story.tell("merge_asked", subplan="cli"),
    ]
    assert [line(story, event) for event in values] == [
        "store/model  merged into weft/notes/store",
        "store  landed on main (cd7e5b6)",
        "",
        "",
    ]


def test_a_conflict_that_an_agent_resolves_is_reported_in_one_line() -> None:
    story = notes()
    story.step("cli", "@merge")
    why = {"message": "many\nlines", "conflict": True, "files": ["f.txt", "g.txt"]}
    end = story.end("cli", "@merge", "conflict", **why)
    assert line(story, end) == "cli  merge met a conflict in f.txt, g.txt; an agent resolves it"
    assert line(story, story.step("cli", "@resolve")) == "cli  resolve started"


def test_what_is_held_is_reported_in_one_line() -> None:
    story = notes()
    assert line(story, held(story, "cli", "@merge", **CONFLICT)) == (
        "cli  merge is held: cannot be merged into weft/notes/_plan: 4 files in conflict: "
        "a.txt, b.txt, c.txt and 1 more"
    )
    assert line(story, held(story, "cli", "@land", **IN_THE_WAY)) == (
        "cli  land is held: files have changes: f.txt. Commit them, then type: weft merge cli"
    )


def test_what_only_waits_to_land_is_reported_in_a_few_words() -> None:
    story = notes()
    values = [
        held(story, "store", "@land", message="store is ready; type: weft merge store", asks=True),
        held(story, "cli", "@land", message="built on store", waits_for=["store"]),
    ]
    assert [line(story, event) for event in values] == ["store  waits to land", "cli  lands after store"]


def test_a_conflict_that_is_coming_is_reported_and_so_is_that_it_is_over() -> None:
    story = notes()
    story.begin("store/disk", "cli")
    coming = story.tell("conflict_ahead", "cli", outcome="ahead", other="store/disk", files=["f.txt"])
    over = story.tell("conflict_ahead", "cli", outcome="over", other="store/disk", files=[])
    assert [line(story, event) for event in (coming, over)] == [
        "cli  is going to conflict with store/disk: f.txt",
        "cli  no longer conflicts with store/disk",
    ]
    story.complete("store/disk")
    assert not line(story, over), "now it is for the merge of the other to say"


def test_of_what_is_in_conflict_already_no_further_conflict_is_reported() -> None:
    story = notes()
    story.begin("store/disk", "cli")
    held(story, "cli", "@merge", **CONFLICT)
    pairs = (("cli", "store/disk"), ("store/disk", "cli"))
    values = [
        story.tell("conflict_ahead", item, outcome="ahead", other=other, files=["f.txt"])
        for item, other in pairs
    ]
    assert [line(story, event) for event in values] == ["", ""]


def test_quiet_output_keeps_what_needs_a_person() -> None:
    story = notes()
    assert heard(
        story,
        lambda: held(story, "store", "@land", message="it is ready", asks=True),
        lambda: held(story, "cli", "@land", **IN_THE_WAY),
    ) == ["cli  land is held: files have changes: f.txt. Commit them, then type: weft merge cli"]


@pytest.mark.parametrize(
    ("outcome", "data", "why"),
    [
        ("condition", {}, "its condition does not hold"),
        ("dependency", {"message": "tests failed"}, "tests failed"),
        ("other", {}, "other"),
    ],
)
def test_a_step_that_is_skipped_says_why(outcome, data, why) -> None:
    story = notes()
    assert line(story, story.tell("step_skipped", "cli", "code", outcome=outcome, **data)) == (
        f"cli  code skipped: {why}"
    )


def test_a_step_that_is_being_ended_names_the_cause() -> None:
    story = notes()
    causes = ("store", "")
    events = [
        story.tell("step_cancelled", "cli", "code", firing=1, execution=1, cause=cause) for cause in causes
    ]
    assert [line(story, event) for event in events] == [
        "cli  code is being ended because of store",
        "cli  code is being ended",
    ]


def test_a_question_comes_with_what_to_type() -> None:
    story = notes()
    event = story.tell("ask", "cli", "gate", question="Go on?", firing=1)
    assert line(story, event) == "cli  gate asks: Go on?  Answer with: weft answer cli:gate yes (or no)"


def test_an_answer_is_reported_with_its_text() -> None:
    story = notes()
    answers = [("yes", ""), ("no", "too risky")]
    events = [story.tell("answered", "cli", "gate", outcome=outcome, text=text) for outcome, text in answers]
    assert [line(story, event) for event in events] == [
        "cli  gate was answered: yes",
        "cli  gate was answered: no (too risky)",
    ]


def test_what_says_nothing_to_a_person_is_not_reported() -> None:
    story = notes()
    assert not line(story, story.tell("woke"))


def test_quiet_means_failures_and_questions_only() -> None:
    story = notes()
    assert heard(
        story,
        story.start,
        lambda: story.begin("store/model"),
        lambda: story.step("store/model", "check", command="make"),
        lambda: story.end("store/model", "check", "failed", exit_code=1),
        lambda: story.tell("budget", outcome="alert", ceiling=1_000_000, percent=90),
        lambda: story.tell("ask", "cli", "gate", question="Go on?", firing=1),
        lambda: story.fail("store/model"),
        lambda: story.fail("store/disk", "blocked", cause="store/model"),
        lambda: story.fail("store", cause="store/model", message="store/model failed"),
        lambda: story.tell("budget", outcome="reached", ceiling=1_000_000, percent=100),
        lambda: story.finish("failed"),
    ) == [
        "cli  gate asks: Go on?  Answer with: weft answer cli:gate yes (or no)",
        "store/model  failed in step check: exit code 1 (make)",
        "notes  the budget of $1.00 is reached: nothing new starts",
    ]


def test_an_agent_that_changed_nothing_is_reported_when_it_is_done() -> None:
    story = notes()
    story.step("store/model", "code", agent="coder")
    values = [line(story, story.end("store/model", "code", changed=changed)) for changed in (False, True)]
    assert values == ["store/model  code done; it changed nothing", "store/model  code done"]


def test_a_step_that_was_rejected_says_by_which_rule() -> None:
    story = notes()
    story.begin("cli")
    story.step("cli", "code", agent="coder")
    event = story.end(
        "cli", "code", "rejected", cost=20_000, message="on_result: step.code.ok == false (fail)"
    )
    assert line(story, event) == "cli  code rejected, $0.02: on_result: step.code.ok == false (fail)"


def test_a_question_about_a_result_is_followed_by_the_result() -> None:
    story = notes()
    asked = "Release it?\n(x: on_result: always)\nIts result:\n3 tests"
    event = story.tell("ask", "cli", "gate", question=asked, firing=1)
    assert lines_of(event, story.at, story.view, zone=UTC) == [
        "12:03:04 cli  gate asks: Release it?  Answer with: weft answer cli:gate yes (or no)",
        "  | (x: on_result: always)",
        "  | Its result:",
        "  | 3 tests",
    ]


# Once


def test_why_a_slice_failed_is_said_once() -> None:
    story = notes()
    story.begin("cli")
    story.step("cli", "check", command="pytest -q")
    step = story.end("cli", "check", "failed", exit_code=1, attempt=1)
    assert line(story, step) == "cli  check failed: exit code 1 (pytest -q)"
    failure = {"step": "check", "attempt": 1, "command": "pytest -q", "exit_code": 1, "reason": "error"}
    failure |= {"message": ""}
    state = story.fail("cli", message="check: exit code 1 (pytest -q)", failure=failure)
    assert line(story, state) == "cli  failed"
    assert line(story, state, quiet=True) == "cli  failed in step check: exit code 1 (pytest -q)"


def test_a_blocked_subplan_names_the_cause_and_not_a_failure() -> None:
    story = notes()
    assert line(story, story.fail("cli", "blocked", cause="store")) == "cli  blocked by store"


def test_a_result_file_that_cannot_be_read_is_noted() -> None:
    story = notes()
    story.begin("cli")
    story.step("cli", "code", agent="coder")
    message = "its result file: there is something that is not JSON"
    event = story.end("cli", "code", cost=20_000, message=message)
    assert line(story, event) == f"cli  code done, $0.02; note: {message}"
    story.complete("cli")
    summary = [text.strip() for text in summary_lines(story.view, story.at)]
    assert f"Noted      cli: step code: {message}" in summary


def test_changes_outside_of_worktrees_are_reported_without_blame_also_to_a_quiet_reader() -> None:
    story = notes()
    steps = ["cli:code", "store/disk:code", "store/model:code", "x:code"]
    event = story.tell(
        "outside_changed", "cli", "code", place="", directory="/p", files=["a", "b"], during=steps
    )
    text = "changed in your checkout while cli:code, store/disk:code, store/model:code and 1 more ran: a, b"
    assert line(story, event, quiet=True) == f"cli  warning: {text}"
    event = story.tell("outside_changed", "cli", "code", place="store/disk", files=["a"], more=20, during=[])
    assert line(story, event) == (
        "cli  warning: changed in the worktree of store/disk while agents ran: a and 20 more"
    )


@pytest.mark.parametrize(
    ("outcome", "data", "text"),
    [
        ("started", {"entries": ["a", "b"]}, "verify started for a, b"),
        ("passed", {"entries": ["a", "b"], "seconds": 3.2}, "verify passed for a, b in 3.2 s"),
        (
            "failed",
            {"entries": ["a"], "seconds": 1.0, "message": "exit code 2 (make)"},
            "verify failed for a in 1.0 s: exit code 2 (make)",
        ),
        ("passed", {"entries": [], "commit": "abc12345"}, "verify passed on main at abc1234 in 0.0 s"),
    ],
)
def test_a_verify_before_a_landing_is_a_line(outcome: str, data: dict[str, object], text: str) -> None:
    story = notes()
    story.view.landings_by_path.target = "main"
    event = story.tell("verify", "", "@land", outcome=outcome, **data)
    assert line(story, event) == f"{story.view.plan.id}  {text}"


def test_a_push_is_a_line_and_a_quiet_reader_hears_only_that_it_failed() -> None:
    story = notes()
    pushed = make_event(kind="push", outcome="pushed", data={"remote": "origin", "commit": "0123456789"})
    failed = make_event(kind="push", outcome="failed", data={"remote": "origin", "message": "no\nreally"})
    assert line(story, pushed) == "notes  landed, pushed to origin (0123456)"
    assert line(story, failed) == "notes  landed, not pushed: no  | really"
    assert (line(story, pushed, quiet=True), line(story, failed, quiet=True)) == ("", line(story, failed))
