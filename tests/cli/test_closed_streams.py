"""Commands whose standard streams are closed."""

import shlex
import subprocess

import pytest

from cli.running import WEFT, Project

PLAN = "subplans: [{id: a, steps: [{id: work, run: MARK}]}]\n"


@pytest.mark.parametrize("closed", ["<&-", "2>&-", "<&- >&- 2>&-"])
def test_a_run_needs_none_of_them(project: Project, closed: str) -> None:
    project.plan(PLAN)
    command = f"exec {shlex.quote(WEFT)} run {closed}"
    done = subprocess.run(["sh", "-c", command], cwd=project.root, env=project.env, check=False)
    assert done.returncode == 0
    assert project.marks() == ["a:work"]


def test_a_background_run_can_be_started_without_input(project: Project) -> None:
    project.plan(PLAN.replace("MARK", "GATE x"))
    command = f"exec {shlex.quote(WEFT)} start <&-"
    done = subprocess.run(["sh", "-c", command], cwd=project.root, env=project.env, check=False)
    assert done.returncode == 0
    project.reached()
    project.let_through()
