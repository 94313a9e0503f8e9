"""Whichever process dies: no job runs twice or is forgotten, no process is left, no other program is harmed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace

from contracts.host_contract import end_of, ends
from hosts.places import AS_TESTED, Place, is_alive, start_time
from weft.errors import WeftError
from weft.hosts import reach
from weft.ports.host import EndReason, Host, JobEnded, Running

pytestmark = pytest.mark.anyio


async def lost(host: Host) -> list[str]:
    """What is known as lost from the beginning."""
    file = await host.open()
    return [job.id for job in file.values() if isinstance(job, JobEnded) and job.why == EndReason.LOST]


# --- the supervisor dies ---


async def test_what_a_dead_supervisor_left_is_ended(place: Place) -> None:
    host = place.host()
    await host.open()
    daemon = f"(setsid /bin/sh -c 'trap \"\" TERM; {place.gate('d')}' >/dev/null 2>&1 &)"
    host.start(place.shell("a", f"{daemon}; {place.gate('a')}"))
    await place.reached("d")
    await place.reached("a")
    assert len(place.processes()) == 2
    place.kill()
    end = await end_of(host, "a")
    assert (end.why, end.message) == (EndReason.LOST, "the supervisor died while it ran")
    assert place.processes() == []


async def test_a_daemon_without_environment_is_found_even_then(place: Place) -> None:
    host = place.host()
    await host.open()
    script = f"echo $$ > {place.root}/d.pid; {place.gate('d')}"
    host.start(
        place.shell("a", f"(env -i setsid /bin/sh -c '{script}' >/dev/null 2>&1 &); {place.gate('a')}")
    )
    await place.reached("d")
    await place.reached("a")
    place.kill()
    await end_of(host, "a")
    assert not is_alive(int((place.root / "d.pid").read_text()))


async def test_a_job_of_which_nothing_but_its_session_is_left_is_found_even_then(place: Place) -> None:
    host = place.host()
    await host.open()
    script = f"echo $$ > {place.root}/a.pid; {place.gate('a')}"
    unmark = "env -i prlimit --locks=unlimited:unlimited"
    host.start(place.shell("a", f"exec {unmark} /bin/sh -c '{script}'"))
    await place.reached("a")
    # The session is recorded after the process has started; when the next job has ended, it is.
    host.start(place.shell("fence", "exit 0"))
    await end_of(host, "fence")
    place.kill()
    await end_of(host, "a")
    assert not is_alive(int((place.root / "a.pid").read_text()))


async def test_what_was_asked_for_after_its_death_is_done_by_the_next(place: Place) -> None:
    host = place.host()
    await host.open()
    place.kill()
    host.start(place.shell("a", "echo done"))
    host.start(place.shell("b", place.gate("b")))
    host.stop("b", grace=0.0)
    end_events = await ends(host, 2)
    assert (end_events["a"].stdout, end_events["b"].why) == ("done\n", EndReason.STOPPED)


async def test_the_next_hears_what_jobs_share_as_well(place: Place) -> None:
    host = place.host()
    await host.open()
    job = replace(place.shell("a", 'echo "$A"'), shared={"A": "shared"})
    host.start(job)
    assert (await end_of(host, "a")).stdout == "shared\n"
    place.kill()
    host.start(replace(job, id="b"))
    assert (await end_of(host, "b")).stdout == "shared\n"
    await host.close()


async def test_jobs_may_be_handed_over_before_there_is_anybody(place: Place) -> None:
    host = place.host()
    host.start(place.shell("a", "echo done"))
    assert await host.open() == {}
    assert (await end_of(host, "a")).stdout == "done\n"


async def test_a_connection_that_breaks_is_made_again(place: Place) -> None:
    host = place.host()
    await host.open()
    host.start(place.shell("a", place.gate("a")))
    await place.reached("a")
    (supervisor,) = place.supervisors()
    assert host._link is not None
    host._link._transport.abort()
    host.start(place.shell("b", "exit 0"))
    assert (await end_of(host, "b")).exit_code == 0
    place.release("a")
    assert (await end_of(host, "a")).exit_code == 0
    assert place.supervisors() == [supervisor]


async def test_ends_that_were_received_are_not_sent_again_by_the_next_supervisor(place: Place) -> None:
    host = place.host()
    await host.open()
    host.start(place.shell("a", "exit 0"))
    await end_of(host, "a")
    place.kill()
    host.start(place.shell("b", "exit 0"))
    await end_of(host, "b")


async def test_a_job_that_was_taken_over_is_lost_if_the_next_has_no_record_of_it(place: Place) -> None:
    first = place.host()
    await first.open()
    first.start(place.shell("a", place.gate("a")))
    await place.reached("a")
    await first.close()
    second = place.host()
    assert isinstance((await second.open())["a"], Running)
    (place.directory / "log").unlink()
    processes = place.processes()
    place.kill()
    assert (await end_of(second, "a")).message == "the supervisor has no record of it"
    for pid in processes:
        os.kill(pid, signal.SIGKILL)


async def test_if_no_other_can_be_started_that_is_said(place: Place) -> None:
    script = place.root / "program"
    script.write_text(f'#!/bin/sh\nexec {" ".join(AS_TESTED)} "$@"\n')
    script.chmod(0o755)
    host = place.host(program=(str(script),))
    await host.open()
    script.write_text("#!/bin/sh\necho out of order >&2\nexit 1\n")
    place.kill()
    with pytest.raises(WeftError, match=r"cannot start the supervisor in .*/host: out of order"):
        await ends(host, 1)


async def test_a_supervisor_that_cannot_be_started_and_says_nothing_is_an_error(place: Place) -> None:
    with pytest.raises(WeftError, match=r"cannot start the supervisor in .*/host: exit code 1"):
        await place.host(program=("/bin/false",)).open()


async def test_a_supervisor_that_dies_at_every_greeting_is_an_error(place: Place) -> None:
    with pytest.raises(WeftError, match="the supervisor keeps dying"):
        await place.host(program=impostor("goes")).open()


async def test_a_supervisor_of_another_machine_is_an_error(place: Place) -> None:
    with pytest.raises(WeftError, match="runs on another machine or in another container"):
        await place.host(program=impostor("lies")).open()


async def test_to_come_may_be_given_up(place: Place) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(place.host(program=impostor("stays")).open)
        asked = f"until [ -e {place.directory}/asked ]; do sleep 0.01; done"
        await anyio.run_process(["sh", "-c", asked])
        tasks.cancel_scope.cancel()


async def test_a_supervisor_that_is_halted_is_not_taken_for_dead(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    await place.host().open()
    (supervisor,) = place.supervisors()
    os.kill(supervisor, signal.SIGSTOP)
    monkeypatch.setattr(reach, "_PATIENCE", 0.1)
    with pytest.raises(WeftError, match="is running but does not answer"):
        await place.host().open()
    os.kill(supervisor, signal.SIGCONT)


def impostor(does: str) -> list[str]:
    return [sys.executable, str(Path(__file__).with_name("impostor.py")), does]


# --- the coordinator dies ---

COORDINATOR = """
import sys, anyio
from contextlib import suppress
from pathlib import Path
from hosts.places import Place

