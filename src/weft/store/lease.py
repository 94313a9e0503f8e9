"""The right to write: a lock of the operating system, and a row in the database.

The lock keeps a second coordinator out: the kernel releases it when its holder dies, for whatever reason. On some
file systems, however, locks do not work, and a lock file can be deleted while it is held. There is therefore also
the lease: a row that names its holder by a nonce and a number that only increases. Every write checks in the same
transaction that the row is still its own, so a coordinator that was replaced notices before it does any harm.
"""

import fcntl
import os
from datetime import UTC, datetime
from pathlib import Path

from weft.errors import WeftError
from weft.ports.journal import Holder
from weft.safe_files import open_file
from weft.store.database import Database
from weft.store.errors import BusyError
from weft.store.failures import explained_system_error
from weft.store.queries import QUERIES

_STOPPED_BY_WEFT_STOP = ("weft run", "weft merge")
"""Commands that drive a run and handle requests to it; the others end by themselves soon."""
_START_TIME = 18  # the field of /proc/PID/stat, counted from the one after the state


def take_lock(file: Path) -> int | None:
    """Returns a descriptor that holds the lock until it is closed; None if another process has the lock.

    Python does not pass the descriptor on to programs that it starts. A forked child that starts no program keeps
    it, and with it the lock.
    """
    try:
        # flock and not lockf: locks of the latter kind go when any descriptor of the file is closed in this
        # process.
        descriptor = open_file(file, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise explained_system_error(f"cannot open {file}", error) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError as error:
        os.close(descriptor)
        raise WeftError(
            f"cannot lock {file}: {error.strerror}; keep it on a local disk, which has locks"
        ) from None
    return descriptor


def new_holder(*, now: float, command: str) -> Holder:
    """Returns this process as a holder; the epoch is set when the lease is taken."""
    pid = os.getpid()
    return Holder(
        pid=pid,
        started=_start_time(pid) or 0,
        nonce=os.urandom(16).hex(),
        epoch=0,
        since=now,
        command=command,
    )


def current_holder(database: Database) -> Holder | None:
    for pid, started, nonce, epoch, since, command in database.rows(QUERIES["holder"]):
        return Holder(pid=pid, started=started, nonce=nonce, epoch=epoch, since=since, command=command)
    return None


def is_alive(holder: Holder) -> bool:
    """Returns whether the process that took the lease is alive, and its pid has not been reused."""
    # A pid alone may belong to another process by now; with its start time it is unique until the next boot.
    return _start_time(holder.pid) == holder.started


def _start_time(pid: int) -> int | None:
    """Returns the kernel's start time; None if there is no such process, or only a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The name in parentheses may itself contain parentheses and spaces.
    state, *fields = stat.rpartition(b")")[2].split()
    return None if state == b"Z" else int(fields[_START_TIME])


def busy(folder: Path, holder: Holder | None) -> BusyError:
    # The lock is taken before the holder is written, so a dead or missing holder means that the new one has not
    # written itself yet.
    if holder is None or not is_alive(holder):
        return BusyError(
            f"another Weft has just started in {folder}; wait a moment and type the command again", None
        )
    since = datetime.fromtimestamp(holder.since, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    command = f" ({holder.command})" if holder.command else ""
    stops = ", or stop it with: weft stop" if holder.command.startswith(_STOPPED_BY_WEFT_STOP) else ""
    return BusyError(
        f"another Weft runs in {folder}: process {holder.pid}{command}, since {since}; wait until it has ended"
        f"{stops}",
        holder,
    )
