"""Jobs that stand still: all of their processes do, no time counts for them, and they can be ended as well."""

import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from contracts.host_contract import end_of
from hosts.places import Place, proc, stands_still
from weft.hosts.local import LocalHost
from weft.hosts.supervisor.job import JobRequest, RunningJob
from weft.hosts.supervisor.streams import NEVER
from weft.ports.host import EndReason

pytestmark = pytest.mark.anyio


def pid_of(place: Place, name: str) -> int:
    return int(Path(place.root, name).read_text())


def state(pid: int) -> bytes:
    return proc(pid, "stat").rpartition(b") ")[2][:1]


async def done(place: Place, host: LocalHost, name: str) -> None:
    """All that was asked for before has been done."""
    host.start(place.shell(name, "exit 0"))
    assert (await end_of(host, name)).exit_code == 0


async def test_processes_that_a_job_has_started_are_frozen_too(place: Place, host: LocalHost) -> None:
    """A child, a daemon in a session of its own, and one that has no environment."""
    script = (
        f"sh -c 'echo $$ > {place.root}/child; {place.gate('child')}' & "
        f"setsid sh -c 'echo $$ > {place.root}/daemon; {place.gate('daemon')}' & "
        f"env -i sh -c 'echo $$ > {place.root}/bare; {place.gate('bare')}' & "
        f"echo $$ > {place.root}/shell; {place.gate('a')}"
    )
    host.start(place.shell("a", script))
    for gate in ("child", "daemon", "bare", "a"):
        await place.reached(gate)
    pids = [pid_of(place, name) for name in ("shell", "child", "daemon", "bare")]
    host.freeze("a")
    await done(place, host, "b")
    assert all(stands_still(pid) for pid in pids)
    host.thaw("a")
    await done(place, host, "c")
    assert b"T" not in {state(pid) for pid in pids}
    host.stop("a")
    assert (await end_of(host, "a")).why == EndReason.STOPPED


async def test_the_next_supervisor_hears_what_stands_still(place: Place, host: LocalHost) -> None:
    """It has nothing to freeze, as what ran is lost; but a job that it never heard of waits."""
    host.start(place.shell("a", place.gate("a")))
    await place.reached("a")
    host.freeze("a")
    place.kill()
    assert (await end_of(host, "a")).why == EndReason.LOST
    await done(place, host, "b")


async def test_to_freeze_what_is_being_ended_does_not_hinder_it(place: Place, host: LocalHost) -> None:
    """Nothing is trapped: a shell that is told between opening and reading the gate would read for ever."""
    host.start(place.shell("a", place.gate("a")))
    await place.reached("a")
    host.stop("a")
    host.freeze("a")
    end = await end_of(host, "a")
    assert (end.why, end.signal) == (EndReason.STOPPED, signal.SIGTERM)


async def test_a_job_that_another_program_halted_is_woken_by_a_thaw(place: Place, host: LocalHost) -> None:
    host.start(place.shell("a", f"echo $$ > {place.root}/pid; {place.gate('a')}"))
    await place.reached("a")
    pid = pid_of(place, "pid")
    host.freeze("a")
    os.kill(pid, signal.SIGSTOP)
    host.thaw("a")
    place.release("a")
    assert (await end_of(host, "a")).exit_code == 0


def job(timeout: float | None) -> RunningJob:
    sent: dict[str, object] = {
        "id": "a", "commands": [], "cwd": "/", "env": {}, "stdin": None, "output": "", "timeout": timeout,
        "grace": 1.0,
    }  # fmt: skip
    made = RunningJob(JobRequest(sent, shared={}), 1)
    made.deadline = NEVER if timeout is None else timeout
    return made


@pytest.mark.parametrize("timeout", [None, 1e12])
def test_no_time_counts_while_a_job_stands_still(timeout: float | None) -> None:
    item = job(timeout)
    before = item.deadline
    item.freeze()
    assert (item.is_frozen, item.due) == (True, NEVER)
    item.thaw()
    assert (item.is_frozen, item.deadline >= before) == (False, True)


def silent_job(limit: float | None, *written: float) -> RunningJob:
    """A job that started at 100 and whose streams were last written to at these times."""
    made = job(None)
    made.request.idle_timeout = limit
    made._awake_since = 100.0
    made.streams = [SimpleNamespace(written_at=at, due=NEVER) for at in written]  # type: ignore[misc]
    return made


@pytest.mark.parametrize(
    ("limit", "written", "deadline"),
    [
        (5.0, (0.0, 0.0), 105.0),
        (5.0, (0.0, 120.0), 125.0),
        (5.0, (130.0, 120.0), 135.0),
        (None, (0.0, 0.0), NEVER),
    ],
)
def test_silence_counts_from_the_last_output_of_either_stream(
    limit: float | None, written: tuple[float, ...], deadline: float
) -> None:
    silent = silent_job(limit, *written)
    assert (silent.idle_deadline, silent.due) == (deadline, deadline)


def test_the_silence_of_a_frozen_job_does_not_count() -> None:
    silent = silent_job(5.0, 0.0, 0.0)
    before = time.monotonic()
    silent.freeze()
    assert silent.due == NEVER
    silent.thaw()
    assert silent.idle_deadline >= before + 5.0
