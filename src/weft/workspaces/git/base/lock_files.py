"""git's lock files: a file `….lock` beside the file that git writes, created and removed by git.

A killed git leaves its lock file, and then no other git can write there. A lock file does not name the process
that created it, so Weft looks at processes instead: which of them have the file open, which gits work in that
checkout, and which of those were alive when the file was last written.
"""

import os
import re
import shlex
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

Pause = Callable[[float], None]

MOMENT = 0.1
_PROCESSES = Path("/proc")
_GONE = (FileNotFoundError, ProcessLookupError, PermissionError, NotADirectoryError)
"""Errors for a process that has ended or belongs to another user."""
_COMPLAINTS = (
    r"Unable to create '(.+?\.lock)': File exists",
    r"unable to create file (\S.*?/packed-refs\.new): File exists",
    r"could not lock config file (.+?): File exists",
)
_NEVER_LOCK = frozenset(
    (
        *("log", "show", "blame", "grep", "cat-file", "rev-list", "rev-parse", "for-each-ref", "ls-files"),
        *("fsmonitor--daemon", "credential-cache--daemon", "upload-pack", "daemon"),
    )
)
"""Commands of other people's gits that take no lock, however long they run."""
_SLACK = 2.0
"""Seconds by which a process's start time can differ from the clock of the file system."""


# git's messages


def lock_in_the_way(message: str) -> str | None:
    """Returns the lock file that git could not create, if the message is about one."""
    for complaint in _COMPLAINTS:
        match = re.search(complaint, message, re.DOTALL)
        if match:
            return match[1] if match[1].endswith((".lock", ".new")) else f"{match[1]}.lock"
    return None


def about_lock(lock: str) -> str:
    """Returns the message about a lock file that blocks git."""
    return (
        f"another git is running, or a killed one has left its lock {lock}; if no git runs in this repository, "
        f"type: rm {shlex.quote(lock)}"
    )


# Owners of lock files


def identity_of(lock: Path) -> tuple[int, ...] | None:
    """Returns the device, inode, size and time that identify a lock file; None if it does not exist."""
    try:
        status = lock.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def is_stale(lock: Path, directory: Path, *, wait: float = MOMENT, pause: Pause = time.sleep) -> bool:
    """Returns whether no process owns this lock of a worktree."""
    before = identity_of(lock)
    pause(wait)
    return before is not None and before == identity_of(lock) and not any(users_of(lock, directory))


def users_of(lock: Path, directory: Path) -> Iterator[int]:
    """Yields the processes that have the lock open, and the gits in the directory, which may have closed it."""
    identity = identity_of(lock)
    for process in _processes():
        with suppress(*_GONE):
            # git closes some locks before it renames them, so an open file alone would not show every owner.
            if (_is_git(process) and _place(process).is_relative_to(directory.resolve())) or _has_open(
                process, lock.name, identity
            ):
                yield int(process.name)


class Checkouts(Struct, frozen=True, kw_only=True):
    """The directories in which gits can work on a repository."""

    common: Path
    roots: Collection[Path]

    def root_of(self, place: Path) -> Path | None:
        """Returns the innermost checkout around a directory. Worktrees of slices lie in the user's checkout."""
        around = (root for root in self.roots if place.is_relative_to(root))
        return max(around, key=lambda root: len(root.parts), default=None)


def holders_of(lock: Path, checkouts: Checkouts, checkout: Path | None) -> Iterator[int]:
    """Yields living processes that can have created a lock file.

    They have it open, or they are gits that were running when it was written. Only gits in `checkout` create this
    lock; if it is None, the gits of all checkouts do.
    """
    identity = identity_of(lock)
    if identity is None:
        return
    written = identity[3] / 1e9
    for process in _processes():
        with suppress(*_GONE):
            if _has_open(process, lock.name, identity) or (
                _is_git(process)
                # A git that started after the lock was written cannot have created it. Without this test, a
                # user's editor that runs git all the time would keep a stale lock alive for ever.
                and _start_time(process) <= written + _SLACK
                and _can_lock(process)
                and _works_on(process, checkouts, checkout)
            ):
                yield int(process.name)


def _processes() -> Iterator[Path]:
    return (process for process in _PROCESSES.iterdir() if process.name.isdigit())


def _is_git(process: Path) -> bool:
    # This also matches the helper programs of git, such as `git-remote-https`.
    return process.joinpath("comm").read_text(errors="replace").startswith("git")


def _place(process: Path) -> Path:
    return process.joinpath("cwd").readlink()


def _can_lock(process: Path) -> bool:
    words = process.joinpath("cmdline").read_bytes().split(b"\0")
    # Long-lived readers, such as a pager on `git log` or the fsmonitor daemon, would otherwise keep every lock
    # in doubt.
    return not any(os.fsdecode(word) in _NEVER_LOCK for word in words)


def _works_on(process: Path, checkouts: Checkouts, checkout: Path | None) -> bool:
    root = checkouts.root_of(_place(process))
    if root is not None:
        return checkout is None or root == checkout
    # A git in another directory can work on this repository through an option or a variable.
    common = os.fsencode(checkouts.common)
    return any(common in process.joinpath(file).read_bytes() for file in ("cmdline", "environ"))


def _start_time(process: Path) -> float:
    """Returns the start time of a process in seconds since the epoch."""
    # The second field is the program's name in parentheses and may contain spaces and parentheses itself, so
    # the split starts after the last one. Field 22 of proc(5), here the 20th, is the start in clock ticks after
    # boot.
    fields = process.joinpath("stat").read_text(errors="replace").rpartition(")")[2].split()
    return _boot_time() + int(fields[19]) / os.sysconf("SC_CLK_TCK")


def _boot_time() -> float:
    lines = (_PROCESSES / "stat").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("btime "))


def _has_open(process: Path, name: str, identity: tuple[int, ...] | None) -> bool:
    if identity is None:
        return False
    for file in process.joinpath("fd").iterdir():
        with suppress(*_GONE):
            # Compare names first: stat() can take long for a file on a network file system.
            if file.readlink().name == name:
                status = file.stat()
                if (status.st_dev, status.st_ino) == identity[:2]:
                    return True
    return False
