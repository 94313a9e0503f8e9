"""`make demo`, as a user runs it: a plan with a scripted agent, real processes, and files that work in the end."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[2] / "examples" / "demo"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("demo")
    shutil.copytree(DEMO, place, dirs_exist_ok=True)
    return place


@pytest.fixture(scope="module")
def told(place: Path) -> str:
    command = [sys.executable, "-m", "weft", "-C", str(place), "run"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_all_slices_are_completed_and_it_is_said_what_they_cost(told: str) -> None:
    assert "All 7 slices completed" in told
    assert "$0.17" in told


def test_a_test_fails_and_the_feedback_mends_it(told: str) -> None:
    assert "shapes/circle  check failed: exit code 1" in told
    assert "shapes/circle  check (attempt 2) done" in told


def test_what_was_made_works(place: Path, told: str) -> None:
    made = place / ".weft" / "workspaces" / "measures" / "_plan"
    command = [sys.executable, "measure.py", "triangle", "3", "4"]
    done = subprocess.run(command, cwd=made, capture_output=True, text=True, check=True)
    assert done.stdout == "6.0\n"


def test_what_was_made_passes_its_tests(place: Path, told: str) -> None:
    made = place / ".weft" / "workspaces" / "measures" / "_plan"
    command = [sys.executable, "-m", "unittest", "discover", "-q", "-p", "test_*.py"]
    done = subprocess.run(command, cwd=made, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_journal_gives_the_same_run_again(place: Path, told: str) -> None:
    command = [sys.executable, "-m", "weft", "-C", str(place), "replay"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "every event of the journal comes out again" in done.stdout
