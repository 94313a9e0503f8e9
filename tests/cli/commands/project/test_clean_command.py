"""`weft clean`: what it says that it removes and keeps."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cli.running import WEFT
from e2e.repositories import Repository
from weft.cli.main import cli

PLAN = """
merge: {mode: auto}
failure_mode: continue_on_error
subplans:
  - {id: good, steps: [{id: work, run: "echo g > good"}]}
  - {id: bad, depends_on: [good], steps: [{id: one, run: "echo b > bad"}, {id: two, run: "false"}]}
"""


@pytest.fixture
def ran(tmp_path: Path) -> Iterator[Repository]:
    repository = Repository(tmp_path / "project")
    assert repository.plan(PLAN).run().state == "failed"
    yield repository
    repository.end()


def clean(repository: Repository, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["-C", str(repository.root), "clean", *arguments])


def told(repository: Repository, text: str) -> list[str]:
    return re.sub(r"[0-9a-f]{12}", "COMMIT", text.replace(str(repository.root), "PROJECT")).splitlines()


def test_what_goes_is_named_and_so_is_what_stays_and_why(ran: Repository) -> None:
    kept = "kept tried: bad: 1 commit is not on main; type: weft diff bad"
    done = clean(ran, "--dry-run")
    assert (done.exit_code, done.stderr, told(ran, done.stdout)) == (4, "", [
        "would remove the branch weft/tried/_plan (at COMMIT)",
        "would remove the worktree PROJECT/.weft/worktrees/tried/good (at COMMIT)",
        "would remove the branch weft/tried/good (at COMMIT)",
        "would remove 5 private refs of tried",
        kept,
    ])  # fmt: skip
    done = clean(ran)
    assert told(ran, done.stdout)[1:] == [
        "removed the worktree PROJECT/.weft/worktrees/tried/good (at COMMIT)",
        "removed the branch weft/tried/good (at COMMIT)",
        "removed 5 private refs of tried",
        kept,
    ]
    done = clean(ran, "tried")
    assert (done.exit_code, done.stdout, done.stderr) == (4, f"{kept}\n", "there is nothing to remove\n")


def test_what_is_shown_of_a_kept_branch_can_be_landed_by_hand_and_then_it_goes(ran: Repository) -> None:
    clean(ran)
    ran.git("merge", "--quiet", "--no-edit", "weft/tried/bad")
    done = clean(ran)
    assert (done.exit_code, len(done.stdout.splitlines())) == (0, 3)
    done = clean(ran)
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "there is nothing to remove\n")


def test_a_single_private_ref_is_one(ran: Repository) -> None:
    clean(ran)
    ran.git("merge", "--quiet", "--no-edit", "weft/tried/bad")
    clean(ran)
    ran.git("update-ref", "refs/weft/kept/tried/bad/1", "main")
    assert clean(ran).stdout == "removed 1 private ref of tried\n"


def test_as_json_it_is_data(ran: Repository) -> None:
    main = ran.tip("main")
    done = clean(ran, "--dry-run", "--json")
    data = json.loads(done.stdout)["data"]
    (plan,) = data["plans"]
    assert (done.exit_code, data["dry_run"], plan["plan"], plan["target"]) == (4, True, "tried", "main")
    assert plan["removed"][0] == {"kind": "branch", "name": "weft/tried/_plan", "commit": main}
    assert plan["kept"] == [
        {
            "subplan": "bad",
            "why": "unmerged",
            "message": "1 commit is not on main",
            "command": "weft diff bad",
            "commits": 1,
            "files": [],
        }
    ]


def test_what_all_of_a_plan_is_kept_for_names_the_plan(ran: Repository) -> None:
    ran.git("switch", "--quiet", "--create", "other")
    ran.git("branch", "-D", "main")
    done = clean(ran)
    assert done.exit_code == 0
    assert done.stdout.startswith("kept tried: the branch main, the target of its work, does not exist in")
    assert done.stdout.endswith("; type: git branch main COMMIT\n")


def test_an_unknown_plan_is_refused(ran: Repository) -> None:
    done = clean(ran, "tird")
    text = "error: no plan 'tird' has been run here; did you mean 'tried'?\n"
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", text)


def test_while_a_plan_is_run_it_is_refused(ran: Repository) -> None:
    ran.plan("subplans: [{id: a, steps: [{id: work, run: 'echo > OUTSIDE/here; read _ < OUTSIDE/gate'}]}]")
    for name in ("here", "gate"):
        os.mkfifo(ran.outside / name)
    with ran.started("run") as process:
        (ran.outside / "here").read_text()
        done = clean(ran)
        (ran.outside / "gate").write_text("\n")
        process.communicate()
    assert done.exit_code == 2
    assert done.stderr.startswith("error: nothing is removed while a plan runs: another Weft runs in")


def test_plans_are_completed(ran: Repository) -> None:
    words = {"_WEFT_COMPLETE": "zsh_complete", "COMP_WORDS": "weft clean t", "COMP_CWORD": "2"}
    done = subprocess.run(
        [WEFT], cwd=ran.root, env={**os.environ, **words}, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[1::3] == ["tried"]


def test_after_it_a_run_continues_with_what_has_landed(ran: Repository) -> None:
    clean(ran)
    again = ran.run()
    assert again.state == "failed"
    assert {event.subplan for event in again.events if event.kind == "step_started"} == {"bad"}
    assert "held" not in {event.outcome for event in again.events}
