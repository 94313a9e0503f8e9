"""`make demo`, as a user runs it: a scripted agent, real processes and worktrees, files that work in the end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import Struct

DEMO = Path(__file__).parents[2] / "examples" / "demo" / "demo.sh"


class Shown(Struct, frozen=True):
    place: Path
    """The repository that was made."""
    log: str
    """What it says on its standard output."""
    told: str
    """What `weft run` tells."""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    parent = tmp_path_factory.mktemp("demo")
    programs = Path(sys.executable).parent
    env = os.environ | {"TMPDIR": str(parent), "PATH": f"{programs}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", str(DEMO)], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (place,) = parent.iterdir()
    return Shown(place, done.stdout, done.stderr)


def test_all_but_one_slice_are_completed_and_it_is_said_what_they_cost(shown: Shown) -> None:
    assert "8 of 9 slices completed" in shown.told
    assert "$0.18" in shown.told


def test_a_test_fails_and_the_feedback_mends_it(shown: Shown) -> None:
    assert "shapes/circle  check failed: exit code 1" in shown.told
    assert "shapes/circle  check (attempt 2) done" in shown.told


def test_what_landed_is_on_main_and_works(shown: Shown) -> None:
    command = [sys.executable, "measure.py", "triangle", "3", "4"]
    done = subprocess.run(command, cwd=shown.place, capture_output=True, text=True, check=True)
    assert done.stdout == "6.0\n"
    merges = [line.partition(" ")[2] for line in shown.log.splitlines() if " Merge " in line]
    assert sorted(merges) == ["Merge cli", "Merge review", "Merge shapes", "Merge slogan", "Merge texts"]


def test_what_landed_passes_its_tests(shown: Shown) -> None:
    command = [sys.executable, "-m", "unittest", "discover", "-q", "-p", "test_*.py"]
    done = subprocess.run(command, cwd=shown.place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_conflict_is_held_and_explained_and_the_line_is_that_of_the_other(shown: Shown) -> None:
    assert "summary cannot be merged into weft/measures/_plan: 1 file in conflict" in shown.told
    assert "weft merge summary" in shown.told
    assert (shown.place / "README.md").read_text() == "# measures\n\nMeasure twice, cut once.\n"


def test_the_journal_gives_the_same_run_again(shown: Shown) -> None:
    command = [sys.executable, "-m", "weft", "-C", str(shown.place), "replay"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "every event of the journal comes out again" in done.stdout
