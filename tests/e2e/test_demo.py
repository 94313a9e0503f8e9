"""`make demo`, as a user runs it, and what it says to type afterwards."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from examples.demo.demo import HERE, environment, surprises

DEMO = [sys.executable, str(HERE / "demo.py")]
SETTLED = 'return f"{value} {source} = {round(result, 2):g} {target}"'


def settle(file: Path) -> None:
    """As a person does who wants both."""
    both = re.sub(r"<<<<<<< .*>>>>>>> \S+", f"    {SETTLED}", file.read_text(), flags=re.DOTALL)
    file.write_text(both)


def test_the_demo_runs_as_described_and_its_command_settles_the_conflict(folder: Path) -> None:
    done = subprocess.run(
        [*DEMO, "--quick"],
        env=os.environ | {"TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "main is green" in done.stdout) == (0, True), done.stdout + done.stderr
    assert "quantities/temperature  test failed: exit code 1" in done.stderr
    assert "quantities/temperature  test (attempt 2) done" in done.stderr
    assert "program/digits cannot be merged into weft/units/program: 1 file in conflict" in done.stderr
    assert re.search(r"manual: .* budget of the plan is used up: \$0\.\d+ of \$0\.40 spent", done.stderr)

    (place,) = folder.iterdir()
    env = environment("http://127.0.0.1:9")  # nobody is asked any more
    merge, commit = re.findall(r"git -C (\S+) (merge \S+|commit)", done.stderr)
    who = ("-c", "user.name=You", "-c", "user.email=you@localhost")
    subprocess.run(
        ["git", *who, "-C", merge[0], *merge[1].split()], env=env, capture_output=True, check=False
    )
    settle(Path(merge[0]) / "units" / "__main__.py")
    subprocess.run(
        ["git", *who, "-C", commit[0], "commit", "--quiet", "--all", "--no-edit"], env=env, check=True
    )
    merged = subprocess.run(
        [sys.executable, "-m", "weft", "-C", place, "merge", "program/digits"],
        env=env,
        capture_output=True,
        check=False,
    )
    assert merged.returncode == 0, merged.stderr
    answer = subprocess.run(
        [sys.executable, "-m", "units", "1", "mi", "km"], cwd=place, capture_output=True, check=True
    )
    assert answer.stdout == b"1 mi = 1.61 km\n"
    assert list(surprises(place, env)) == ["program/digits is not held"], "so the demo would have failed"


def to_all(demo: "subprocess.Popen[str]") -> None:
    """As a terminal does at Ctrl-C."""
    os.killpg(demo.pid, signal.SIGINT)


def to_it_alone(demo: "subprocess.Popen[str]") -> None:
    demo.terminate()


@pytest.mark.parametrize("stop", [to_all, to_it_alone])
def test_who_stops_it_ends_the_run_and_the_models(folder: Path, stop: Callable[..., None]) -> None:
    with subprocess.Popen(
        DEMO,
        env=os.environ | {"TMPDIR": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as demo:
        assert demo.stderr is not None
        while "code started" not in demo.stderr.readline():
            pass
        stop(demo)
        content = demo.stderr.read()
    assert demo.returncode == 130
    assert "Stopped after" in content
