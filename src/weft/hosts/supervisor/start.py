"""The start of a supervisor.

Each directory has one living supervisor. It holds a lock, and so does, for a moment, each process that it is about
to start. A process that gets the lock therefore knows that the previous supervisor is dead and starts nothing any
more. It ends the remaining processes of its jobs and records these as lost, unless the reaper has recorded their
exits. Only then does it listen, and only then does the started process return. It leaves a reaper, with the
serving process as its child.
"""

import fcntl
import os
import signal
import socket
import sys

from weft.safe_files import locate, open_file, open_folder
from weft.system_errors import describe

from . import BUSY, reaper
from .log import JobLog, LogHistory
from .orphans import end_orphans, settle
from .serve import Supervisor
from .spawn import become_subreaper
from .streams import OutputLimits


def main(arguments: list[str]) -> None:
    directory, head, tail, linger = arguments
    # A Ctrl-C or a closed terminal is for the coordinator; jobs and their supervisor survive it.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    lock = _lock(directory)
    # Under the lock, and before the socket exists: a coordinator that connects finds no process of the previous
    # supervisor alive.
    history, log = _take_over(directory)
    listener = _listen(directory)
    # The parent returns, and the coordinator may connect: the socket listens already, and the kernel queues the
    # connection until the child serves it.
    if _fork():
        os._exit(0)
    become_subreaper(reaper.NAME)
    if serving := _fork():
        # The reaper outlives the supervisor. With the lock, or the socket, it would keep the next one from
        # starting.
        os.close(lock)
        log.close()
        listener.close()
        reaper.reap(directory, serving, int(head))
        os._exit(0)
    become_subreaper(b"weft-supervisor")
    log.add_supervisor()
    supervisor = Supervisor(directory, log, history, OutputLimits(int(head), int(tail)))
    supervisor.serve(listener, float(linger))
    for name in ("socket", "heartbeat.json"):
        _remove(f"{directory}/{name}")


def _lock(directory: str) -> int:
    """Returns a descriptor that holds the lock until this process and its forks have ended or closed it."""
    descriptor = open_file(f"{directory}/lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(BUSY)
    return descriptor


def _fork() -> int:
    try:
        return os.fork()
    except OSError as error:
        sys.exit(describe(error))  # the coordinator shows the last line of our log


def _take_over(directory: str) -> tuple[LogHistory, JobLog]:
    history = LogHistory()
    history.read(f"{directory}/log")
    # Before any signal, because a process may exit with 0 on SIGTERM.
    exits = reaper.read_exits(directory)
    end_orphans(history, directory)
    log = JobLog(f"{directory}/log")
    settle(history, log, exits)
    return history, log


def _listen(directory: str) -> socket.socket:
    _remove(f"{directory}/socket")
    listener = socket.socket(socket.AF_UNIX)
    # bind creates the socket with the permissions of the umask. A chmod afterwards would leave a moment in
    # which others could connect.
    mask = os.umask(0o177)
    try:
        with open_folder(directory) as folder:
            # The path of a socket has at most 107 bytes, so the directory is named by its descriptor.
            listener.bind(f"/proc/self/fd/{folder.descriptor}/socket")
    finally:
        os.umask(mask)
    listener.listen(8)
    listener.setblocking(False)
    return listener


def _remove(path: str) -> None:
    tree, file = locate(path)
    tree.remove(file)
