"""What commands do about whoever already exists; whole ones are tried in `test_one_after_another`."""

import subprocess
import sys
from pathlib import Path

import pytest

from cli.running import Project
from weft.app.run.coordinator_wait import find_active_run
from weft.ports.journal import Holder

HOLDS = """
import sys
from pathlib import Path
from weft.store.sqlite import open_journal
journal = open_journal(Path(sys.argv[1]), now=9e9)
print("held", flush=True)
sys.stdin.read()
"""


def nobody_waits(holder: Holder) -> None:
    pytest.fail(f"it waits for {holder.pid}")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path / "project")
    assert project.plan("subplans: [{id: a, steps: [{id: x, run: 'true'}]}]").weft("run").exit_code == 0
    return project


def test_what_this_process_has_run_is_over(project: Project) -> None:
    assert find_active_run(project.root, nobody_waits) is None


def test_the_wait_for_a_coordinator_is_limited(project: Project) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(project.journal)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        assert find_active_run(project.root, nobody_waits, patience=0.1) is None


def test_without_runs_there_is_no_coordinator(tmp_path: Path) -> None:
    assert find_active_run(tmp_path, nobody_waits) is None
