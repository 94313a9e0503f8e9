"""Locks of git's: a file `….lock` beside the file that is being written, made by a git and removed by it.

A git that is killed leaves its lock, and then no other can work there. In a worktree of ours, whose steps have
ended, such a lock goes once it is sure that nobody has it: no process has it open, no git works in the worktree,
and it is the same as a moment ago. Elsewhere it may be the user's, and the user decides.
"""

import os
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.program import GitError
from weft.workspaces.git.refs import about_lock, lock_in_the_way

Pause = Callable[[float], None]

_OWN = ("index.lock", "HEAD.lock")
_MOMENT = 0.1
_LONGEST = 2.0
_LOOKS = 40
_PROCESSES = Path("/proc")
_GONE = (FileNotFoundError, ProcessLookupError, PermissionError, NotADirectoryError)
"""A process that has ended, or is none of ours."""


@contextmanager
def locks_explained() -> Generator[None]:
    """What git says about a lock in its way becomes a sentence that says what to do."""
    try:
        yield
    except GitError as error:
        lock = lock_in_the_way(error.said)
        if lock is None:
            raise
        raise WorkspaceError(about_lock(lock)) from error


def free(directory: Path, git_dir: Path, *, pause: Pause = time.sleep) -> None:
    """Remove what a dead git has left in a worktree of ours. A living one is waited for, though not for ever."""
    for name in _OWN:
        _free(git_dir / name, directory, pause)


def _free(lock: Path, directory: Path, pause: Pause) -> None:
    wait = _MOMENT
    for _ in range(_LOOKS):
        if not os.path.lexists(lock):
            return
        if is_stale(lock, directory, wait=wait, pause=pause):
            lock.unlink(missing_ok=True)
            return
        wait = min(2 * wait, _LONGEST)
    pids = ", ".join(str(pid) for pid in sorted(set(users_of(lock, directory)))) or "unknown"
    raise WorkspaceError(
        f"git is still at work in {directory} (process {pids}) and has locked {lock}; wait until it has ended, "
        "or end it, and try again"
    )


def is_stale(lock: Path, directory: Path, *, wait: float = _MOMENT, pause: Pause = time.sleep) -> bool:
    """Whether nobody has this lock of a worktree."""
    before = _look(lock)
    pause(wait)
    return before is not None and before == _look(lock) and not any(users_of(lock, directory))


def _look(lock: Path) -> tuple[int, ...] | None:
    try:
        found = lock.lstat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def users_of(lock: Path, directory: Path) -> Iterator[int]:
    """Processes that have the lock open, and gits at work there, who may have closed it for a while."""
    identity = _look(lock)
    for process in _PROCESSES.iterdir():
        if process.name.isdigit():
            with suppress(*_GONE):
                if _is_git_in(process, directory) or _has_open(process, lock.name, identity):
                    yield int(process.name)


def _is_git_in(process: Path, directory: Path) -> bool:
    if not process.joinpath("comm").read_text(errors="replace").startswith("git"):
        return False
    return process.joinpath("cwd").readlink().is_relative_to(directory.resolve())


def _has_open(process: Path, name: str, identity: tuple[int, ...] | None) -> bool:
    if identity is None:
        return False
    for file in process.joinpath("fd").iterdir():
        with suppress(*_GONE):
            # By its name first: to ask a file about itself may take long, if it is on another machine.
            if file.readlink().name == name:
                found = file.stat()
                if (found.st_dev, found.st_ino) == identity[:2]:
                    return True
    return False
