"""The remains of supervisors in the directories of runs, examined from outside without contacting any process.

A supervisor that ended normally has removed its socket and its heartbeat. If neither exists, there is no
supervisor and nothing is left. Otherwise its log names its process by pid and start time, which shows whether it
is alive.

A process of a step is recognised by its environment, which names the directory of its supervisor, or by the other
marks of jobs that have no recorded end. In a container the same name may mean another directory, so the
directories themselves are compared, too.
"""

import fcntl
import json
import os
import shlex
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from msgspec import Struct

from weft.errors import WeftError
from weft.hosts.supervisor.log import JobLog, LogHistory
from weft.hosts.supervisor.orphans import left_by, settle
from weft.hosts.supervisor.processes import Process, all_processes, find_process, read
from weft.hosts.supervisor.reaper import read_exits
from weft.hosts.supervisor.termination import Termination
from weft.safe_files import UnsafeFileError, locate, open_file, read_file

GRACE = 5.0
"""Seconds that a process has to end by itself."""
_PATIENCE = 20.0
_LONGEST_COMMAND = 120
_LARGEST_BEAT = 1 << 24
_HALTED = (b"T", b"t")


class SupervisorRemains(Struct, frozen=True, kw_only=True):
    """A supervisor that is alive, or died without cleaning up."""

    directory: Path
    pid: int
    """0 if unknown."""
    process: Process | None
    """None if it is dead."""
    beat_at: float | None
    """When it last wrote its heartbeat; None if it has not, or if the heartbeat is unreadable."""
    unfinished: tuple[str, ...]
    """Jobs that were started and have no recorded end."""
    history: LogHistory

    @property
    def heartbeat_file(self) -> Path:
        return self.directory / "heartbeat.json"

    @property
    def log_file(self) -> Path:
        """The file with its messages for people."""
        return self.directory / "supervisor.log"

    @property
    def is_halted(self) -> bool:
        """Whether it was stopped by a signal and waits for SIGCONT."""
        return is_halted(self.pid)

    def count_frozen(self) -> int:
        """Returns how many of its jobs have a halted process."""
        pids = (self.history.unfinished[job].pids for job in self.unfinished)
        return sum(any(is_halted(pid) for pid, _ in job_pids) for job_pids in pids)

    @property
    def is_at_work(self) -> bool:
        """Whether it is alive and has running jobs."""
        return self.process is not None and bool(self.unfinished)


class StepProcess(Struct, frozen=True, kw_only=True):
    """A process of a step."""

    process: Process
    directory: Path
    """The directory of its supervisor."""
    job: str
    """Empty if only a mark without a name is left."""
    command: str

    @property
    def is_halted(self) -> bool:
        return is_halted(self.process.pid)


# --- supervisors ---


def find_supervisors(directories: Iterable[Path]) -> list[SupervisorRemains]:
    """Returns the supervisors that are alive or died without cleaning up."""
    remains = [_supervisor(directory) for directory in directories if _is_used(directory)]
    # A supervisor that was just ending may have removed its files between the two checks.
    return [
        supervisor
        for supervisor in remains
        if supervisor.process is not None or _is_used(supervisor.directory)
    ]


def _is_used(directory: Path) -> bool:
    return any(os.path.lexists(directory / name) for name in ("socket", "heartbeat.json"))


def _supervisor(directory: Path) -> SupervisorRemains:
    beat_at, beating = _heartbeat(directory / "heartbeat.json")
    history = LogHistory()
    history.read(str(directory / "log"))
    # The log is written first, so it decides. A heartbeat of another process is from an earlier life of the
    # directory.
    writer = history.writer or beating
    # After a reboot, pids and start times begin again at small numbers, and another process may have both.
    is_of_this_life = history.writer is None or history.is_of_this_life
    return SupervisorRemains(
        directory=directory,
        pid=0 if writer is None else writer[0],
        process=_living(*writer) if writer is not None and is_of_this_life else None,
        beat_at=beat_at if beating == writer else None,
        unfinished=tuple(history.unfinished),
        history=history,
    )


def _heartbeat(file: Path) -> tuple[float | None, tuple[int, int] | None]:
    """Returns when the heartbeat was written, and its writer as pid and start time."""
    try:
        heartbeat = json.loads(read_file(file, most=_LARGEST_BEAT))
        return float(heartbeat["at"]), (int(heartbeat["pid"]), int(heartbeat["started"]))
    except (
        FileNotFoundError,
        UnsafeFileError,
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
    ):  # a damaged heartbeat counts as none
        return None, None


def _living(pid: int, started: int) -> Process | None:
    process = find_process(pid)
    return process if process is not None and process.alive and process.started == started else None


# --- processes of steps ---


def find_step_processes(runs: Path, supervisors: Sequence[SupervisorRemains] = ()) -> list[StepProcess]:
    """Returns processes of all supervisors below `runs`, alive or dead, without our own ancestors."""
    ancestors = _ancestors()
    by_key = {step.process.key: step for step in _marked_processes(supervisors)}
    by_key |= {step.process.key: step for step in _by_environment(os.path.realpath(runs))}
    return sorted(
        (step for step in by_key.values() if step.process.pid not in ancestors),
        key=lambda step: step.process.pid,
    )


