"""Which step a process is part of, seen from its ancestors."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from subprocess import PIPE

import anyio.to_thread
import pytest

from hosts.places import ENV, Place
from weft.hosts.ancestry import EnclosingStep, find_enclosing_steps
from weft.hosts.reach import PROGRAM
from weft.hosts.supervisor.processes import FIRST_MARK
from weft.ports.host import Job

pytestmark = pytest.mark.anyio

WAITS = "sh -c 'echo $$ > pid; read _ < x.gate; true'"


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    (tmp_path / "r").mkdir()
    place = Place(tmp_path / "r")
    yield place
    await place.leave()


async def enclosing(place: Place, script: str) -> EnclosingStep:
    """The step of the process that waits at the gate, as the job with this script has started it."""
    host = place.host(program=PROGRAM)
    await host.open()
    place.gate("x")
    os.mkfifo(place.root / "never")
    env = ENV | {"WEFT_RUN": "r", "WEFT_SUBPLAN": "store/model"}
    host.start(
        Job(
            id="r.7.1",
            commands=(("/bin/sh", "-c", script),),
            cwd=str(place.root),
            env=env,
            output="out",
            timeout=3600,
            grace=0,
        )
    )
    await place.reached("x")
    pid = int((place.root / "pid").read_text())
    (step,) = await anyio.to_thread.run_sync(find_enclosing_steps, pid)
    return step


@pytest.mark.parametrize(
    "script",
    [
        WAITS,
        f"env WEFT_SUBPLAN=other WEFT_RUN=q {WAITS}; true",
        f"env -i {WAITS}; true",
        f"setsid -w env -i {WAITS}; true",
    ],
)
async def test_the_process_next_to_the_supervisor_says_which_step_it_is(place: Place, script: str) -> None:
    step = await enclosing(place, script)
    assert (step.host, step.run, step.subplan, step.job) == (place.directory, "r", "store/model", "r.7.1")


@pytest.mark.parametrize("script", [f"exec env -i {WAITS}", f"(setsid env -i {WAITS} &); read _ < never"])
async def test_without_any_variables_the_supervisor_says_it(place: Place, script: str) -> None:
    step = await enclosing(place, script)
    assert (step.host, step.run, step.subplan, step.job) == (place.directory, "r", None, "r.7.1")


async def test_a_step_started_when_its_first_process_did(place: Place) -> None:
    made = place.root.stat().st_ctime
    step = await enclosing(place, f"{WAITS}; true")
    assert made - 1 <= step.started_at <= (place.root / "pid").stat().st_ctime + 1


def test_where_the_supervisor_cannot_be_seen_the_variables_decide(tmp_path: Path) -> None:
    env = ENV | {"WEFT_HOST": str(tmp_path), "WEFT_JOB": "q.1.1", "WEFT_RUN": "q", "WEFT_SUBPLAN": ""}
    with subprocess.Popen(["sh", "-c", "echo; read _"], env=env, stdin=PIPE, stdout=PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        (step,) = find_enclosing_steps(process.pid)
        process.communicate(b"\n")
    assert (step.host, step.run, step.subplan, step.job) == (tmp_path, "q", "", "q.1.1")


def test_where_nothing_else_is_left_the_mark_decides() -> None:
    marked = (
        f"import resource; resource.setrlimit(10, ({FIRST_MARK + 7}, resource.getrlimit(10)[1])); "
        "print(flush=True); input()"
    )
    with subprocess.Popen([sys.executable, "-c", marked], stdin=PIPE, stdout=PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        steps = find_enclosing_steps(process.pid)
        process.communicate(b"\n")
    assert steps == [EnclosingStep()]


@pytest.mark.parametrize("pid", [0, 1])
def test_a_process_outside_of_steps_has_none(pid: int) -> None:
    assert find_enclosing_steps(pid) == []
