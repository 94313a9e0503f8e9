"""What is left of supervisors in the directories of runs, seen from outside: nobody is spoken to.

A supervisor that ended by itself has removed its socket and its heartbeat; so where neither is, there is none, and
nothing is left of it. Where one is, its log names the process that wrote it, by pid and start time, and that
process is alive or it is not.

A process of a step is known by its environment, which names the directory of its supervisor, or by the other marks
of jobs whose end is not on record. In a container the same name may be another directory; that is compared, too.
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
from weft.hosts.supervisor.ending import Termination
from weft.hosts.supervisor.log import JobLog, LogHistory
from weft.hosts.supervisor.orphans import left_by, settle
from weft.hosts.supervisor.processes import Process, everyone, look, read
from weft.hosts.supervisor.reaper import read_exits
from weft.safe_files import UnsafeFileError, locate, open_file, read_file

GRACE = 5.0
"""Seconds that a process is given to end by itself."""
_PATIENCE = 20.0
_LONGEST_COMMAND = 120
_LARGEST_BEAT = 1 << 24
_HALTED = (b"T", b"t")


class SupervisorRemains(Struct, frozen=True, kw_only=True):
    directory: Path
    pid: int
    """0: nobody knows who it was."""
    process: Process | None
    """If it is alive."""
    beat_at: float | None
    """When it last wrote its heartbeat; None: it has not yet, or nobody can read it."""
    unfinished: tuple[str, ...]
    """Jobs that were begun and whose end is not on record."""
    history: LogHistory

    @property
    def is_at_work(self) -> bool:
        """Whether it is alive and has something to look after."""
        return self.process is not None and bool(self.unfinished)


class StepProcess(Struct, frozen=True, kw_only=True):
    process: Process
    directory: Path
    """Of its supervisor."""
    job: str
    """Empty if only a mark without a name is left."""
    command: str


# --- supervisors ---


def find_supervisors(directories: Iterable[Path]) -> list[SupervisorRemains]:
    """Those that live, or died without tidying up."""
    found = [_supervisor(one) for one in directories if _is_used(one)]
    # One that was just about to go has removed its files before.
    return [one for one in found if one.process is not None or _is_used(one.directory)]


def _is_used(directory: Path) -> bool:
    return any(os.path.lexists(directory / name) for name in ("socket", "heartbeat.json"))


def _supervisor(directory: Path) -> SupervisorRemains:
    beat_at, beating = _heartbeat(directory / "heartbeat.json")
    history = LogHistory()
    history.read(str(directory / "log"))
    writer = history.writer or beating
    is_of_this_life = history.writer is None or history.is_of_this_life
    return SupervisorRemains(
        directory=directory,
        pid=0 if writer is None else writer[0],
        process=_living(*writer) if writer is not None and is_of_this_life else None,
        beat_at=beat_at if beating == writer else None,
        unfinished=tuple(history.begun),
        history=history,
    )


def _heartbeat(file: Path) -> tuple[float | None, tuple[int, int] | None]:
    """When it was written; by whom, as pid and start time."""
    try:
        sign = json.loads(read_file(file, most=_LARGEST_BEAT))
        return float(sign["at"]), (int(sign["pid"]), int(sign["started"]))
    except (
        FileNotFoundError,
        UnsafeFileError,
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
    ):  # what is damaged tells nothing
        return None, None


def _living(pid: int, started: int) -> Process | None:
    process = look(pid)
    return process if process is not None and process.alive and process.started == started else None


# --- processes of steps ---


def find_step_processes(runs: Path, supervisors: Sequence[SupervisorRemains] = ()) -> list[StepProcess]:
    """All that belong to supervisors in directories below `runs`, living or not; but not our own ancestors."""
    passed = _ancestors()
    found = {one.process.key: one for one in _marked(supervisors)}
    found |= {one.process.key: one for one in _by_environment(os.path.realpath(runs))}
    return sorted(
        (one for one in found.values() if one.process.pid not in passed), key=lambda one: one.process.pid
    )


def _marked(supervisors: Sequence[SupervisorRemains]) -> Iterator[StepProcess]:
    """Only of the dead: who lives looks after its own."""
    for one in supervisors:
        if one.process is None:
            for process in left_by(one.history, str(one.directory)):
                yield StepProcess(
                    process=process, directory=one.directory, job="", command=command_of(process.pid)
                )


def _by_environment(runs: str) -> Iterator[StepProcess]:
    for process in everyone():
        host, job = _token(process.pid) if process.alive else ("", "")
        if host and _is_below(host, runs, process.pid):
            yield StepProcess(process=process, directory=Path(host), job=job, command=command_of(process.pid))


def _token(pid: int) -> tuple[str, str]:
    """The supervisor's directory and the job that its environment names."""
    variables: dict[bytes, bytes] = {}
    for part in read(f"/proc/{pid}/environ").split(b"\0"):
        name, _, value = part.partition(b"=")
        variables[name] = value
    return os.fsdecode(variables.get(b"WEFT_HOST", b"")), os.fsdecode(variables.get(b"WEFT_JOB", b""))


