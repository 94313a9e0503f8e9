"""The same by the command line, as a process: exit codes, what is said, signals, pipes."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from e2e.projects import ENVIRON, Project
from e2e.turnstile import Turnstile

WEFT = [sys.executable, "-m", "weft"]
ENV = {**ENVIRON, **{name: value for name, value in os.environ.items() if name.startswith("COVERAGE")}}


def weft(project: Project, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*WEFT, *arguments],
        cwd=project.root,
        env=ENV,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@contextmanager
def started(project: Project, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    command = [*WEFT, *arguments]
    with subprocess.Popen(
        command, cwd=project.root, env=ENV, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


GOOD = "subplans: [{id: a, steps: [{id: x, run: MARK; echo a > a}]}]"


def test_completed_is_0_and_again_does_nothing(project: Project) -> None:
    project.plan(GOOD)
    first = weft(project, "run")
    assert first.returncode == 0
    assert "completed" in first.stderr
    assert weft(project, "run").returncode == 0
    assert len(project.marks()) == 1
    assert weft(project, "run", "--fresh").returncode == 0
    assert len(project.marks()) == 2


def test_failed_is_1_and_the_fixed_part_is_done_again(project: Project) -> None:
    broken = """
subplans:
  - {id: a, steps: [{id: x, run: MARK}]}
  - {id: b, depends_on: [a], steps: [{id: x, run: MARK; exit 3}]}
"""
    project.plan(broken)
    first = weft(project, "run")
    assert first.returncode == 1
    assert "exit code 3" in first.stderr
    project.plan(broken.replace("exit 3", "exit 0"))
    assert weft(project, "run").returncode == 0
    assert [mark.split()[0] for mark in project.marks()] == ["a", "b", "b"]


def test_an_invalid_plan_is_2(project: Project) -> None:
    project.plan("subplans: [{id: a, steps: [{id: x, rum: y}]}]")
    assert weft(project, "run").returncode == 2


def test_an_open_question_is_4_and_its_answer_continues(project: Project) -> None:
    project.plan("subplans: [{id: a, steps: [{id: ok, action: ask, question: Really?}, {id: x, run: MARK}]}]")
    asked = weft(project, "run", "--no-wait")
    assert asked.returncode == 4
    assert "Really?" in asked.stderr
    assert weft(project, "answer", "a", "yes").returncode == 0
    assert weft(project, "run", "--no-wait").returncode == 0
    assert len(project.marks()) == 1


def test_a_second_one_gets_the_name_of_the_first(project: Project) -> None:
    with Turnstile(project.outside / "t") as turnstile:
        project.plan(
            "subplans: [{id: a, steps: "
            f"[{{id: x, run: '{turnstile.enter}; until test -e OUTSIDE/on; do sleep 0.02; done'}}]}}]"
        )
        with started(project, "run") as first:
            turnstile.wait()
            second = weft(project, "run")
            (project.outside / "on").touch()
            assert first.wait() == 0
    assert second.returncode == 1
    assert f"process {first.pid}" in second.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_with_130_and_it_continues(project: Project, number: signal.Signals) -> None:
    with Turnstile(project.outside / "t") as turnstile:
        project.plan(
            "subplans: [{id: a, steps: "
            f"[{{id: x, run: '{turnstile.enter}; test -e OUTSIDE/on || sleep 1000'}}]}}]"
        )
        with started(project, "run") as process:
            turnstile.wait()
            process.send_signal(number)
            assert process.wait() == 130
        assert project.processes() == []
        (project.outside / "on").touch()
        assert weft(project, "run").returncode == 0
    assert turnstile.entered == 2


def test_kill_9_and_again_continues_where_it_was(project: Project) -> None:
    with Turnstile(project.outside / "t") as turnstile:
        project.plan(f"""
subplans:
  - id: a
    steps:
      - {{id: x, run: MARK}}
      - {{id: y, run: '{turnstile.enter}; until test -e OUTSIDE/on; do sleep 0.02; done; MARK'}}
""")
        with started(project, "run") as process:
            turnstile.wait()
            process.kill()
            process.wait()
        (project.outside / "on").touch()
        again = weft(project, "run")
    assert again.returncode == 0
    assert "resumes" in again.stderr
    assert [mark.split()[1] for mark in project.marks()] == ["x", "y"]
    assert turnstile.entered == 1


def test_a_run_within_a_step_is_refused(project: Project) -> None:
    inner = " ".join(WEFT)
    project.plan(
        f"subplans: [{{id: a, steps: [{{id: x, run: '{inner} -C {project.root} run 2> OUTSIDE/said'}}]}}]"
    )
    assert weft(project, "run").returncode == 1
    assert "`weft run` is refused inside a step of a" in " ".join(project.lines("said"))


def test_events_are_lines_of_json(project: Project) -> None:
    project.plan(GOOD)
    messages = weft(project, "run", "--json").stdout
    lines = messages.splitlines()
    assert [json.loads(line)["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert weft(project, "events", "--json").stdout == messages


def test_what_was_recorded_is_what_the_engine_derives(project: Project) -> None:
    project.plan(GOOD)
    weft(project, "run")
    assert weft(project, "replay").returncode == 0
