"""The life of a supervisor: what it needs, what it keeps, when it goes."""

import json
import os
import resource
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import msgspec
import pytest
from msgspec.structs import replace

from contracts.host_contract import end_of, ends
from hosts.places import AS_TESTED, LONG, Place, proc, with_fault
from weft.errors import WeftError
from weft.hosts.local import LocalHost
from weft.hosts.reach import PROGRAM
from weft.ports.host import EndReason, JobEnded

pytestmark = pytest.mark.anyio


async def test_an_idle_supervisor_ends_and_leaves_no_socket(place: Place) -> None:
    host = place.host()
    await host.open()
    await host.close()
    await anyio.to_thread.run_sync(place.wait)
    assert sorted(path.name for path in place.directory.iterdir()) == ["lock", "log", "supervisor.log"]
    assert (place.directory / "supervisor.log").read_text() == ""


async def test_it_stays_as_long_as_a_job_runs(place: Place) -> None:
    host = place.host()
    await host.open()
    host.start(place.shell("a", place.gate("a")))
    await place.reached("a")
    await host.close()
    place.release("a")
    await anyio.to_thread.run_sync(place.wait)
    (end,) = (await place.host().open()).values()
    assert isinstance(end, JobEnded)
    assert end.exit_code == 0


async def test_a_supervisor_that_is_asked_to_end_ends_its_jobs_and_reports_them(place: Place) -> None:
    host = place.host()
    await host.open()
    host.start(place.shell("a", place.gate("a")))
    await place.reached("a")
    (supervisor,) = place.supervisors()
    os.kill(supervisor, signal.SIGTERM)
    assert (await end_of(host, "a")).why == EndReason.STOPPED
    host.start(place.shell("b", "exit 0"))
    assert (await end_of(host, "b")).why == EndReason.EXITED
    assert place.supervisors() != [supervisor]


async def test_asked_to_end_it_does_not_linger(place: Place) -> None:
    host = place.host(linger=3_600.0)
    await host.open()
    (supervisor,) = place.supervisors()
    await host.close()
    os.kill(supervisor, signal.SIGTERM)
    await anyio.to_thread.run_sync(place.wait)
    assert place.supervisors() == []


async def test_without_a_client_ends_are_synced_and_retried_if_that_fails(
    place: Place, tmp_path: Path
) -> None:
    tried = tmp_path / "tried"
    host = place.host(program=with_fault(f"EROFS:1:{tried}"))
    await host.open()
    host.start(place.shell("a", place.gate("a")))
    await place.reached("a")
    await host.close()
    place.release("a")
    await anyio.to_thread.run_sync(place.wait)
    assert tried.exists()
    complaint = (place.directory / "supervisor.log").read_text()
    assert "cannot bring the log to the disk: read-only file system" in complaint.lower()
    (end,) = (await place.host().open()).values()
    assert isinstance(end, JobEnded)


async def test_signals_of_a_terminal_do_not_end_it(place: Place) -> None:
    host = place.host()
    await host.open()
    (supervisor,) = place.supervisors()
    os.kill(supervisor, signal.SIGINT)
    os.kill(supervisor, signal.SIGHUP)
    host.start(place.shell("a", "exit 0"))
    assert (await end_of(host, "a")).exit_code == 0
    assert place.supervisors() == [supervisor]


async def test_it_is_for_the_user_only(place: Place) -> None:
    await place.host().open()
    assert stat.S_IMODE(place.directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((place.directory / "socket").stat().st_mode) == 0o600


async def test_it_keeps_nothing_of_the_process_that_started_it(place: Place) -> None:
    await place.host().open()
    (supervisor,) = place.supervisors()
    process = Path(f"/proc/{supervisor}")
    assert [str((process / "fd" / name).readlink()) for name in "01"] == ["/dev/null", "/dev/null"]
    assert (process / "fd" / "2").readlink() == place.directory / "supervisor.log"
    assert (process / "cwd").readlink() == Path("/")
    assert os.getsid(supervisor) != os.getsid(0)
    status = dict(line.split(b":\t", 1) for line in proc(supervisor, "status").splitlines())
    assert int(status[b"PPid"]) != os.getpid()


async def test_a_directory_may_have_a_very_long_name(place: Place) -> None:
    place.directory = place.root / ("x" * 200) / "host"
    host = place.host()
    await host.open()
    host.start(place.shell("a", "exit 0"))
    assert (await end_of(host, "a")).exit_code == 0


async def test_what_it_is_asked_for_may_make_no_sense(place: Place) -> None:
    host = place.host()
    await host.open()
    assert host._link is not None
    host._link.send({"start": 3})
    host._link.send({"start": {"id": "b"}, "shared": 7})
    host._link.send({"stop": "a"})
    host._link.send({"stop": "nobody", "grace": None})
    host.start(place.shell("a", "exit 0"))
    assert (await end_of(host, "a")).exit_code == 0
    assert (place.directory / "supervisor.log").read_text().count("cannot understand a request") == 3


def connect(place: Place) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(place.directory / "socket"))
    return connection


