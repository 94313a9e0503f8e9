"""`weft events`: what has happened, for people and programs, and what happens next; and what all readers share."""

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from cli.running import WEFT, Project

TWO = """
subplans:
  - {id: a, steps: [{id: work, run: "true"}]}
  - {id: b, depends_on: [a], steps: [{id: work, run: "true"}]}
"""
GATED = """
subplans:
  - {id: a, steps: [{id: work, run: "GATE x"}]}
  - {id: b, depends_on: [a], steps: [{id: work, run: "true"}]}
"""


class Ran(Project):
    """A project in which a plan has been run twice."""

    said: str
    """The second time."""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    project = Ran(tmp_path_factory.mktemp("ran") / "project")
    project.plan(TWO).weft("run")
    project.said = project.weft("run", "--fresh").stderr
    yield project
    project.end()


READERS = pytest.mark.parametrize("command", [["events"], ["logs", "a"], ["answer"], ["replay"]])


def test_each_thing_that_happened_is_a_line(ran: Ran) -> None:
    shown = ran.weft("events")
    assert (shown.exit_code, shown.stderr) == (0, "")
    lines = [line for line in ran.said.splitlines(keepends=True) if line[2:3] == ":"]
    assert shown.stdout == "".join(lines)


def test_after_a_number_come_only_those_with_a_higher_one(ran: Ran) -> None:
    every = [json.loads(line) for line in ran.weft("events", "--json").stdout.splitlines()]
    fifth = every[4]["seq"]
    later = ran.weft("events", "--json", "--after", str(fifth)).stdout.splitlines()
    assert [json.loads(line) for line in later] == every[5:]
    assert [event["seq"] for event in every] == list(range(every[0]["seq"], every[-1]["seq"] + 1))
    assert ran.weft("events").stdout.endswith(ran.weft("events", "--after", str(fifth)).stdout)
    assert ran.weft("events", "--after", str(every[-1]["seq"])).stdout == ""


def test_an_earlier_run_can_be_named(ran: Ran) -> None:
    first, last = ran.runs()
    assert f"run {first} started" in ran.weft("events", "--run", first).stdout
    assert f"run {last} started" in ran.weft("events").stdout
    assert json.loads(ran.weft("events", "--json", "--run", first).stdout.splitlines()[0])["run"] == first


def test_following_shows_everything_and_ends_with_the_run(project: Project) -> None:
    run = project.plan(GATED).start("run")
    project.reached()
    follows = project.start("events", "-f", "--json")
    assert follows.stdout is not None
    first = next(line for line in follows.stdout if '"step_started"' in line)
    project.let_through()
    last = follows.communicate()[0].splitlines()[-1]
    assert json.loads(first)["subplan"] == "a"
    assert json.loads(last)["event"] == "run_finished"
    assert follows.returncode == 0
    run.communicate()


def test_following_continues_under_a_new_coordinator(project: Project) -> None:
    run = project.plan(GATED).start("run")
    project.reached()
    follows = project.start("events", "-f")
    run.kill()
    run.communicate()
    assert follows.stderr is not None
    assert follows.stderr.readline() == "the run is not active; to resume it, type: weft run\n"
    project.let_through()
    assert project.weft("run", "-q").exit_code == 0
    message, more = follows.communicate()
    events = project.told(message)
    assert events[-1] == "tried  completed after N s"
    assert "tried  resumes after an interruption" in "\n".join(events)
    assert (follows.returncode, more) == (0, "")


def test_a_stopped_run_is_over_for_now(project: Project) -> None:
    run = project.plan(GATED).start("run")
    project.reached()
    follows = project.start("events", "-f")
    assert follows.stdout is not None
    follows.stdout.readline()
    run.terminate()
    run.communicate()
    assert project.told(follows.communicate()[0])[-1] == "tried  stopped after N s"


def test_in_a_directory_of_the_project_it_is_the_same(ran: Ran, tmp_path: Path) -> None:
    inner = ran.root / "src" / "deep"
    inner.mkdir(parents=True)
    assert ran.weft("-C", str(inner), "events").stdout == ran.weft("events").stdout


@READERS
def test_where_nothing_has_been_run_that_is_reported(project: Project, command: Sequence[str]) -> None:
    done = project.weft(*command)
    assert (done.exit_code, done.stdout) == (2, "")
    message = "error: nothing has been run in PROJECT yet; to write a plan, type: weft init"
    assert project.told(done.stderr) == [message]
    assert not (project.root / ".weft").exists()


@READERS
def test_a_run_that_is_not_there_is_reported_with_the_nearest(ran: Ran, command: Sequence[str]) -> None:
    _, last = ran.runs()
    done = ran.weft(*command, "--run", f"{last[:-1]}x")
    assert (done.exit_code, done.stderr) == (
        2,
        f"error: there is no run '{last[:-1]}x'; did you mean {last}?\n",
    )
    done = ran.weft(*command, "--run", "yesterday")
    assert (done.exit_code, done.stderr) == (
        2,
        f"error: there is no run 'yesterday'; the last one is {last}\n",
    )


def test_in_a_directory_that_has_been_deleted_that_is_reported(project: Project) -> None:
    gone = project.root / "gone"
    gone.mkdir()
    script = f"rmdir {gone}; exec {WEFT} events"
    done = subprocess.run(
        ["/bin/sh", "-c", script], cwd=gone, env=project.env, capture_output=True, text=True, check=False
    )
    message = "error: the current directory has been deleted; change to another one\n"
    assert (done.returncode, done.stderr) == (2, message)


@pytest.mark.parametrize("command", [["events"], ["logs", "/"], ["logs", "/", "--json"]])
def test_when_the_reader_has_gone_it_ends_quietly(ran: Ran, command: Sequence[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [WEFT, *command], cwd=ran.root, env=ran.env, stdout=writer, stderr=writer, check=False
    )
    os.close(writer)
    assert done.returncode == 141


def test_runs_are_completed(ran: Ran) -> None:
    first, last = ran.runs()
    words = {"_WEFT_COMPLETE": "bash_complete", "COMP_WORDS": "weft events --run 2", "COMP_CWORD": "3"}
    assert ran.process(env=words).stdout == f"plain,{last}\nplain,{first}\n"