def _marked_processes(supervisors: Sequence[SupervisorRemains]) -> Iterator[StepProcess]:
    """Yields marked processes of dead supervisors; a living one manages its own."""
    for supervisor in supervisors:
        if supervisor.process is None:
            for process in left_by(supervisor.history, str(supervisor.directory)):
                yield StepProcess(
                    process=process, directory=supervisor.directory, job="", command=command_of(process.pid)
                )


def _by_environment(runs: str) -> Iterator[StepProcess]:
    for process in all_processes():
        host, job = _token(process.pid) if process.alive else ("", "")
        if host and _is_below(host, runs, process.pid):
            yield StepProcess(process=process, directory=Path(host), job=job, command=command_of(process.pid))


def _token(pid: int) -> tuple[str, str]:
    """Returns the supervisor's directory and the job from the environment of a process."""
    variables: dict[bytes, bytes] = {}
    for part in read(f"/proc/{pid}/environ").split(b"\0"):
        name, _, value = part.partition(b"=")
        variables[name] = value
    return os.fsdecode(variables.get(b"WEFT_HOST", b"")), os.fsdecode(variables.get(b"WEFT_JOB", b""))


def _is_below(host: str, runs: str, pid: int) -> bool:
    if not Path(os.path.realpath(host)).is_relative_to(runs):
        return False
    try:
        # /proc/PID/root is the root directory as that process sees it, so the path is resolved inside its
        # container.
        their_directory = os.stat(f"/proc/{pid}/root{host}")  # noqa: PTH116 - a text, and no path of ours
        return os.path.samestat(their_directory, os.stat(host))  # noqa: PTH116 - as above
    except OSError:  # its directory has been removed; the same mount namespace is proof enough then
        return _sees_our_files(pid)


def _sees_our_files(pid: int) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/ns/mnt") == os.readlink("/proc/self/ns/mnt")  # noqa: PTH115 - no path of ours
    except OSError:
        return False


def _ancestors() -> set[int]:
    pids: set[int] = set()
    process = find_process(os.getpid())
    while process is not None and process.pid not in pids:
        pids.add(process.pid)
        process = find_process(process.parent)
    return pids


def command_of(pid: int) -> str:
    """Returns the command line of a process on one line, shortened."""
    words = os.fsdecode(read(f"/proc/{pid}/cmdline").rstrip(b"\0")).split("\0")
    text = " ".join(shlex.quote(word) for word in words if word)
    text = text or os.fsdecode(read(f"/proc/{pid}/comm").strip())
    return text if len(text) <= _LONGEST_COMMAND else f"{text[: _LONGEST_COMMAND - 1]}…"


def is_halted(pid: int) -> bool:
    """Returns whether the process was stopped by a signal and waits for SIGCONT."""
    return read(f"/proc/{pid}/stat").rpartition(b") ")[2][:1] in _HALTED


# --- termination ---


def end_orphans(runs: Path, directory: Path, *, grace: float = GRACE) -> None:
    """Ends all processes of a dead supervisor.

    Raises `WeftError` if it is alive, or if a process cannot be ended.
    """
    with _alone(directory):
        _end_all(lambda: _orphans(runs, directory), Termination(grace))


def clean_up(runs: Path, directory: Path) -> None:
    """Cleans up after a dead supervisor: ends the processes of its jobs and records the jobs as lost."""
    with _alone(directory):
        # The reaper writes an exit status for each process that ends. After the first signal these would be the
        # statuses of our own kills, and not of the steps.
        exits = read_exits(str(directory))  # before any signal
        _end_all(lambda: _orphans(runs, directory), Termination(GRACE))
        # Read after all processes are gone, under the lock: nothing else writes the log now.
        history = LogHistory()
        history.read(str(directory / "log"))
        with closing(JobLog(str(directory / "log"))) as log:
            settle(history, log, exits)
        for name in ("socket", "heartbeat.json"):
            tree, file = locate(directory / name)
            tree.remove(file)


def _orphans(runs: Path, directory: Path) -> list[Process]:
    """Returns the processes of a dead supervisor, by a new search each time."""
    real_directory = os.path.realpath(directory)
    processes = find_step_processes(runs, find_supervisors([directory]))
    return [step.process for step in processes if os.path.realpath(step.directory) == real_directory]


@contextmanager
def _alone(directory: Path) -> Generator[None]:
    """Keeps a new supervisor from starting there, because it would end these processes itself."""
    lock = _open_lock(directory / "lock")
    try:
        if lock is not None:
            _take(lock, directory)
        yield
    finally:
        if lock is not None:
            os.close(lock)


def _take(lock: int, directory: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise WeftError(f"a live supervisor in {directory} manages its processes") from None


def _open_lock(lock: Path) -> int | None:
    """Returns the open lock file; None if its directory is gone, so that no supervisor can start there."""
    try:
        return open_file(lock, os.O_RDWR | os.O_CREAT)
    except FileNotFoundError:
        return None


def _end_all(find_processes: Callable[[], Sequence[Process]], ending: Termination) -> None:
    until = time.monotonic() + _PATIENCE
    while ending.signal_all(find_processes):
        if time.monotonic() > until:
            pids = " ".join(str(process.pid) for process in find_processes())
            raise WeftError(
                f"some processes cannot be ended; as their owner or root, type: kill -KILL {pids}"
            )
        time.sleep(max(0.0, ending.check_at - time.monotonic()))
