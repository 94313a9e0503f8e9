"""A coordinator whose run is over, and that is still there: whoever comes then waits until it has gone."""

import subprocess

import pytest

from cli.running import Project

TELLS = """
notify: {on: [finished, failed], run: 'GATE y'}
subplans:
  - {id: a, steps: [{id: x, run: 'RUN'}]}
"""


def leaving(project: Project, run: str) -> int:
    """The process of a coordinator that has ended its run, and stands at the gate `y` to tell people of it."""
    assert project.plan(TELLS.replace("RUN", run)).process("-C", str(project.root), "start").returncode == 0
    project.reached("y")
    (pid,) = project.coordinators()
    return pid


def waiting(project: Project, pid: int, *arguments: str) -> "subprocess.Popen[str]":
    """A command that has said that it waits for that process."""
    command = project.start(*arguments)
    assert command.stderr is not None
    assert command.stderr.readline() == (
        f"weft: the run is over, and process {pid} is about to end; waiting for it\n"
    )
    return command


@pytest.mark.parametrize("command", ["run", "start"])
def test_the_next_run_begins_when_the_last_coordinator_has_gone(project: Project, command: str) -> None:
    pid = leaving(project, "MARK")
    new = waiting(project, pid, command, "--fresh")
    assert project.marks() == ["a:x"]
    project.let_through("y")
    project.reached("y")  # the new one is at its end
    project.let_through("y")
    out, errors = new.communicate()
    assert (new.returncode, len(project.runs()), project.marks()) == (0, 2, ["a:x", "a:x"]), errors
    assert "running already" not in out


def test_what_failed_is_retried_when_the_last_coordinator_has_gone(project: Project) -> None:
    pid = leaving(project, "exit 3")
    again = waiting(project, pid, "retry")
    for _ in range(2):  # of the subplan, and of the run
        project.let_through("y")
        project.reached("y")
    project.let_through("y")
    out, errors = again.communicate()
    assert (again.returncode, "retries what failed" in out) == (0, True), errors


def test_nothing_is_cleaned_before_the_last_coordinator_has_gone(project: Project) -> None:
    pid = leaving(project, "true")
    cleans = waiting(project, pid, "clean")
    project.let_through("y")
    _, errors = cleans.communicate()
    assert cleans.returncode == 0, errors


def test_a_second_run_is_refused_while_the_first_continues(project: Project) -> None:
    project.plan(TELLS.replace("RUN", "GATE x")).process("-C", str(project.root), "start")
    project.reached("x")
    (pid,) = project.coordinators()
    done = project.process("run")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"another Weft runs in {project.root}/.weft: process {pid} (weft run)" in done.stderr
    assert f"is running already (process {pid})" in project.process("-C", str(project.root), "start").stdout
