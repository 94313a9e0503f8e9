"""Processes as the kernel shows them: which exist, which job they belong to, and signals to exactly one of them.

The kernel reuses pids. A process is therefore identified by its pid and start time, and a signal is sent through a
descriptor of the process that is opened before the start time is compared.

The processes of a job are recognised by three marks, because each of them can get lost:
  a limit       RLIMIT_LOCKS. The kernel has ignored it for twenty years, but every process passes it on to its
                children, whatever they do to their environment and session. Each job has its own number
  environment   WEFT_JOB and WEFT_HOST; useful for people, too. Some programs clear it
  session       the session of the first process. Daemons leave it
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
"""Marks are at least this number, which no administrator sets as a limit."""
_LISTS_CHILDREN = os.access("/proc/thread-self/children", os.R_OK)


class Process:
    """A process, identified by pid and start time."""

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


# --- existing processes ---


def now() -> int:
    """Returns the time in ticks since boot.

    A process that has a pid now started at or before this time; one that gets the same pid later starts after it.
    """
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // _TICK


def find_process(pid: int) -> Process | None:
    stat = read(f"/proc/{pid}/stat")
    return Process(pid, stat) if stat else None


def all_processes() -> Iterator[Process]:
    for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib is slow to load
        if name.isdecimal() and (process := find_process(int(name))):
            yield process


def own_children() -> list[int]:
    """Returns the supervisor's children, zombies included.

    The list is exact: only the supervisor itself can remove a child from it, by waiting for it.
    """
    # Kernels without CONFIG_PROC_CHILDREN: all processes are searched for their parents.
    if not _LISTS_CHILDREN:
        return children(os.getpid())
    return [int(child) for child in read("/proc/thread-self/children").split()]


def children(pid: int) -> list[int]:
    if not _LISTS_CHILDREN:
        return [process.pid for process in all_processes() if process.parent == pid]
    try:
        # Children belong to the thread that forked them.
        tasks = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - pathlib is slow to load
    except _GONE:
        return []
    return [int(child) for task in tasks for child in read(f"/proc/{pid}/task/{task}/children").split()]


def descendants(roots: Iterable[int]) -> list[Process]:
    """Returns those of these processes that are alive, and all living processes below them."""
    processes: list[Process] = []
    pending = list(roots)
    while pending:
        process = find_process(pending.pop())
        if process is not None and process.alive:
            processes.append(process)
            pending += children(process.pid)
    return processes


def read(path: str) -> bytes:
    """Returns the contents of a file in /proc; empty if its process has gone or belongs to another user.

    Every other failure is raised, because it must not pass for an answer.
    """
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


# --- marks ---


def set_mark(number: int) -> None:
    """Gives this number to all processes that this one starts from now on."""
    with suppress(OSError, ValueError):  # above the hard limit; the other marks must suffice then
        resource.setrlimit(_LOCKS, (number, resource.getrlimit(_LOCKS)[1]))


def mark_of(pid: int) -> int:
    """Returns the number of the process; below `FIRST_MARK` if it has no mark."""
    try:
        number, highest = resource.prlimit(pid, _LOCKS)
    except OSError:
        return 0
    return 0 if number in {resource.RLIM_INFINITY, highest} else number


def has_mark(pid: int) -> bool:
    """Returns whether the process has the mark of a job of any run."""
    return mark_of(pid) >= FIRST_MARK


def job_variables(job: str, directory: str) -> dict[str, str]:
    return {"WEFT_JOB": job, "WEFT_HOST": directory}


class Marks:
    """The marks of the jobs of one directory."""

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
        """Returns the job of a process, by the strongest mark that it has."""
        return (
            # The limit first: a process can take over the environment of another job, or leave its session, but
            # changes this limit only on purpose.
            self._numbers.get(mark_of(process.pid))
            or self._by_environment(process.pid)
            or self._sessions.get(process.session)
        )

    def _by_environment(self, pid: int) -> str | None:
        variables = read(f"/proc/{pid}/environ").split(b"\0")
        if self._host not in variables:
            return None
        return next((self._tokens[variable] for variable in variables if variable in self._tokens), None)


# --- signals ---


def send(process: Process, number: int) -> None:
    """Sends a signal to that very process, if it still exists and may be signalled."""
    try:
        # From here on the descriptor stays with this process, even if it ends and its pid is reused. So the
        # comparison of start times holds until the signal is sent.
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
    current = find_process(process.pid)
    return current is not None and current.started == process.started
