"""What can be seen of supervisors and steps from outside."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hosts.places import start_time
from weft.errors import WeftError
from weft.hosts import leftovers
from weft.hosts.leftovers import (
    clean_up,
    command_of,
    end_orphans,
    find_step_processes,
    find_supervisors,
    is_halted,
)
from weft.hosts.supervisor.log import boot

CAN_CHANGE_ROOT = (
    shutil.which("unshare")
    and not subprocess.run(
        ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False
    ).returncode
)
WAITS = [sys.executable, "-I", "-S", "-c", "print(flush=True); input()"]


@contextmanager
def started(*argv: str, **env: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that has said something, and waits until it is killed."""
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, env={"PATH": os.environ["PATH"], **env}, stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        try:
            process.stdout.readline()
            yield process
        finally:
            process.kill()


def directory(tmp_path: Path, *, pid: int, started: int, life: str = "", beats: bool = True) -> Path:
    """The log of a supervisor that has started a job and recorded it."""
    place = tmp_path / "runs" / "r" / "host"
    place.mkdir(parents=True)
    records: list[dict[str, object]] = [
        {"supervisor": pid, "started": started, "boot": life or boot()},
        {"start": "j", "mark": 1, "at": 0.0},
    ]
    (place / "log").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    (place / "socket").touch()
    if beats:
        (place / "heartbeat.json").write_text(json.dumps({"pid": pid, "started": started, "at": 5.0}))
    return place


def test_a_supervisor_is_known_by_pid_and_start_time(tmp_path: Path) -> None:
    me = os.getpid()
    place = directory(tmp_path, pid=me, started=start_time(me))
    (result,) = find_supervisors([place, tmp_path / "none"])
    assert result.process is not None
    assert (result.pid, result.beat_at, result.unfinished, result.is_at_work) == (me, 5.0, ("j",), True)


def test_another_process_of_that_pid_is_not_it(tmp_path: Path) -> None:
    me = os.getpid()
    (result,) = find_supervisors([directory(tmp_path, pid=me, started=start_time(me) - 1)])
    assert (result.pid, result.process, result.is_at_work) == (me, None, False)


def test_one_from_before_the_machine_was_started_is_dead(tmp_path: Path) -> None:
    me = os.getpid()
    (result,) = find_supervisors([directory(tmp_path, pid=me, started=start_time(me), life="another")])
    assert result.process is None


def test_the_heartbeat_of_the_one_before_says_nothing(tmp_path: Path) -> None:
    me = os.getpid()
    place = directory(tmp_path, pid=me, started=start_time(me), beats=False)
    (place / "heartbeat.json").write_text(json.dumps({"pid": 1, "started": 1, "at": 5.0}))
    (result,) = find_supervisors([place])
    assert (result.pid, result.beat_at) == (me, None)


def test_without_a_log_the_heartbeat_names_it(tmp_path: Path) -> None:
    me = os.getpid()
    place = directory(tmp_path, pid=me, started=start_time(me))
    (place / "log").unlink()
    (result,) = find_supervisors([place])
    assert (result.pid, result.beat_at) == (me, 5.0)
    (place / "heartbeat.json").write_text("{")
    (result,) = find_supervisors([place])
    assert (result.pid, result.process) == (0, None)


def test_a_step_is_found_by_its_environment_below_its_own_directory_only(tmp_path: Path) -> None:
    place = tmp_path / "runs" / "r" / "host"
    place.mkdir(parents=True)
    with started(*WAITS, WEFT_HOST=str(place), WEFT_JOB="j") as process:
        (result,) = find_step_processes(tmp_path / "runs")
        assert (result.process.pid, result.job, result.directory) == (process.pid, "j", place)
        assert find_step_processes(tmp_path / "other") == []


def test_while_a_supervisor_lives_nothing_is_ended(tmp_path: Path) -> None:
    place = tmp_path / "runs" / "r" / "host"
    place.mkdir(parents=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for act in (end_orphans, clean_up):
            with pytest.raises(WeftError, match="a live supervisor in"):
                act(tmp_path / "runs", place)


def test_what_cannot_be_ended_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "_PATIENCE", -1.0)
    place = tmp_path / "runs" / "r" / "host"
    program = "import signal; signal.signal(15, signal.SIG_IGN); print(flush=True); input()"
    with started(*WAITS[:-1], program, WEFT_HOST=str(place)) as process:
        with pytest.raises(WeftError, match=f"type: kill -KILL {process.pid}$"):
            end_orphans(tmp_path / "runs", place)
        assert process.poll() is None


def test_a_command_is_shown_as_it_was_typed_and_not_too_long() -> None:
    with started("sh", "-c", "echo; read _") as process:
        assert command_of(process.pid) == "sh -c 'echo; read _'"
    with started("sh", "-c", f"echo; read _ # {'x' * 500}") as process:
        shown = command_of(process.pid)
    assert (len(shown), shown[-1]) == (120, "…")
    assert command_of(2) == Path("/proc/2/comm").read_text().strip()


@pytest.mark.skipif(not CAN_CHANGE_ROOT, reason="needs the right to change what is seen of files")
def test_a_step_that_sees_another_directory_of_that_name_is_none_of_ours(tmp_path: Path) -> None:
    """As in a container."""
    place = tmp_path / "runs" / "r" / "host"
    place.mkdir(parents=True)
    hides = f"mount -t tmpfs none {tmp_path} && mkdir -p {place} && echo && read _"
    with started("unshare", "--mount", "sh", "-c", hides, WEFT_HOST=str(place)) as process:
        assert process.poll() is None
        assert find_step_processes(tmp_path / "runs") == []


def test_a_running_process_is_not_halted() -> None:
    assert not is_halted(os.getpid())