async def test_who_reads_slowly_hears_everything(place: Place) -> None:
    host = place.host()
    await host.open()
    for number in range(100):
        host.start(place.shell(f"j{number}", "head -c 4096 /dev/zero | tr '\\0' x"))
    await ends(host, 100)
    with connect(place) as connection:
        message = json.dumps({"start": msgspec.to_builtins(place.shell("last", "exit 0")), "shared": 0})
        connection.sendall(f'{{"list":true}}\n{{"share":{{}}}}\n{message}\n'.encode())
        await anyio.to_thread.run_sync(until_it_says, place, "log", '"ended":{"id":"last"')
        with connection.makefile() as lines:
            hello, values, ended = (lines.readline() for _ in range(3))
    assert ["hello" in hello, len(json.loads(values)["ended"]), "last" in ended] == [True, 100, True]


async def test_who_goes_without_having_listened_is_no_trouble(place: Place) -> None:
    host = place.host()
    await host.open()
    host.start(place.shell("a", place.gate("a")))
    await place.reached("a")
    await host.close()
    with connect(place) as connection:
        assert b"hello" in connection.recv(1000)
        connection.sendall(b'{"list":true}\n')
        connection.recv(1, socket.MSG_PEEK)
    again = place.host()
    await again.open()
    place.release("a")
    assert (await end_of(again, "a")).exit_code == 0


async def test_its_own_log_stays_small(place: Place) -> None:
    place.directory.mkdir()
    (place.directory / "supervisor.log").write_bytes(b"x" * 2_000_000)
    await place.host().open()
    assert (place.directory / "supervisor.log").stat().st_size == 0


async def test_large_requests_and_many_ends_go_through(place: Place) -> None:
    host = place.host()
    await host.open()
    for number in range(30):
        host.start(replace(place.shell(str(number), "wc -c; head -c 4000 /dev/zero"), stdin="x" * 300_000))
    end_events = await ends(host, 30)
    assert {end.stdout[:7] for end in end_events.values() if end.stdout} == {"300000\n"}
    await host.close()
    assert await place.host().open() == end_events


def descriptors(pid: int) -> list[str]:
    return sorted(path.name for path in Path(f"/proc/{pid}/fd").iterdir())


async def test_descriptors_are_as_before_when_jobs_are_over(place: Place) -> None:
    host = place.host()
    await host.open()
    (supervisor,) = place.supervisors()
    before = descriptors(supervisor)
    for number in range(20):
        host.start(place.shell(str(number), "echo x; echo y >&2", "no-such-thing"))
    await ends(host, 20)
    assert descriptors(supervisor) == before


async def test_the_heartbeat_names_the_supervisor_and_its_running_jobs(place: Place) -> None:
    host = place.host()
    await host.open()
    host.start(place.shell("a", place.gate("a")))
    await place.reached("a")
    beat = place.directory / "heartbeat.json"
    script = f"until grep -q '\"a\":' {beat}; do sleep 0.01; done; cat {beat}"
    host.start(place.shell("b", script))
    end = await end_of(host, "b")
    assert f'"pid":{place.supervisors()[0]},' in str(end.stdout)


