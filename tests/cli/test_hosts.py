"""`weft hosts`, with a machine that is a directory of this one."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.running import Project
from hosts.far.boxes import Box

PLAN = """
isolation: worktree
hosts:
  local: {slots: 2}
  box: {use: command, command: [%s], slots: 6, labels: [gpu], python: %s}
subplans:
  - {id: a, host: box, steps: [{id: work, run: "true"}]}
"""


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    (tmp_path / "machine").mkdir()
    box = Box(tmp_path / "machine")
    yield box
    box.clean()


@pytest.fixture
def project(tmp_path: Path, box: Box) -> Project:
    words = ", ".join(f'"{word}"' for word in box.entrance)
    project = Project(tmp_path / "project")
    (project.root / "weft.yaml").write_text(f"weft: 1\nplan: tried\n{PLAN % (words, box.place.python)}")
    return project


def _approve(project: Project) -> None:
    refusal = project.weft("hosts", "--probe")
    assert refusal.exit_code == 2
    assert "hosts that you have not approved" in refusal.output
    assert project.weft("config", "approve", "--yes").exit_code == 0


def test_it_lists_hosts_and_reaches_none(project: Project, box: Box) -> None:
    done = project.weft("hosts")
    head, local, far = done.output.splitlines()
    assert (done.exit_code, head.split()) == (0, ["host", "use", "where", "slots", "labels"])
    assert local.split() == ["local", "local", "this", "machine", "2"]
    assert (far.split()[:2], far.split()[-2:]) == (["box", "command"], ["6", "gpu"])
    assert not box.directory.exists()


def test_it_says_that_a_plan_has_no_hosts(project: Project) -> None:
    project.plan("subplans: [{id: a, steps: [{id: b, run: 'true'}]}]")
    done = project.weft("hosts")
    assert (done.exit_code, "all steps run on this machine" in done.output) == (0, True)


def test_a_probe_needs_an_approval_and_shows_what_machines_have(project: Project, box: Box) -> None:
    _approve(project)
    done = project.weft("hosts", "--probe", "--json")
    data = json.loads(done.output)["data"]
    assert (done.exit_code, data["findings"], len(data["hosts"])) == (0, [], 2)
    (machine,) = data["machines"]
    assert (machine["host"], machine["state"], machine["directory"]) == (
        "box",
        "reachable",
        str(box.directory),
    )
    text = project.weft("hosts", "--probe").output
    assert text.splitlines()[3].split()[0] == "machine"
    assert text.splitlines()[4].split()[1] == machine["python"]


def test_a_machine_that_cannot_be_reached_is_named(project: Project, box: Box) -> None:
    _approve(project)
    box.gate.unlink()
    done = project.weft("hosts", "--probe")
    assert (done.exit_code, done.output.splitlines()[-1]) == (1, "box cannot be reached: no route")


def test_a_run_does_not_start_if_a_machine_cannot_be_reached(project: Project, box: Box) -> None:
    _approve(project)
    box.gate.unlink()
    done = project.weft("run")
    assert done.exit_code == 2
