import json
import os
import subprocess
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from app.receivers import program
from cli.running import Project


@pytest.fixture
def bare(project: Project) -> Project:
    """Nothing is installed there but git."""
    (project.outside / "bin").mkdir()
    (project.outside / "bin" / "git").symlink_to("/usr/bin/git")
    project.env["PATH"] = str(project.outside / "bin")
    return project


def lines(project: Project, *arguments: str) -> list[str]:
    done = project.process(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_what_was_found_and_written_is_reported_with_what_to_type(bare: Project) -> None:
    program(bare.outside / "bin", "codex")
    (bare.root / "Makefile").write_text("test:\n\ttrue\n")
    (bare.root / ".git" / "refs").mkdir(parents=True)
    assert lines(bare, "init") == snapshot(
        [
            "found    a git repository without commits",
            "         agents: codex",
            "         tests: make test (Makefile)",
            "written  .weft/.gitignore",
            "written  .weft/schema.json",
            "written  .weft/config.yaml",
            "written  weft.yaml",
            "next     git add --all && git commit -m start",
            "         weft check",
            "edit     weft.yaml: replace its `subplans`, which are an example, by your own work; they only read,",
            "         and nothing lands",
        ]
    )
    assert lines(bare, "init")[-5:] == snapshot(
        [
            "kept     .weft/schema.json",
            "kept     .weft/config.yaml",
            "kept     weft.yaml",
            "next     git add --all && git commit -m start",
            "         weft check",
        ]
    )


def test_the_sandbox_is_offered_where_bubblewrap_works(bare: Project) -> None:
    program(bare.outside / "bin", "bwrap").write_text("#!/bin/sh\n")
    offer = (
        "sandbox: bubblewrap works; to confine steps to their workspace, set `sandbox` in .weft/config.yaml"
    )
    assert lines(bare, "init")[3].strip() == offer


def test_what_it_found_is_data_for_programs(bare: Project) -> None:
    (bare.root / "tox.ini").write_text("")
    (line,) = lines(bare, "init", "--json")
    data = json.loads(line)["data"]
    assert data.pop("project") == str(bare.root)
    assert data == snapshot(
        {
            "git": {"repository": False, "commits": False, "branch": None},
            "agents": [],
            "tests": [{"command": "tox", "file": "tox.ini"}],
            "setup": None,
            "sandbox": False,
            "files": [
                {"file": ".weft/.gitignore", "state": "written", "note": None},
                {"file": ".weft/schema.json", "state": "written", "note": None},
                {"file": ".weft/config.yaml", "state": "written", "note": None},
                {"file": "weft.yaml", "state": "written", "note": None},
            ],
            "warnings": [],
            "next": ["weft check"],
            "edit": "weft.yaml: replace its `subplans`, which are an example, by your own work; they write below "
            ".weft only",
        }
    )


def test_the_new_plan_passes_the_check_and_without_an_agent_it_runs(bare: Project) -> None:
    lines(bare, "init")
    bare.env["PATH"] = os.environ["PATH"]
    assert lines(bare, "check")[0].startswith("Finish    Every run of this plan ends")
    assert bare.process("run", "-q").returncode == 0
    result = bare.root / ".weft" / "workspaces" / "project" / "_plan"
    assert sorted(path.name for path in result.iterdir()) == ["ADVICE.md", "OPEN.md", "SURVEY.md"]


MINE = "subplans: [{id: mine, steps: [{id: make, run: echo mine > mine}]}]\n"


def test_a_first_run_leaves_nothing_that_a_later_one_could_land(project: Project) -> None:
    """Also where the plan is edited in place, and so has the id of the example."""
    git = ["git", "-C", str(project.root), "-c", "user.name=Ada", "-c", "user.email=ada@localhost"]
    subprocess.run([*git, "init", "--quiet", "--initial-branch", "main"], check=True)
    lines(project, "init")
    subprocess.run([*git, "add", "--all"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--message", "start"], check=True)
    assert project.process("run", "-q").returncode == 0
    assert project.process("logs", "survey", "--raw").stdout.splitlines()[-1] == "weft.yaml"
    plan = project.root / "weft.yaml"
    plan.write_text(plan.read_text().partition("subplans:")[0] + MINE)
    subprocess.run([*git, "commit", "--quiet", "--all", "--message", "mine"], check=True)
    assert project.process("run", "-q", "--merge", "auto").returncode == 0
    landed = subprocess.run(
        [*git, "ls-tree", "--name-only", "main"], capture_output=True, text=True, check=True
    )
    assert landed.stdout.split() == [".weft", "mine", "weft.yaml"]


def test_the_new_plan_passes_the_check_in_a_repository_with_an_agent(bare: Project) -> None:
    program(bare.outside / "bin", "claude")
    (bare.root / ".git" / "refs").mkdir(parents=True)
    lines(bare, "init")
    assert "with at most 2 coder." in "\n".join(lines(bare, "check", "--plan-only"))


def test_where_a_file_is_in_the_way_nothing_is_written(bare: Project) -> None:
    (bare.root / ".weft").write_text("")
    done = bare.process("init")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("is not a directory, but Weft needs a directory of that name; move it away\n")
    assert [path.name for path in bare.root.iterdir()] == [".weft"]


def test_a_directory_that_there_is_not_is_refused(bare: Project, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert bare.process("-C", str(tmp_path / "none"), "init").returncode == 2
    assert bare.process("-C", str(tmp_path / "file"), "init").returncode == 2