async def test_damaged_files_beside_the_log_do_no_harm(place: Place) -> None:
    place.directory.mkdir()
    for name in ("heartbeat.json", "socket", "lock"):
        (place.directory / name).write_bytes(b"\0\xff{")
    (place.directory / "log").write_bytes(
        b'\0\n[]\n3\n{"run":"x","pid":1,"started":1}\n{"ended":{}}\n{"start":"a","ma'
    )
    host = place.host()
    assert await host.open() == {}
    host.start(place.shell("a", "exit 0"))
    assert (await end_of(host, "a")).exit_code == 0


def test_it_loads_little() -> None:
    program = PROGRAM[-1]
    code = f"""
import sys
try:
    exec(open({program!r}).read(), dict(__file__={program!r}))
except ValueError:  # there are no arguments
    print(*sys.modules)
"""
    command = [sys.executable, "-I", "-S", "-c", code]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    heavy = {
        "weft.errors",
        "msgspec",
        "typing",
        "pathlib",
        "dataclasses",
        "subprocess",
        "asyncio",
        "argparse",
        "ctypes",
        "threading",
    }
    assert heavy.isdisjoint(loaded)
    assert "weft.hosts.supervisor.serve" in loaded


@contextmanager
def without_descriptors(pid: int) -> Iterator[None]:
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


async def test_without_descriptors_no_job_is_started_and_no_client_accepted_until_there_are_some(
    place: Place,
) -> None:
    host, second = place.host(), place.host()
    await host.open()
    host.start(place.shell("a", f"(sleep {LONG} &); {place.gate('a')}"))
    await place.reached("a")
    async with anyio.create_task_group() as tasks:
        with without_descriptors(place.supervisors()[0]):
            place.release("a")
            host.start(place.shell("b", "exit 0"))
            end = await end_of(host, "b")
            tasks.start_soon(second.open)
            await anyio.to_thread.run_sync(
                until_it_says, place, "supervisor.log", "cannot accept a connection"
            )
    assert (end.why, end.message) == (
        EndReason.NOT_STARTED,
        "the supervisor lacks resources to start it: too many open files",
    )
    await anyio.to_thread.run_sync(until_it_says, place, "log", '"id":"a"')
    assert place.processes() == []
    values = (await place.host().open())["a"]
    assert isinstance(values, JobEnded)
    assert (values.why, values.exit_code, values.leftovers) == (EndReason.EXITED, 0, 0)


def until_it_says(place: Place, file: str, text: str) -> None:
    script = f"until grep -q '{text}' {place.directory / file}; do sleep 0.01; done"
    subprocess.run(["sh", "-c", script], check=True)


def counting(starts: Path) -> tuple[str, ...]:
    """The program, with a line in a file for each time that it is started."""
    return ("/bin/sh", "-c", 'echo >> "$0"; exec "$@"', str(starts), *AS_TESTED)


async def test_one_that_was_prepared_is_the_one_that_is_used(place: Place, tmp_path: Path) -> None:
    host = place.host(program=counting(tmp_path / "starts"), linger=LONG)
    await anyio.to_thread.run_sync(host.prepare)
    assert await host.open() == {}
    assert (tmp_path / "starts").read_text() == "\n"
    assert len(place.supervisors()) == 1


async def test_to_prepare_one_where_one_is_alive_changes_nothing(place: Place) -> None:
    await place.host(linger=LONG).open()
    alive = place.supervisors()
    second = place.host()
    await anyio.to_thread.run_sync(second.prepare)
    await second.open()
    assert place.supervisors() == alive


async def test_one_that_was_prepared_and_has_gone_before_it_was_needed_is_replaced(place: Place) -> None:
    host = place.host(linger=LONG)
    await anyio.to_thread.run_sync(host.prepare)
    await anyio.to_thread.run_sync(until_it_listens, place)
    place.kill()
    place.wait()
    assert await host.open() == {}
    assert len(place.supervisors()) == 1


def until_it_listens(place: Place) -> None:
    subprocess.run(
        ["sh", "-c", f"until grep -q supervisor {place.directory}/log; do sleep 0.01; done"], check=True
    )


def test_to_prepare_one_in_a_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WeftError, match=r"cannot make the directory .*/file/host: Not a directory"):
        LocalHost(tmp_path / "file" / "host", tmp_path).prepare()


async def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WeftError, match=r"cannot make the directory .*/file/host: Not a directory"):
        await LocalHost(tmp_path / "file" / "host", tmp_path).open()