def _is_below(host: str, runs: str, pid: int) -> bool:
    if not Path(os.path.realpath(host)).is_relative_to(runs):
        return False
    try:
        there = os.stat(f"/proc/{pid}/root{host}")  # noqa: PTH116 - a text, and no path of ours
        return os.path.samestat(there, os.stat(host))  # noqa: PTH116 - as above
    except OSError:  # its directory has been removed; then the same view of files must do
        return _sees_our_files(pid)


def _sees_our_files(pid: int) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/ns/mnt") == os.readlink("/proc/self/ns/mnt")  # noqa: PTH115 - no path of ours
    except OSError:
        return False


def _ancestors() -> set[int]:
    found: set[int] = set()
    process = look(os.getpid())
    while process is not None and process.pid not in found:
        found.add(process.pid)
        process = look(process.parent)
    return found


def command_of(pid: int) -> str:
    """As it was typed, as far as that is known, on one line."""
    words = os.fsdecode(read(f"/proc/{pid}/cmdline").rstrip(b"\0")).split("\0")
    text = " ".join(shlex.quote(word) for word in words if word)
    text = text or os.fsdecode(read(f"/proc/{pid}/comm").strip())
    return text if len(text) <= _LONGEST_COMMAND else f"{text[: _LONGEST_COMMAND - 1]}…"


def is_halted(pid: int) -> bool:
    """Whether it was stopped by a signal, and waits for another to go on."""
    return read(f"/proc/{pid}/stat").rpartition(b") ")[2][:1] in _HALTED


# --- ending ---


def end_orphans(runs: Path, directory: Path, *, grace: float = GRACE) -> None:
    """End all processes of a dead supervisor. Raises `WeftError` if it lives, or one of them cannot be ended."""
    with _alone(directory):
        _press(lambda: _orphans(runs, directory), Termination(grace))


def tidy_up(runs: Path, directory: Path) -> None:
    """What a dead supervisor would have done in the end: nothing of its jobs is alive, and they count as lost."""
    with _alone(directory):
        exits = read_exits(str(directory))  # before any signal
        _press(lambda: _orphans(runs, directory), Termination(GRACE))
        history = LogHistory()
        history.read(str(directory / "log"))
        with closing(JobLog(str(directory / "log"))) as log:
            settle(history, log, exits)
        for name in ("socket", "heartbeat.json"):
            tree, file = locate(directory / name)
            tree.remove(file)


def _orphans(runs: Path, directory: Path) -> list[Process]:
    """Looked for anew each time, by all that made them known in the first place."""
    place = os.path.realpath(directory)
    there = find_step_processes(runs, find_supervisors([directory]))
    return [one.process for one in there if os.path.realpath(one.directory) == place]


@contextmanager
def _alone(directory: Path) -> Generator[None]:
    """Keeps a supervisor from coming to life there: it would end these processes itself."""
    lock = _opened(directory / "lock")
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
        raise WeftError(f"a supervisor lives in {directory}, and looks after its processes") from None


def _opened(lock: Path) -> int | None:
    """None: its directory is gone, and nobody comes to life there."""
    try:
        return open_file(lock, os.O_RDWR | os.O_CREAT)
    except FileNotFoundError:
        return None


def _press(who: Callable[[], Sequence[Process]], ending: Termination) -> None:
    until = time.monotonic() + _PATIENCE
    while ending.press(who):
        if time.monotonic() > until:
            pids = " ".join(str(process.pid) for process in who())
            raise WeftError(f"some cannot be ended; whoever may do it types: kill -KILL {pids}")
        time.sleep(max(0.0, ending.look_at - time.monotonic()))
