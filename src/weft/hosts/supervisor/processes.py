"""Other people's processes, as the kernel shows them: who is there, whose they are, how to signal that one only.

A pid names nobody for long: it is given to another when its process has gone. So a process is a pid and the time
it started, and a signal goes through a descriptor of it, made before that time was compared.

What a job starts is known by three marks, as each of them can get lost:
  a limit       that on file locks. The kernel has not looked at it for twenty years, but every process hands it on
                to those it starts, whatever they do to their environment and session. Each job has its own number
  environment   WEFT_JOB and WEFT_HOST; for people too. Some programs clear it
  session       that of the process it all began with. Daemons leave it
"""

import errno
import os
import resource
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress

_LOCKS = 10  # RLIMIT_LOCKS, for which the module has no name
_GONE = (FileNotFoundError, ProcessLookupError, PermissionError)
_TICK = 10**9 // os.sysconf("SC_CLK_TCK")
FIRST_MARK = 1 << 20
"""Marks are numbers of at least this size, which no administrator sets as a limit."""
_LISTS_CHILDREN = os.access("/proc/thread-self/children", os.R_OK)


class Process:
    __slots__ = ("alive", "parent", "pid", "session", "started")

    def __init__(self, pid: int, stat: bytes) -> None:
        fields = stat[stat.rindex(b")") + 2 :].split()  # a name may hold spaces and parentheses
        self.pid = pid
        self.alive = fields[0] not in {b"Z", b"X"}
        self.parent, self.session = int(fields[1]), int(fields[3])
        self.started = int(fields[19])
        """In ticks since the machine was started."""

    @property
    def key(self) -> tuple[int, int]:
        return self.pid, self.started


# --- who is there ---


def now() -> int:
    """In ticks since the machine was started. Who has a pid now had started by now; who gets it later had not."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // _TICK


def look(pid: int) -> Process | None:
    stat = read(f"/proc/{pid}/stat")
    return Process(pid, stat) if stat else None


def everyone() -> Iterator[Process]:
    for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib is slow to load
        if name.isdecimal() and (process := look(int(name))):
            yield process


def own_children() -> list[int]:
    """Zombies too. Exact, other than for others: only we can take one from the list, by waiting for it."""
    if not _LISTS_CHILDREN:
        return children(os.getpid())
    return [int(child) for child in read("/proc/thread-self/children").split()]


def children(pid: int) -> list[int]:
    if not _LISTS_CHILDREN:
        return [process.pid for process in everyone() if process.parent == pid]
    try:
        tasks = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - pathlib is slow to load
    except _GONE:
        return []
    return [int(child) for task in tasks for child in read(f"/proc/{pid}/task/{task}/children").split()]


def descendants(roots: Iterable[int]) -> list[Process]:
    """Those of these that are alive, and all that is alive below them."""
    found: list[Process] = []
    pending = list(roots)
    while pending:
        process = look(pending.pop())
        if process is not None and process.alive:
            found.append(process)
            pending += children(process.pid)
    return found


def read(path: str) -> bytes:
    """Empty if its process has gone, or is none of ours. No other failure may pass for an answer."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except _GONE:
        return b""
    try:
        parts = [os.read(descriptor, 65536)]
        while parts[-1]:
            parts.append(os.read(descriptor, 65536))
        return b"".join(parts)
    except _GONE:
        return b""
    finally:
        os.close(descriptor)


# --- whose they are ---


def set_mark(number: int) -> None:
    """What this process starts from now on has this number."""
    with suppress(OSError, ValueError):  # above the hard limit; then the other marks must do
        resource.setrlimit(_LOCKS, (number, resource.getrlimit(_LOCKS)[1]))


def mark_of(pid: int) -> int:
    """The number that the process has; below `FIRST_MARK` if it has no mark."""
    try:
        number, highest = resource.prlimit(pid, _LOCKS)
    except OSError:
        return 0
    return 0 if number in {resource.RLIM_INFINITY, highest} else number


def has_mark(pid: int) -> bool:
    """Whether the process has the mark of a job, of whichever run."""
    return mark_of(pid) >= FIRST_MARK


def token(job: str, directory: str) -> dict[str, str]:
    return {"WEFT_JOB": job, "WEFT_HOST": directory}


class Marks:
    """Of the jobs of one directory."""

    def __init__(self, directory: str) -> None:
        self._host = f"WEFT_HOST={directory}".encode(errors="surrogateescape")
        self._numbers: dict[int, str] = {}
        self._sessions: dict[int, str] = {}
        self._tokens: dict[bytes, str] = {}

    def add(self, job: str, number: int) -> None:
        self._numbers[number] = job
        self._tokens[f"WEFT_JOB={job}".encode(errors="surrogateescape")] = job

    def add_session(self, job: str, leader: int) -> None:
        self._sessions[leader] = job

    def remove(self, job: str, number: int, leaders: Iterable[int]) -> None:
        self._numbers.pop(number, None)
        self._tokens.pop(f"WEFT_JOB={job}".encode(errors="surrogateescape"), None)
        for leader in leaders:
            self._sessions.pop(leader, None)

    def owner(self, process: Process) -> str | None:
        """The job that it belongs to, by the strongest mark that it has."""
        return (
            self._numbers.get(mark_of(process.pid))
            or self._by_environment(process.pid)
            or self._sessions.get(process.session)
        )

    def _by_environment(self, pid: int) -> str | None:
        variables = read(f"/proc/{pid}/environ").split(b"\0")
        if self._host not in variables:
            return None
        return next((self._tokens[each] for each in variables if each in self._tokens), None)


# --- signals ---


def send(process: Process, number: int) -> None:
    """To that very process, if it is still there and may be signalled."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError as error:
        if error.errno == errno.ENOSYS:  # an old kernel, or a sandbox
            _send_by_pid(process, number)
        return
    try:
        with suppress(OSError):
            if _is_still(process):
                signal.pidfd_send_signal(descriptor, number)
    finally:
        os.close(descriptor)


def _send_by_pid(process: Process, number: int) -> None:
    with suppress(OSError):
        if _is_still(process):
            os.kill(process.pid, number)


def _is_still(process: Process) -> bool:
    now = look(process.pid)
    return now is not None and now.started == process.started
