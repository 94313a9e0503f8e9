"""The parent of a supervisor. After the supervisor's death it records exits of commands and stores their output.

When a process dies, its children become those of the nearest subreaper above it. The supervisor is one for its
jobs, and the reaper is one for the supervisor. While the supervisor lives, the reaper waits and does nothing else.
After its death the commands become children of the reaper, and only a parent can learn an exit status. The reaper
appends each to the file `exits`, for the next supervisor, and ends when no child is left. It holds neither the
lock nor the socket, so the next supervisor need not wait for it.

A command continues to write when the supervisor has died. So the reaper opens the pipes of the commands that are
alive at that time, and appends their data to the files of their output, which the log of the supervisor names. It
records the exit of a command only if all of its output is stored. A command counts as lost if it exits before its
pipes are opened, or if an output is longer than the beginning that is kept: its end was with the supervisor.

Lines of JSON: {"pid": …, "started": …, "boot": …, "status": …, "at": …}, with the status as `waitpid` returns it.
"""

import json
import os
import select
import signal
import time
from collections.abc import Sequence
from contextlib import suppress

from weft.safe_files import open_file

from .log import UNREADABLE, JobLog, LogHistory, Output, boot, encode, start_time
from .processes import all_processes
from .streams import append_to

NAME = b"weft-reaper"
"""The name of the process in the kernel; its command line is that of the supervisor."""

_BUFFER = 64 * 1024

Exits = dict[int, list[tuple[int, str, int, float]]]
"""By pid: start time in ticks, boot of the machine, status, time of the exit."""


class Remainder:
    """The output of a command after the supervisor has died."""

    def __init__(self, reader: int, path: str, head: int) -> None:
        """`head`: how many bytes are kept from the beginning of the output."""
        self.reader = reader
        self.is_open = True
        self.is_whole = True
        """Whether all that was read is stored."""
        self._path = path
        self._head = head

    def read(self) -> None:
        """Reads everything that has arrived."""
        while self.is_open:
            try:
                data = os.read(self.reader, _BUFFER)
            except BlockingIOError:
                return
            self.is_open = bool(data)
            if data and self.is_whole:
                self._store(data)

    def _store(self, data: bytes) -> None:
        try:
            self.is_whole = append_to(self._path, data, most=self._head)
        except OSError:  # the disk is full
            self.is_whole = False


def reap(directory: str, supervisor: int, head: int) -> None:
    """Runs until no child is left."""
    pid = _next_exit(os.WEXITED)
    if pid is None:
        return
    # The first exit of any child means that the supervisor has died: other children come to us only then.
    wakeup = _wake_at_exits()
    # As soon as possible: a command that writes to a pipe without a reader is killed by SIGPIPE.
    outputs = _open_outputs(directory, head, passed_over=(pid, supervisor))
    while pid is not None:
        while pid:
            _settle(directory, pid, outputs.pop(pid, None))
            pid = _next_exit(os.WEXITED | os.WNOHANG)
        if pid is not None:
            _store_outputs(wakeup, [output for both in outputs.values() for output in both])
            pid = _next_exit(os.WEXITED | os.WNOHANG)


def _next_exit(options: int) -> int | None:
    """Returns the child that has exited; 0 if there is none yet, and None if no child is left."""
    try:
        # WNOWAIT leaves the zombie in place, so that its start time in /proc can still be read.
        status = os.waitid(os.P_ALL, 0, options | os.WNOWAIT)
    except ChildProcessError:
        return None
    return 0 if status is None else status.si_pid


def _wake_at_exits() -> int:
    """Returns a descriptor that becomes readable when a child has exited."""
    reader, writer = os.pipe()
    for descriptor in (reader, writer):
        os.set_blocking(descriptor, False)
    signal.signal(signal.SIGCHLD, _do_nothing)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    return reader


def _do_nothing(number: int, frame: object) -> None:
    """The number has been written to the pipe already."""


def _store_outputs(wakeup: int, outputs: list[Remainder]) -> None:
    """Waits until a command writes or a child exits; stores what was written."""
    waiting = {output.reader: output for output in outputs if output.is_open}
    poll = select.poll()
    for descriptor in (wakeup, *waiting):
        poll.register(descriptor, select.POLLIN)
    for descriptor, _ in poll.poll():
        if descriptor == wakeup:
            os.read(wakeup, _BUFFER)
        else:
            waiting[descriptor].read()


def _settle(directory: str, pid: int, outputs: list[Remainder] | None) -> None:
    started = start_time(pid)  # only readable before waitpid removes the zombie
    _, status = os.waitpid(pid, 0)
    for output in outputs or ():
        output.read()
        os.close(output.reader)
    # An exit is recorded only with its complete output. Otherwise a new supervisor would report a success without
    # a result; without a record the command counts as lost, and runs again.
    if outputs is not None and all(output.is_whole for output in outputs):
        with suppress(OSError):  # the disk is full; then the command counts as lost
            _record(directory, pid, started, status)


def _open_outputs(directory: str, head: int, passed_over: tuple[int, ...]) -> dict[int, list[Remainder]]:
    """Returns readers for the outputs of living commands, as far as these can be opened."""
    history = LogHistory()
    history.read(f"{directory}/log")
    outputs = {
        started_job.pids[-1][0]: started_job.outputs
        for started_job in history.unfinished.values()
        if started_job.pids
    }
    by_job: dict[int, list[Remainder]] = {}
    for child in _children():
        readers = [] if child in passed_over else _open_pipes(child, outputs.get(child, ()), head)
        if readers:
            by_job[child] = readers
    return by_job


def _children() -> list[int]:
    return [process.pid for process in all_processes() if process.parent == os.getpid()]


def _open_pipes(pid: int, outputs: Sequence[Output], head: int) -> list[Remainder]:
    """Returns readers of a command's original pipes; none if it has exited or writes elsewhere now."""
    remainders: list[Remainder] = []
    for number, (path, pipe) in enumerate(outputs, 1):
        with suppress(OSError):
            # Opening the write end of a pipe through /proc gives its read end, as long as the writer lives.
            reader = os.open(f"/proc/{pid}/fd/{number}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            # The command may have redirected its output since it started; the inode identifies the logged pipe.
            if os.fstat(reader).st_ino == pipe:
                remainders.append(Remainder(reader, path, head))
            else:
                os.close(reader)
    if len(remainders) == len(outputs):
        return remainders
    for remainder in remainders:
        os.close(remainder.reader)
    return []


def _record(directory: str, pid: int, started: int, status: int) -> None:
    log = JobLog(f"{directory}/exits")
    try:
        record = {"pid": pid, "started": started, "boot": boot(), "status": status, "at": time.time()}
        log.add(encode(record))
    finally:
        log.close()


def read_exits(directory: str) -> Exits:
    """Reads the recorded exits; skips incomplete lines."""
    exits: Exits = {}
    with suppress(FileNotFoundError), os.fdopen(open_file(f"{directory}/exits"), "rb") as lines:
        for line in lines:
            with suppress(*UNREADABLE):
                record = json.loads(line)
                exit_ = (
                    int(record["started"]),
                    str(record["boot"]),
                    int(record["status"]),
                    float(record["at"]),
                )
                exits.setdefault(int(record["pid"]), []).append(exit_)
    return exits
