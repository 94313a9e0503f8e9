"""`weft status` for people: what it lists, what it leaves out, what it says to type."""

from pathlib import Path
from typing import Any

from weft.app.run_overview import Coordinator, Overview, SubplanNow
from weft.cli.live.cells import Style
from weft.cli.status_text import MOST_ROWS, data, lines, worktrees_of

PLAIN = Style(colours=False)


def view(*rows: SubplanNow, **more: Any) -> Overview:
    given: dict[str, Any] = {
        "run": "r1",
        "plan": "tried",
        "state": "running",
        "created_at": 0.0,
        "coordinator": Coordinator(7, True, 1.0),
        "counts": {"pending": 3, "running": 1, "completed": 0, "failed": 0},
        "cost": 0,
        "tokens": 0,
        "unknown": 0,
        "wants": False,
        "ceiling": None,
        "subplans": rows,
    }
    return Overview(**(given | more))


def row(path: str = "a", state: str = "running", **more: Any) -> SubplanNow:
    given: dict[str, Any] = {"path": path, "is_leaf": True, "state": state}
    return SubplanNow(**(given | more))


def shown(one: Overview, *, everything: bool = False) -> list[str]:
    return list(lines(one, 100.0, PLAIN, everything=everything))


def test_the_head_says_who_runs_it_and_how_far_it_is() -> None:
    assert shown(view()) == ["tried  running  run r1  (process 7)", "1 running, 3 pending"]


def test_a_run_that_nobody_runs_says_so_and_what_to_type() -> None:
    dead = view(coordinator=Coordinator(7, False, 1.0))
    assert shown(dead)[0] == "tried  running  run r1  (nobody runs it now)"
    assert shown(dead)[-1] == "weft start              has it go on"
    assert len(shown(view(coordinator=None, state="waiting"))) == 2, (
        "it waits for people, not for a coordinator"
    )
    over = view(coordinator=None, state="completed")
    assert shown(over)[0] == "tried  completed  run r1"


def test_costs_are_told_with_what_is_unknown() -> None:
    one = view(cost=1_250_000, unknown=2, tokens=12_345, counts={})
    assert shown(one)[1] == "no slices  $1.25, 2 unknown  12,345 tokens"
    bounded = view(cost=1_250_000, reserved=400_000, ceiling=20.0, tokens=7, token_ceiling="5M", counts={})
    assert shown(bounded)[1] == "no slices  $1.25 of $20.00, $0.40 reserved  7 of 5M tokens"


def test_a_slice_is_a_line_with_its_step_time_and_cost() -> None:
    one = row(step="code", attempt=2, steps_done=1, steps_total=4, since=35.0, cost=310_000)
    assert shown(view(one))[2:] == ["", "* a  running  code (2)  1/4  1:05  $0.31"]
    assert shown(view(row(step="code", since=-3_700.0)))[3] == "* a  running  code  1:03:20"


def test_what_needs_somebody_says_what() -> None:
    rows = (
        row("a", question="Sure?"),
        row("b", "completed", landing="conflict", conflict=("x", "y")),
        row("c", "completed", landing="held", message="a file is in the way\nmore"),
        row("d", "failed", message="it broke"),
    )
    assert shown(view(*rows))[3:] == [
        "* a  running              asks: Sure?",
        "+ b  completed, conflict               conflict in x, y",
        "+ c  completed, held                   a file is in the way",
        "x d  failed                            it broke",
        "",
        "weft answer             lists what is asked",
        "weft merge --list       says how to settle what is in conflict",
        "weft merge              lands what is held, if nothing is in the way any more",
    ]


def test_what_people_paused_or_stopped_is_said() -> None:
    rows = [row(name, wanted=wanted) for name, wanted in (("a", "pause"), ("b", "freeze"), ("c", "stop"))]
    told = shown(view(*rows, wants=True))
    assert [line.split()[2] for line in told[3:6]] == ["paused", "frozen", "stopped"]
    assert told[-1] == "weft resume             lets go on what was paused or stopped"
    assert shown(view(row(), state="stopped"))[3] == "* a  stopped"


def test_only_what_matters_is_listed_unless_everything_is_wanted() -> None:
    rows = (row("g", is_leaf=False), row("g/a", "completed"), row("b", "pending", blocked_by=("g", "h")))
    assert shown(view(*rows)) == shown(view())
    assert shown(view(*rows), everything=True)[3:] == [
        "* g    running",
        "+ g/a  completed",
        ". b    pending    blocked by g, h",
    ]


def test_of_many_only_some_are_listed() -> None:
    many = [row(f"s{number}") for number in range(MOST_ROWS + 5)]
    told = shown(view(*many))
    assert told[-1] == "… and 5 more; all of them: weft status --all"
    assert len(told) == MOST_ROWS + 4


def test_colours_are_for_terminals() -> None:
    painted = list(lines(view(row("a", "failed"), state="failed"), 0.0, Style()))
    assert painted[0] == "tried  \x1b[31mfailed\x1b[0m  run r1  (process 7)"
    assert painted[3] == "\x1b[31mx\x1b[0m a  failed"


def test_for_programs_all_is_there() -> None:
    one = row(branch="weft/p/a", pid=9, heartbeat_at=1.5, conflict=("f",), blocked_by=("b",), cost=250_000)
    told = data(view(one, cost=500_000, ceiling=20.0), {"weft/p/a": "/trees/a"})
    assert told["coordinator"] == {"pid": 7, "alive": True, "started_at": "1970-01-01T00:00:01.000Z"}
    assert told["cost"] == {
        "usd": 0.5,
        "reserved_usd": 0.0,
        "ceiling_usd": 20.0,
        "unknown": 0,
        "tokens": 0,
        "ceiling_tokens": None,
    }
    assert told["subplans"] == [
        {
            "path": "a",
            "state": "running",
            "reason": None,
            "message": None,
            "landing": None,
            "conflict": ["f"],
            "wanted": "go",
            "step": None,
            "attempt": None,
            "question": None,
            "steps_done": 0,
            "steps_total": 0,
            "pid": 9,
            "heartbeat_at": "1970-01-01T00:00:01.500Z",
            "cost_usd": 0.25,
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


def test_agents_that_changed_nothing_are_told_for_people_and_for_programs() -> None:
    one = view(row(idle=("code",)), row("b", message="exit code 1", state="failed", idle=("code", "more")))
    assert shown(one)[-2].endswith("code changed nothing")
    assert shown(one)[-1].endswith("exit code 1; code, more changed nothing")
    told = data(view(row(idle=("code",)), row("b")), {})["subplans"]
    assert isinstance(told, list)
    assert [each["changed_nothing"] for each in told] == [["code"], None]
