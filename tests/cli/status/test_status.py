"""`weft status` for people: what it lists, what it leaves out, what it says to type."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from weft.app.inspect.checked_out_branches import worktrees_of
from weft.app.inspect.overview_model import CoordinatorProcess, Overview, SubplanNow
from weft.app.views.landing_places import VERIFY_FAILED
from weft.app.views.push import PushState
from weft.app.views.rows import Rejection
from weft.app.views.signals import ConflictAhead, FailedVerify, OutsideWarning, UsageLimit
from weft.app.views.wording.signs import SIGNS
from weft.app.views.wording.style import Style
from weft.cells import cells
from weft.cli.status.json_data import data
from weft.cli.status.lines import MOST_ROWS, lines
from weft.cli.status.next_commands import next_commands
from weft.cli.terminal import wrap_lines
from weft.engine.messages.facts import EarlierSpending

PLAIN = Style(colours=False)


def view(*rows: SubplanNow, **more: Any) -> Overview:
    table: dict[str, Any] = {
        "run": "r1",
        "plan": "tried",
        "state": "running",
        "created_at": 0.0,
        "coordinator": CoordinatorProcess(7, True, 1.0),
        "counts": {"pending": 3, "running": 1, "completed": 0, "failed": 0},
        "cost": 0,
        "tokens": 0,
        "unknown": 0,
        "wants": False,
        "ceiling": None,
        "subplans": rows,
    }
    return Overview(**(table | more))


def row(path: str = "a", state: str = "running", **more: Any) -> SubplanNow:
    table: dict[str, Any] = {"path": path, "is_leaf": True, "state": state}
    return SubplanNow(**(table | more))


def shown(one: Overview, *, everything: bool = False) -> list[str]:
    return list(lines(one, 100.0, PLAIN, everything=everything))


def test_the_head_names_the_process_and_the_progress() -> None:
    assert shown(view()) == ["tried  running  run r1  (process 7)", "1 running, 3 waiting"]


def test_a_run_without_coordinator_says_so_and_what_to_type() -> None:
    dead = view(coordinator=CoordinatorProcess(7, False, 1.0))
    assert shown(dead)[0] == "tried  running  run r1  (not running)"
    assert shown(dead)[-1] == "weft start              resumes it"
    assert len(shown(view(coordinator=None, state="waiting"))) == 2, (
        "it waits for people, not for a coordinator"
    )
    over = view(coordinator=None, state="completed")
    assert shown(over)[0] == "tried  completed  run r1"


def test_costs_are_reported_with_what_is_unknown() -> None:
    run_view = view(cost=1_250_000, unknown=2, tokens=12_345, counts={})
    assert shown(run_view)[1] == "no slices  $1.25, 2 unknown  12,345 tokens"
    bounded = view(cost=1_250_000, reserved=400_000, ceiling=20.0, tokens=7, token_ceiling="5M", counts={})
    assert shown(bounded)[1] == "no slices  $1.25 of $20.00, $0.40 reserved  7 of 5M tokens"


def test_what_earlier_runs_spent_counts_and_is_named() -> None:
    earlier = EarlierSpending(cost=1_900_000, tokens=10, unknown=1)
    run_view = view(cost=450_000, ceiling=2.0, tokens=7, token_ceiling="5M", earlier=earlier, counts={})
    assert shown(run_view)[1] == (
        "no slices  $2.35 of $2.00 ($1.90 by earlier runs), 1 unknown  17 of 5M tokens (10 by earlier runs)"
    )
    reset = view(cost=450_000, ceiling=2.0, uncounted=(400_000, 0), counts={})
    assert shown(reset)[1] == "no slices  $0.05 of $2.00"


def test_where_the_budget_is_used_up_it_says_what_to_type() -> None:
    over = view(row("a", "failed", reason="budget"), coordinator=None, state="failed")
    assert shown(over)[-1] == "weft run --fresh-budget  resumes, and counts budgets from zero"


def test_a_slice_is_a_line_with_its_step_time_and_cost() -> None:
    row_view = row(step="code", attempt=2, steps_done=1, steps_total=4, since=35.0, cost=310_000)
    assert shown(view(row_view))[2:] == ["", "▶ a  running  code (2)  1/4  1:05  $0.31"]
    assert shown(view(row(step="code", since=-3_700.0)))[3] == "▶ a  running  code  1:03:20"


def test_a_running_step_is_shown_with_what_it_does_and_with_the_silence_of_its_agent() -> None:
    reads = row("a", step="code", activity="reads src/store.py", heard_at=70.0)
    silent = row("bb", step="code", activity="runs pytest -q", heard_at=-150.0)
    mute = row("c", step="code", activity="", heard_at=0.0)
    command = row("d", step="test", activity="3 passed", heard_at=None)
    assert shown(view(reads, silent, mute, command))[3:] == [
        "▶ a   running  code  reads src/store.py",
        "▶ bb  running  code  silent 4:10 · runs pytest -q",
        "▶ c   running  code  silent 1:40",
        "▶ d   running  test  3 passed",
    ]


def test_on_a_terminal_what_a_step_does_fills_the_line() -> None:
    long = row("a", step="code", activity=f"runs {'x' * 200}", heard_at=100.0)
    (line,) = [line for line in lines(view(long), 100.0, PLAIN, width=80) if line.startswith("▶")]
    assert line.endswith("x…")
    assert cells(line) <= 80
    crowded = row("a" * 90, step="code", activity="runs pytest -q tests/store/test_disk.py", heard_at=100.0)
    (line,) = [line for line in lines(view(crowded), 100.0, PLAIN, width=80) if line.startswith("▶")]
    assert line.endswith("code  runs pytest -q tests/st…")


def test_work_that_needs_a_person_says_why() -> None:
    rows = (
        row("a", question="Sure?"),
        row("b", "completed", landing="conflict", conflict=("x", "y")),
        row("c", "completed", landing="held", message="a file is in the way\nmore"),
        row("d", "failed", message="it broke"),
    )
    assert shown(view(*rows))[3:] == [
        "? a  needs an answer         asks: Sure?",
        "! b  completed, in conflict               conflict in x, y",
        "! c  completed, held                      a file is in the way",
        "✗ d  failed                               it broke",
        "",
        "weft answer             lists the open questions",
        "weft merge --list       shows how to settle the conflicts",
        "weft merge              tries to land what is held",
    ]


def test_what_people_paused_or_stopped_is_said() -> None:
    rows = [row(name, wanted=wanted) for name, wanted in (("a", "pause"), ("b", "freeze"), ("c", "stop"))]
    shown_text = shown(view(*rows, wants=True))
    assert [line.split()[2] for line in shown_text[3:6]] == ["paused", "frozen", "stopped"]
    assert shown_text[-1] == "weft resume             resumes what was paused or stopped"
    assert shown(view(row(), state="stopped"))[3] == "▶ a  stopped"


@pytest.mark.parametrize("state", ["completed", "failed", "abandoned"])
def test_nothing_is_to_be_resumed_in_a_run_that_is_over(state: str) -> None:
    shown_text = shown(view(row("a", "completed"), coordinator=None, state=state, wants=True))
    assert not any("weft resume" in line for line in shown_text)


@pytest.mark.parametrize("landing", ["held", "conflict"])
def test_what_waits_for_a_person_to_merge_it_does_not_run(landing: str) -> None:
    shown_text = shown(view(row("a", landing=landing), coordinator=None, state="waiting"))
    assert shown_text[1] == f"1 {SIGNS[landing].word}, 3 waiting"
    assert shown_text[3] == f"! a  {SIGNS[landing].word}"


def test_what_waits_for_an_answer_does_not_run_unless_another_step_does() -> None:
    asks, works = row("a", question="Sure?"), row("b", question="Sure?", pid=9)
    shown_text = shown(view(asks, works, counts={"pending": 3, "running": 2}))
    assert shown_text[1] == "1 needs an answer, 1 running, 3 waiting"
    assert [line.split()[2] for line in shown_text[3:5]] == ["needs", "running"]


def test_a_command_to_type_is_not_broken() -> None:
    run_view = view(row("a-slice-with-a-long-name", "failed", message="x", has_output=True), state="failed")
    lines = [line for line in wrap_lines(shown(run_view), 40) if line.startswith("weft logs")]
    assert lines == ["weft logs a-slice-with-a-long-name"]


def test_only_what_matters_is_listed_unless_everything_is_wanted() -> None:
    rows = (row("g", is_leaf=False), row("g/a", "completed"), row("b", "pending", blocked_by=("g", "h")))
    assert shown(view(*rows)) == shown(view())
    assert shown(view(*rows), everything=True)[3:] == [
        "▶ g    running",
        "✓ g/a  completed",
        "· b    waiting    blocked by g, h",
    ]


def test_of_many_only_some_are_listed() -> None:
    many = [row(f"s{number}") for number in range(MOST_ROWS + 5)]
    shown_text = shown(view(*many))
    assert shown_text[-1] == "… and 5 more; all of them: weft status --all"
    assert len(shown_text) == MOST_ROWS + 4


def test_what_unreported_calls_keep_is_shown_with_the_command_that_releases_it() -> None:
    run_view = view(
        unreported=100_000,
        unknown=2,
        ceiling=0.1,
        earlier=EarlierSpending(unknown=5, assumed=250_000),
        plan_words=("my plan.yaml",),
    )
    assert shown(run_view)[-1] == (
        "$0.35 stays reserved for agent calls that did not report their cost; to count the budget from zero, "
        "type: weft run 'my plan.yaml' --fresh-budget"
    )
    assert shown(view(unreported=100_000, unknown=2))[-1:] == shown(view(unknown=2))[-1:]


def test_colours_are_for_terminals() -> None:
    painted = list(lines(view(row("a", "failed"), state="failed"), 0.0, Style()))
    assert painted[0] == "tried  \x1b[31mfailed\x1b[0m  run r1  (process 7)"
    assert painted[3] == "\x1b[31m✗\x1b[0m a  failed"


def test_for_programs_all_is_there() -> None:
    row_view = row(
        branch="weft/p/a", pid=9, heartbeat_at=1.5, conflict=("f",), blocked_by=("b",), cost=250_000
    )
    earlier = EarlierSpending(cost=250_000, tokens=9, unknown=1, assumed=100_000)
    overview = view(
        row_view, cost=500_000, unreported=50_000, ceiling=20.0, earlier=earlier, uncounted=(100_000, 0)
    )
    content = data(overview, {"weft/p/a": "/trees/a"})
    assert content["coordinator"] == {"pid": 7, "alive": True, "started_at": "1970-01-01T00:00:01.000Z"}
    assert content["cost"] == {
        "usd": 0.5,
        "reserved_usd": 0.0,
        "unreported_usd": 0.15,
        "ceiling_usd": 20.0,
        "unknown": 0,
        "tokens": 0,
        "ceiling_tokens": None,
        "earlier_usd": 0.25,
        "earlier_tokens": 9,
        "earlier_unknown": 1,
        "counted_usd": 0.65,
        "counted_tokens": 9,
    }
    assert content["subplans"] == [
        {
            "path": "a",
            "state": "running",
            "reason": None,
            "message": None,
            "landing": None,
            "landing_place": None,
            "conflict": ["f"],
            "wanted": "go",
            "step": None,
            "attempt": None,
            "question": None,
            "steps_done": 0,
            "steps_total": 0,
            "pid": 9,
            "heartbeat_at": "1970-01-01T00:00:01.500Z",
            "activity": None,
            "heard_at": None,
            "cost_usd": 0.25,
            "tokens": 0,
            "rejected": None,
            "branch": "weft/p/a",
            "worktree": "/trees/a",
            "blocked_by": ["b"],
            "changed_nothing": None,
        }
    ]
    assert data(view(coordinator=None), {})["coordinator"] is None


def register(git: Path, name: str, head: str, place: str) -> None:
    folder = git / "worktrees" / name
    folder.mkdir(parents=True)
    (folder / "HEAD").write_text(head)
    (folder / "gitdir").write_text(f"{place}/.git\n")


def test_worktrees_are_where_git_says(tmp_path: Path) -> None:
    git = tmp_path / "project" / ".git"
    register(git, "a", "ref: refs/heads/weft/p/a\n", "/trees/a")
    register(git, "b", "0123456789\n", "/trees/b")
    (git / "worktrees" / "broken").mkdir()
    assert worktrees_of(tmp_path / "project") == {"weft/p/a": "/trees/a"}


def test_a_project_may_be_a_worktree_itself_or_no_repository(tmp_path: Path) -> None:
    git = tmp_path / "main" / ".git"
    register(git, "other", "ref: refs/heads/x\n", "/trees/x")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".git").write_text(f"gitdir: {git}/worktrees/other\n")
    assert worktrees_of(tmp_path / "other") == {"x": "/trees/x"}
    assert worktrees_of(tmp_path) == {}
    (tmp_path / ".git").write_text("x")
    assert worktrees_of(tmp_path) == {}


def test_agents_that_changed_nothing_are_reported_for_people_and_for_programs() -> None:
    run_view = view(
        row(idle=("code",)), row("b", message="exit code 1", state="failed", idle=("code", "more"))
    )
    assert shown(run_view)[-2].endswith("code changed nothing")
    assert shown(run_view)[-1].endswith("exit code 1; code, more changed nothing")
    messages = data(view(row(idle=("code",)), row("b")), {})["subplans"]
    assert isinstance(messages, list)
    assert [each["changed_nothing"] for each in messages] == [["code"], None]


# What needs attention beside the subplans


def test_usage_limits_are_reported_with_their_end() -> None:
    limit = UsageLimit(agents=("claude",), until=100.0 + 25 * 60)
    until = datetime.fromtimestamp(limit.until, UTC).astimezone().strftime("%H:%M")
    assert shown(view(limits=[limit]))[-3:] == [
        f"usage limit: claude is limited until {until} (for another 25 min)",
        "",
        "weft resume --limits    ends the usage limit now",
    ]


def test_a_failed_verify_is_reported_with_its_command_the_end_of_its_output_and_what_to_type() -> None:
    verify = FailedVerify(subplan="", command="make check", message="exit code 2", tail="one\n\ntwo")
    assert shown(view(verifies=[verify]))[3:] == [
        "verify of tried failed: exit code 2 (make check)",
        "  | one",
        "  | two",
        "",
        "weft logs /:@verify     shows the output of the verify of tried",
    ]


def test_changes_outside_of_worktrees_are_warnings() -> None:
    warning = OutsideWarning(place="", directory="/p", files=("x.py",), more=0, during=("a:code",))
    run_view = view(outside=[warning] * 6)
    assert shown(run_view)[-6:] == [
        *["warning: changed in your checkout while a:code ran: x.py"] * 5,
        "warning: 1 earlier change; to see all, type: weft events",
    ]
    listed: Any = data(run_view, {})["outside_changes"]
    assert listed[0] == {
        "place": "", "directory": "/p", "files": ("x.py",), "more": 0, "during": ("a:code",),
    }  # fmt: skip


def test_conflicts_ahead_are_reported_with_the_files() -> None:
    pair = ConflictAhead(subplan="a", other="b", files=("x.py", "y.py"))
    assert shown(view(ahead=[pair]))[-1] == "conflict ahead: a is going to conflict with b: x.py, y.py"


def test_what_is_blocked_does_not_say_that_it_failed() -> None:
    blocked = row(state="failed", reason="blocked", message="blocked by b", steps_total=1)
    assert shown(view(blocked))[-1] == "✗ a  blocked  0/1  blocked by b"


def test_a_rejected_step_says_why() -> None:
    rejected = Rejection(step="look", attempt=1, reason="on_result: always (fail)")
    assert shown(view(row(rejected=rejected)))[-1].endswith("look was rejected: on_result: always (fail)")


def test_of_a_question_about_a_result_the_first_line_is_shown() -> None:
    assert shown(view(row(question="Good?\nIts result:\n7")))[3] == "? a  needs an answer  asks: Good?"


def test_a_failed_run_says_what_to_type() -> None:
    failed = row("a", "failed", reason="error", message="no", has_output=True)
    other = row("b", "failed", reason="blocked", message="blocked by a")
    run = view(failed, other, state="failed", coordinator=None, plan_words=("my plan.yaml",))
    assert shown(run)[-2:] == [
        "weft logs a              shows the output of its steps",
        "weft run 'my plan.yaml'  retries what failed; completed work is kept",
    ]


def test_an_older_run_suggests_nothing_that_would_be_about_the_last_one() -> None:
    failed = row("a", "failed", reason="error", message="no", has_output=True)
    run = view(failed, state="failed", coordinator=None, is_last=False, wants=True)
    assert [suggestion.command for suggestion in next_commands(run)] == ["weft logs a --run r1"]


def test_programs_get_the_same_data() -> None:
    run_view = view(
        row(rejected=Rejection(step="look", attempt=2, reason="too low"), tokens=7),
        limits=[UsageLimit(agents=("claude",), until=0.5)],
        verifies=[FailedVerify(subplan="g", command="make", message="exit code 2", tail="x")],
        ahead=[ConflictAhead(subplan="a", other="b", files=("x.py",))],
    )
    content: Any = data(run_view, {})
    assert content["limits"] == [{"agents": ["claude"], "until": "1970-01-01T00:00:00.500Z"}]
    assert content["failed_verifies"] == [
        {
            "subplan": "g",
            "command": "make",
            "message": "exit code 2",
            "tail": "x",
            "entries": [],
            "fix": None,
        }
    ]
    assert content["conflicts_ahead"] == [{"subplan": "a", "other": "b", "files": ["x.py"]}]
    assert content["next"] == [
        {"command": "weft resume --limits", "does": "ends the usage limit now"},
        {"command": "weft logs g:@verify", "does": "shows the output of the verify of g"},
    ]
    assert content["subplans"][0]["rejected"] == {"step": "look", "attempt": 2, "reason": "too low"}
    assert content["subplans"][0]["tokens"] == 7


def test_the_place_of_a_result_in_the_landing_queue_is_shown() -> None:
    rows = [
        row("a", "completed", step="@land", landing="unmerged", landing_place="queued to land"),
        row("b", "completed", step="@land", landing="unmerged", landing_place="verifying with 3 others"),
        row("c", "completed", landing="merged", landing_place="landed abc1234"),
    ]
    assert shown(view(*rows))[3:] == [
        "✓ a  completed  queued to land",
        "✓ b  completed  verifying with 3 others",
    ]
    assert shown(view(*rows), everything=True)[-1].split() == ["✓", "c", "completed", "landed", "abc1234"]
    content: Any = data(view(*rows), {})
    assert [item["landing_place"] for item in content["subplans"]] == [entry.landing_place for entry in rows]


def test_a_verify_that_keeps_a_result_from_landing_is_reported_once_with_what_to_type() -> None:
    failed = FailedVerify(
        subplan="",
        command="make check",
        message="a does not land on main: `verify` fails with it: exit code 2 (make check)",
        tail="one",
        entries=("a",),
        fix="commit a fix to branch weft/tried/a, then type: weft merge a",
        step="@land",
    )
    held = row("a", "completed", landing="held", landing_place="held: verify failed", message=failed.message)
    assert shown(view(held, state="waiting", verifies=[failed]))[3:] == [
        "! a  completed, held: verify failed",
        "",
        "a does not land on main: `verify` fails with it: exit code 2 (make check)",
        "  | one",
        "commit a fix to branch weft/tried/a, then type: weft merge a",
        "",
        "weft merge              tries to land what is held",
        "weft logs a:@land       shows the output of the verify before a landing",
    ]


def test_a_failed_verify_is_reported_during_the_search_for_a_culprit() -> None:
    failed = FailedVerify(
        subplan="", command="make", message="exit code 2", tail="", entries=("a", "b"), step="@land"
    )
    assert shown(view(verifies=[failed]))[3] == "verify of tried failed for a, b: exit code 2 (make)"


def test_what_has_landed_is_said_to_be_pushed() -> None:
    pushed = PushState(remote="origin", commit="0123456789")
    assert shown(view(push=pushed))[-1] == "landed, pushed to origin (0123456)"
    assert shown(view(push=PushState(remote="true", commit="0123456789")))[-1] == (
        "landed, pushed to its upstream (0123456)"
    )
    assert data(view(push=pushed), {})["push"] == {
        "pushed": True,
        "remote": "origin",
        "commit": "0123456789",
        "message": None,
        "command": None,
        "final": False,
    }
    assert data(view(), {})["push"] is None


@pytest.mark.parametrize("is_final", [False, True])
def test_what_is_not_pushed_says_why_and_at_the_end_of_the_run_what_to_type(is_final: bool) -> None:
    push = PushState(
        remote="origin",
        message="remote: no\nerror: failed",
        command="git push origin main",
        is_final=is_final,
    )
    command = ["", "git push origin main    pushes what has landed"] if is_final else []
    assert shown(view(push=push))[2:] == ["", "landed, not pushed: remote: no", "  | error: failed", *command]


def test_a_workspace_in_which_a_person_has_something_to_do_is_named_with_the_command() -> None:
    rows = [
        row("a", landing="conflict", conflict=("f",), branch="weft/p/a"),
        row("b", "failed", reason="error", branch="weft/p/b"),
        row("c", "completed", landing="held", branch="weft/p/c", landing_place=VERIFY_FAILED),
        row("ready", "completed", landing="held", branch="weft/p/ready"),
        row("d", landing="conflict", conflict=("f",), branch="weft/p/d"),
    ]
    places = {f"weft/p/{name}": f"/trees/{name}" for name in ("a", "b", "c", "ready")}
    text = [str(line) for line in lines(view(*rows), 100.0, PLAIN, worktrees=places)]
    assert [line for line in text if " is kept in " in line] == [
        "a is kept in /trees/a; to try it again, type: weft merge a",
        "b is kept in /trees/b; to try it again, type: weft retry b",
        "c is kept in /trees/c; to try it again, type: weft merge c",
    ]


def test_of_many_workspaces_only_some_are_named() -> None:
    rows = [row(f"s{n}", landing="conflict", branch=f"weft/p/s{n}") for n in range(7)]
    places = {f"weft/p/s{n}": f"/trees/s{n}" for n in range(7)}
    text = [str(line) for line in lines(view(*rows), 100.0, PLAIN, worktrees=places)]
    assert sum(" is kept in " in line for line in text) == 5
    assert any(line.startswith("… and 2 more workspaces") for line in text)


def test_a_group_waits_as_its_parts_do_unless_one_of_them_is_under_way() -> None:
    group = row("g", is_leaf=False)
    inside = (row("g/a", question="Sure?"), row("g/b", "completed"), row("g/c", "pending"))
    assert shown(view(group, *inside), everything=True)[3] == "? g    needs an answer"
    assert shown(view(group, *inside, row("g/d", step="code")), everything=True)[3].split() == [
        "▶",
        "g",
        "running",
    ]
    assert shown(view(group, *inside, row("g/d")), everything=True)[3].split() == ["▶", "g", "running"]
    verified = row("g", is_leaf=False, step="@verify")
    assert shown(view(verified, *inside), everything=True)[3].split()[:3] == ["▶", "g", "running"]
