"""The parent of a supervisor: it records how commands exit after the supervisor has died.

When a process dies, its children become those of the nearest subreaper above it. The supervisor is one for its
jobs, and the reaper is one for the supervisor. While the supervisor lives, the reaper waits and does nothing else.
After its death the commands become children of the reaper, and only a parent can learn an exit status. The reaper
appends each to the file `exits`, for the next supervisor, and ends when no child is left. It holds neither the
lock nor the socket, so the next supervisor need not wait for it.

The supervisor may die before it has read what a command wrote. So the reaper opens the pipes of the commands that
are alive at that time, and records the exit of a command only if they are empty then: all that it wrote is stored.
A command that exits before its pipes are opened counts as lost.

Lines of JSON: {"pid": …, "started": …, "boot": …, "status": …, "at": …}, with the status as `waitpid` returns it.
"""

import fcntl
import json
import os
import time
from contextlib import suppress
from struct import unpack
from termios import FIONREAD

from weft.safe_files import open_file

from .log import Log, boot, encode, start_time
from .processes import everyone

NAME = b"weft-reaper"
"""What the kernel calls the process: its command line is that of the supervisor."""

_OUTPUTS = (1, 2)

Exits = dict[int, list[tuple[int, str, int, float]]]
"""By pid: start time in ticks, life of the machine, status, time of the exit."""


def reap(directory: str, supervisor: int) -> None:
    """Until no child is left."""
    pipes: dict[int, list[int]] | None = None
    while (pid := _next_exit()) is not None:
        if pipes is None:  # the first exit, of whichever child, means that the supervisor has died
            pipes = {child: _open_outputs(child) for child in _children() if child not in (pid, supervisor)}
        started = start_time(pid)  # it can be read as long as nobody has waited for the process
        _, status = os.waitpid(pid, 0)
        readers = pipes.pop(pid, [])
        if len(readers) == len(_OUTPUTS) and not any(map(_unread, readers)):
            with suppress(OSError):  # the disk is full; then the command counts as lost
                _record(directory, pid, started, status)
        for reader in readers:
            os.close(reader)


def _next_exit() -> int | None:
    try:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
    except ChildProcessError:
        return None
    return None if found is None else found.si_pid


def _children() -> list[int]:
    return [process.pid for process in everyone() if process.parent == os.getpid()]


def _open_outputs(pid: int) -> list[int]:
    """Readers of the pipes that a process writes to; none for an output that is no pipe, or if it has exited."""
    readers: list[int] = []
    for number in _OUTPUTS:
        path = f"/proc/{pid}/fd/{number}"
        with suppress(OSError):
            if os.readlink(path).startswith("pipe:"):  # noqa: PTH115 - pathlib is slow to load
                readers.append(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    return readers


def _unread(reader: int) -> int:
    """How many bytes are in a pipe."""
    (count,) = unpack("i", fcntl.ioctl(reader, FIONREAD, bytes(4)))
    return int(count)


def _record(directory: str, pid: int, started: int, status: int) -> None:
    log = Log(f"{directory}/exits")
    try:
        record = {"pid": pid, "started": started, "boot": boot(), "status": status, "at": time.time()}
        log.add(encode(record))
    finally:
        log.close()


def read_exits(directory: str) -> Exits:
    """A line that was cut short is passed over."""
    found: Exits = {}
    with suppress(FileNotFoundError), os.fdopen(open_file(f"{directory}/exits"), "rb") as lines:
        for line in lines:
            with suppress(ValueError, KeyError, TypeError):
                one = json.loads(line)
                exit_ = (int(one["started"]), str(one["boot"]), int(one["status"]), float(one["at"]))
                found.setdefault(int(one["pid"]), []).append(exit_)
    return found