async def main():
    place = Place(Path(sys.argv[1]))
    host = place.host()
    await host.open()
    host.start(place.shell("a", place.gate("a") + "; echo done"))
    await anyio.sleep_forever()

anyio.run(main)
"""


@pytest.fixture
def coordinator(place: Place) -> Iterator["subprocess.Popen[bytes]"]:
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    place.gate("a")
    with subprocess.Popen([sys.executable, "-c", COORDINATOR, str(place.root)], env=env) as process:
        yield process
        process.kill()


async def test_a_killed_coordinator_s_jobs_continue(
    place: Place, coordinator: "subprocess.Popen[bytes]"
) -> None:
    await place.reached("a")
    coordinator.kill()
    coordinator.wait()
    host = place.host()
    file = await host.open()
    assert isinstance(file["a"], Running)
    assert is_alive(file["a"].pid)
    place.release("a")
    assert (await end_of(host, "a")).stdout == "done\n"


async def test_after_the_death_of_both_the_job_is_lost(
    place: Place, coordinator: "subprocess.Popen[bytes]"
) -> None:
    await place.reached("a")
    coordinator.kill()
    place.kill()
    assert await lost(place.host()) == ["a"]
    assert place.processes() == []


async def test_the_newest_coordinator_is_the_one(place: Place) -> None:
    first = place.host()
    await first.open()
    first.start(place.shell("a", place.gate("a")))
    await place.reached("a")
    second = place.host()
    await second.open()
    with pytest.raises(WeftError, match="another coordinator has taken over"):
        await ends(first, 1)
    place.release("a")
    assert (await end_of(second, "a")).exit_code == 0
    assert len(place.supervisors()) == 1


async def test_several_that_come_at_the_same_time_find_one_supervisor(place: Place) -> None:
    async def come() -> None:
        with suppress(WeftError):  # unless it is the last
            await place.host().open()

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(come)
    assert len(place.supervisors()) == 1


# --- others are not hurt ---

THIS_LIFE = Path("/proc/sys/kernel/random/boot_id").read_text().strip()


@pytest.fixture
def stranger() -> Iterator["subprocess.Popen[bytes]"]:
    """A process in a session of its own."""
    with subprocess.Popen(["sleep", "3600"], start_new_session=True) as process:
        yield process
        process.kill()


def write_log(place: Place, pid: int, started: int, *, life: str) -> None:
    place.directory.mkdir()
    records: list[dict[str, object]] = [
        {"supervisor": 1, "started": 1, "boot": life},
        {"start": "a", "mark": 1, "at": 1.0},
        {"run": "a", "pid": pid, "started": started},
    ]
    (place.directory / "log").write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.mark.parametrize("later", [0, 1])
async def test_a_process_of_a_dead_supervisor_is_known_as_it_had_started_when_that_was_recorded(
    place: Place, stranger: "subprocess.Popen[bytes]", later: int
) -> None:
    write_log(place, stranger.pid, start_time(stranger.pid) + later, life=THIS_LIFE)
    assert await lost(place.host()) == ["a"]
    assert stranger.wait() == -signal.SIGTERM


async def test_a_process_that_got_the_same_pid_later_is_let_alone(
    place: Place, stranger: "subprocess.Popen[bytes]"
) -> None:
    write_log(place, stranger.pid, start_time(stranger.pid) - 1, life=THIS_LIFE)
    assert await lost(place.host()) == ["a"]
    assert stranger.poll() is None


async def test_pids_from_before_the_machine_was_started_mean_nothing(
    place: Place, stranger: "subprocess.Popen[bytes]"
) -> None:
    write_log(place, stranger.pid, start_time(stranger.pid), life="another life")
    assert await lost(place.host()) == ["a"]
    assert stranger.poll() is None


async def test_a_job_of_the_same_name_elsewhere_is_let_alone(place: Place, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    other = Place(tmp_path / "elsewhere")
    host = other.host()
    await host.open()
    host.start(other.shell("a", other.gate("a")))
    await other.reached("a")
    write_log(place, 1, 1, life=THIS_LIFE)
    assert await lost(place.host()) == ["a"]
    other.release("a")
    assert (await end_of(host, "a")).why == EndReason.EXITED
    await other.leave()
