"""`weft check` of a plan that has been run: what is complete, what has not landed, what can start now."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cli.running import Project
from e2e.repositories import Repository
from weft.cli.main import cli

PLAN = """
subplans:
  - {id: g, subplans: [{id: a, steps: [{id: w, run: echo a > a}]}, {id: b, steps: [{id: w, run: echo b > b}]}]}
  - {id: d, depends_on: [g], steps: [{id: w, run: "[ -e OUTSIDE/fixed ] && echo d > d"}]}
  - {id: e, depends_on: [d], steps: [{id: w, run: echo e > e}]}
"""


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    repository = Repository(tmp_path / "project").plan(PLAN)
    yield repository
    repository.kill_processes()  # which a test that failed has left
    repository.end()


def weft(repository: Repository, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["-C", str(repository.root), *arguments])


def sections(result: Result) -> dict[str, list[str]]:
    """The lines about what can start, by the word at the left."""
    table: dict[str, list[str]] = {}
    label = ""
    for line in result.stdout.splitlines():
        label = line[:10].strip() or label
        table.setdefault(label, []).append(line[10:])
    return {
        label: lines for label, lines in table.items() if label in {"Start", "Done", "Unmerged", "Blocked"}
    }


def data(result: Result) -> dict[str, Any]:
    entry: dict[str, Any] = json.loads(result.stdout)["data"]
    return entry


def test_complete_unlanded_work_says_so_and_blocks_nothing(repository: Repository) -> None:
    assert weft(repository, "run", "-q").exit_code == 1
    result = weft(repository, "check")
    assert result.exit_code == 0
    assert sections(result) == {
        "Start": ["1 slice can start right away, as all it depends on is complete:", "  d  g"],
        "Unmerged": ["1 result has not landed:", "  g (2 slices)  weft/tried/g  weft merge g"],
        "Blocked": ["1 slice waits:", "  e  blocked by d"],
    }


def test_what_it_says_to_type_lands_it(repository: Repository) -> None:
    weft(repository, "run", "-q")
    (command,) = {item["command"] for item in data(weft(repository, "check", "--json"))["ineligible"][:2]}
    assert weft(repository, *command.split()[1:]).exit_code == 0
    run = data(weft(repository, "check", "--json"))["ineligible"][0]["run"]
    assert sections(weft(repository, "check"))["Done"] == [
        f"2 slices are already complete, by run {run}: g/a, g/b."
    ]
    assert repository.files()["a"] == "a"


def test_what_is_changed_in_the_plan_is_to_be_done_again(repository: Repository) -> None:
    weft(repository, "run", "-q")
    weft(repository, "merge")
    repository.plan(PLAN.replace("echo b > b", "echo c > b"))
    content = data(weft(repository, "check", "--json"))
    assert [item["path"] for item in content["eligible"]] == ["g/b"]
    assert [(entry["path"], entry["kind"]) for entry in content["ineligible"]] == [
        ("g/a", "complete"),
        ("d", "blocked"),
        ("e", "blocked"),
    ]


def test_when_all_has_landed_nothing_is_left(repository: Repository) -> None:
    (repository.outside / "fixed").touch()
    weft(repository, "run", "-q")
    weft(repository, "merge")
    assert sections(weft(repository, "check"))["Start"] == ["Nothing is left to start."]


def test_what_a_run_for_others_left_aside_waits_for_the_next_run(repository: Repository) -> None:
    weft(repository, "run", "-q")
    (repository.outside / "fixed").touch()
    repository.plan(PLAN + "  - {id: f, steps: [{id: w, run: echo f > f}]}\n")
    assert weft(repository, "run", "f", "-q").exit_code == 4
    assert sections(weft(repository, "check"))["Unmerged"] == [
        "2 results have not landed:",
        "  g (2 slices)  weft/tried/g  waits for the next run",
        "  f             weft/tried/f  weft merge f",
    ]
    assert weft(repository, "run", "-q").exit_code == 4
    assert weft(repository, "merge").exit_code == 0
    assert set(repository.files()) == {"README", *"abdef"}
    assert sections(weft(repository, "check"))["Start"] == ["Nothing is left to start."]


def test_a_group_lands_in_part_and_later_as_a_whole(repository: Repository) -> None:
    (repository.outside / "fixed").touch()
    repository.plan("merge: {mode: auto}" + PLAN.replace("{id: g, ", "{id: g, verify: cat a b, "))
    assert weft(repository, "run", "g/b", "-q").exit_code == 0
    assert set(repository.files()) == {"README", "b"}
    assert sections(weft(repository, "check"))["Start"] == [
        "1 slice can start right away, with nothing it depends on: g/a."
    ]
    assert weft(repository, "run", "-q").exit_code == 0
    assert set(repository.files()) == {"README", *"abde"}


def test_while_it_runs_the_journal_is_only_read(project: Project) -> None:
    run = project.plan("""
subplans:
  - {id: a, steps: [{id: work, run: MARK}]}
  - {id: b, depends_on: [a], steps: [{id: work, run: "GATE x"}]}
""").start("run", "-q")
    project.reached()
    content = data(project.weft("check", "--json"))
    assert [item["path"] for item in content["eligible"]] == ["b"]
    assert content["ineligible"][0]["run"] == project.runs()[0]
    project.let_through()
    run.communicate()
    assert run.returncode == 0


def test_a_project_in_which_nothing_was_run_stays_as_it_is(project: Project) -> None:
    project.plan("subplans: [{id: a, steps: [{id: work, run: MARK}]}]")
    assert project.weft("check").exit_code == 0
    assert [file.name for file in project.root.iterdir()] == ["weft.yaml"]


def test_what_cannot_be_read_is_reported_with_an_exit_code_of_its_own(project: Project) -> None:
    project.plan("subplans: [{id: a, steps: [{id: work, run: MARK}]}]").weft("run", "-q")
    project.journal.write_bytes(b"torn" * 2_000)
    result = project.weft("check")
    assert (result.exit_code, result.stderr) == (4, "")
    assert "Unread    Whether a can start is not known: cannot read: the journal" in result.stdout
    (messages,) = data(project.weft("check", "--json"))["ineligible"]
    assert messages["kind"] == "unreadable"
