"""How a supervisor comes to life.

One is alive per directory: it holds a lock, and so does, for a moment, each process that it is about to start. Who
has the lock knows therefore that the one before is dead and starts nothing any more. Then what is left of its jobs
is ended, and they are recorded as lost, unless the reaper has recorded how they exited. Only then does the new one
listen; and only then does the process that was started return, leaving a reaper, with a child that serves.
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
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    lock = _lock(directory)
    history, log = _take_over(directory)
    listener = _listen(directory)
    if _fork():
        os._exit(0)
    become_subreaper(reaper.NAME)
    if serving := _fork():
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
    """A descriptor: until this process and those that it forks are gone, or have closed it."""
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
    exits = reaper.read_exits(
        directory
    )  # before any signal: one who is asked to end may exit as if all were done
    end_orphans(history, directory)
    log = JobLog(f"{directory}/log")
    settle(history, log, exits)
    return history, log


def _listen(directory: str) -> socket.socket:
    _remove(f"{directory}/socket")
    listener = socket.socket(socket.AF_UNIX)
    mask = os.umask(0o177)
    try:
        with open_folder(directory) as folder:
            listener.bind(f"/proc/self/fd/{folder.descriptor}/socket")  # the name of a socket must be short
    finally:
        os.umask(mask)
    listener.listen(8)
    listener.setblocking(False)
    return listener


def _remove(path: str) -> None:
    tree, file = locate(path)
    tree.remove(file)
