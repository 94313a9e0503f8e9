"""Whichever process is killed, at any time: the run has the same result, and no finished step runs twice."""

import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from msgspec.structs import replace

from e2e.crash_driver import POINTS
from e2e.crashes import Driver, Traces, named, traces, undisturbed
from e2e.projects import Project
from e2e.rich import PLAN
from stored_events import StoredEvent

CHUNKS = 4
FINAL = {"done", "failed"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Traces:
    return undisturbed(tmp_path_factory.mktemp("whole") / "project")


@pytest.fixture
def driver() -> Iterator[Driver]:
    driver = Driver()
    yield driver
    assert driver.close() == ""


def check_losses(project: Project, whole: Traces) -> None:
    """The same end. What was lost with the supervisor was done again, and nothing else; no job ran twice."""
    lines = traces(project)
    assert replace(lines, steps=dict.fromkeys(lines.steps, 1)) == whole
    assert max(Counter(project.marks()).values()) == 1
    finished = project.story().of("step_finished")
    settled = Counter(step_name(item) for item in finished if item.outcome in FINAL)
    assert max(settled.values()) == 1
    lost = Counter(step_name(entry) for entry in finished if entry.outcome == "lost")
    assert [name for name, times in lines.steps.items() if times > 1 + lost[name]] == []


def step_name(event: StoredEvent) -> str:
    return named(event.subplan, event.step, event.attempt)


def is_reached(project: Project) -> bool:
    return (project.outside / "reached").exists()


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("point", ["append.before", "append.after", "send.before", "flush.after"])
def test_the_coordinator_is_killed(
    folder: Path, driver: Driver, whole: Traces, point: str, chunk: int
) -> None:
    for number in count(chunk + 1, CHUNKS):
        project = Project(folder / str(number)).plan(PLAN)
        driver.run(project, "coordinator", point, number)
        project.run()
        assert traces(project) == whole
        project.end()
        if not is_reached(project):
            break


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("victim", ["supervisor", "both"])
def test_the_supervisor_is_killed(
    folder: Path, driver: Driver, whole: Traces, victim: str, chunk: int
) -> None:
    for number in count(chunk + 1, CHUNKS):
        project = Project(folder / str(number)).plan(PLAN)
        driver.run(project, victim, "flush.after", number)
        project.run()
        check_losses(project, whole)
        project.end()
        if not is_reached(project):
            break


@pytest.mark.parametrize("case", range(8))
def test_they_are_killed_again_and_again(folder: Path, driver: Driver, whole: Traces, case: int) -> None:
    seed = os.environ.get("WEFT_SEED") or (
        case if os.environ.get("WEFT_EXAMPLES") == "gate" else random.randrange(10**6)
    )
    sys.stdout.write(f"to do this again: WEFT_SEED={seed}\n")
    chance = random.Random(int(seed))
    project = Project(folder / "project").plan(PLAN)
    for _ in range(chance.randint(2, 4)):
        victim = chance.choice(["coordinator", "supervisor", "both"])
        point = f"{chance.choice([*POINTS, 'any', 'any'])}.{chance.choice(['before', 'after'])}"
        driver.run(project, victim, point, chance.randint(1, 40))
    project.run()
    check_losses(project, whole)
    project.end()


# --- moments that need more than one accident ---

STOPPING = """
infra_retries: 0
subplans:
  - id: a
    steps:
      - {id: x, run: 'test -e OUTSIDE/on && exit; touch OUTSIDE/on; kill -INT $(cat OUTSIDE/pid); sleep 1000'}
"""


def test_what_was_stopped_is_not_lost_if_the_coordinator_dies_before_it_knows(
    folder: Path, driver: Driver
) -> None:
    """The run, its beginning, the workspace, the wish to stop; the fifth would be that the step is stopped."""
    project = Project(folder / "project").plan(STOPPING)
    assert driver.run(project, "coordinator", "append.before", 5) == "killed"
    outcome = project.run()
    assert outcome.state == "completed"
    assert [item.outcome for item in outcome.of("step_finished", "a", "x")] == ["stopped", "done"]
    project.end()


SETUP = """
subplans:
  - {id: a, setup: MARK; echo s > s, steps: [{id: x, run: cat s}]}
"""


def test_what_set_up_a_workspace_is_known_until_it_is_recorded(folder: Path, driver: Driver) -> None:
    """Killed before the setup is accepted, and again when the next coordinator has just started to accept it."""
    project = Project(folder / "project").plan(SETUP)
    assert driver.run(project, "coordinator", "work.before", 2) == "killed"
    assert driver.run(project, "coordinator", "flush.after", 2) == "killed"
    assert project.run().state == "completed"
    assert len(project.marks()) == 1
    project.end()


def test_the_result_of_an_earlier_run_is_not_taken_for_that_of_the_last(folder: Path, driver: Driver) -> None:
    """Killed when all is completed, before the results are brought together."""
    project = Project(folder / "project")
    plan = """
subplans:
  - {id: a, steps: [{id: x, run: echo a > a}]}
  - {id: b, depends_on: [a], steps: [{id: x, run: exit 1}]}
"""
    project.plan(plan)
    assert project.run().state == "failed"
    project.plan(plan.replace("exit 1", "echo b > b"))
    assert driver.run(project, "coordinator", "close.after", 1) == "killed"
    assert project.story().state == "completed"
    assert project.run().state == "completed"
    assert project.result() == {"a": "a\n", "b": "b\n"}
    project.end()
