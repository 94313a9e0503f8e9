"""A directory with a supervisor, seen from outside: what it runs, what it wrote, whether it is alive."""

import fcntl
import json
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import anyio.to_thread

from weft.hosts.local import LocalHost
from weft.hosts.reach import PROGRAM
from weft.ports.host import Job

# The program as it is cannot be measured: it looks for no packages. This one is the same, found the usual way.
# A supervisor inherits no variables of coverage, so that one gets them by its command.
_PROGRAM_FILE = str(Path(__file__).with_name("program.py"))
_MEASURING = [f"{name}={os.environ[name]}" for name in os.environ if name.startswith("COVERAGE_")]
MEASURED = ("env", *_MEASURING, sys.executable, _PROGRAM_FILE, "-")
IS_MEASURED = "COVERAGE_PROCESS_CONFIG" in os.environ
AS_TESTED = MEASURED if IS_MEASURED else PROGRAM
LONG = 3600.0


def stands_still(pid: int) -> bool:
    """Waits until it does: a process that was signalled may not have run yet."""
    while (state := proc(pid, "stat").rpartition(b") ")[2][:1]) not in {b"T", b""}:
        os.sched_yield()
    return state == b"T"


ENV = {"PATH": os.environ["PATH"]}


def _as_tested() -> tuple[str, ...]:
    """The program, which is measured if this test measures its processes; `tests/measurement.py` says which do."""
    return MEASURED if "COVERAGE_PROCESS_CONFIG" in os.environ else PROGRAM


def with_fault(fault: str) -> tuple[str, ...]:
    """A program that fails once; how, see there.

    It is measured only where the disk is full: if it is killed, it cannot tell, and a broken disk fails alike.
    """
    is_measured = IS_MEASURED and fault.startswith("ENOSPC")
    return (*(MEASURED[:-1] if is_measured else (*PROGRAM[:-1], _PROGRAM_FILE)), fault)


class Place:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.directory = root / "host"
        self._gates: dict[str, int] = {}
        self._hosts: list[LocalHost] = []

    def host(
        self,
        *,
        program: Sequence[str] | None = None,
        head: int = 8 << 20,
        tail: int = 1 << 20,
        linger: float = 0.0,
    ) -> LocalHost:
        self._hosts.append(
            LocalHost(
                self.directory,
                self.root,
                head=head,
                tail=tail,
                linger=linger,
                program=program or _as_tested(),
            )
        )
        return self._hosts[-1]

    def add(self, host: LocalHost) -> None:
        """Lets `leave` close it."""
        self._hosts.append(host)

    # --- jobs ---

    def shell(self, name: str, *scripts: str, timeout: float = LONG, grace: float = LONG) -> Job:
        return self.argv(
            name, *(("/bin/sh", "-c", script) for script in scripts), timeout=timeout, grace=grace
        )

    def argv(self, name: str, *commands: tuple[str, ...], timeout: float = LONG, grace: float = LONG) -> Job:
        return Job(
            id=name, commands=commands, cwd=str(self.root), env=ENV, output=name, timeout=timeout,
            grace=grace,
        )  # fmt: skip

    def gate(self, name: str) -> str:
        """A command that waits until the gate is opened."""
        path = self.root / f"{name}.gate"
        if not path.exists():
            os.mkfifo(path)
        return f"read _ < {shlex.quote(str(path))}"

    async def reached(self, name: str) -> None:
        """Waits until a process is at the gate: only then can it be opened at this end."""
        path = self.root / f"{name}.gate"
        self._gates[name] = await anyio.to_thread.run_sync(os.open, path, os.O_WRONLY)

    def release(self, name: str) -> None:
        os.write(self._gates[name], b"\n")

    # --- what can be seen ---

    def supervisors(self) -> list[int]:
        argument = os.fsencode(self.directory)
        return [pid for pid in named(argument) if not is_reaper(pid)]

    def reapers(self) -> list[int]:
        return [pid for pid in named(os.fsencode(self.directory)) if is_reaper(pid)]

    def processes(self) -> list[int]:
        """Those of jobs."""
        token = b"WEFT_HOST=" + os.fsencode(self.directory)
        return [pid for pid in pids() if token in proc(pid, "environ").split(b"\0")]

    def log(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in (self.directory / "log").read_bytes().splitlines()]

    # --- ends ---

    def kill(self) -> None:
        """The supervisor, at once."""
        for pid in self.supervisors():
            os.kill(pid, signal.SIGKILL)

    def wait(self) -> None:
        """Until no supervisor is alive."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with (self.directory / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)

    async def leave(self) -> None:
        for host in self._hosts:
            await host.close()
        for gate in self._gates.values():
            os.close(gate)
        for pid in self.supervisors():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        with anyio.move_on_after(30):
            await anyio.to_thread.run_sync(self.wait, abandon_on_cancel=True)
        left = self.supervisors() + self.processes()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        assert left == []


def named(argument: bytes) -> list[int]:
    """Those that have this argument."""
    return [pid for pid in pids() if argument in proc(pid, "cmdline").split(b"\0")]


def is_reaper(pid: int) -> bool:
    """Whether it is the parent of a supervisor, which has the same arguments."""
    return proc(pid, "comm") == b"weft-reaper\n"


def pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]


def proc(pid: int, name: str) -> bytes:
    """Empty for one that has gone."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def is_alive(pid: int) -> bool:
    """A zombie is not."""
    stat = proc(pid, "stat")
    return stat != b"" and stat.rpartition(b")")[2].split()[0] not in {b"Z", b"X"}


def start_time(pid: int) -> int:
    return int(proc(pid, "stat").rpartition(b")")[2].split()[19])
