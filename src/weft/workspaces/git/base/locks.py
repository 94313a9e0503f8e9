"""The treatment of lock files that block git.

In a worktree of Weft in which no step runs, such a lock is removed once no process can own it: no process holds it
open, no git works in the worktree, and it has not changed for a moment. Elsewhere Weft removes only the locks of
its own killed gits (see `child_records`); any other lock may belong to the user, and the user decides.
"""

import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.base.lock_files import MOMENT, Pause, about_lock, is_stale, lock_in_the_way, users_of
from weft.workspaces.git.base.program import GitError

_OWN = ("index.lock", "HEAD.lock")
_LONGEST = 2.0
_CHECKS = 40


@contextmanager
def explain_lock_errors() -> Generator[None]:
    """Turns git's errors about a blocking lock into a `WorkspaceError` that says what to do."""
    try:
        yield
    except GitError as error:
        lock = lock_in_the_way(error.message)
        if lock is None:
            raise
        raise WorkspaceError(about_lock(lock)) from error


def remove_stale_locks(directory: Path, git_dir: Path, *, pause: Pause = time.sleep) -> None:
    """Removes the locks of dead gits from a worktree of Weft; waits a limited time for living gits."""
    # Only these two locks belong to a single worktree. Locks of refs are shared with the user's checkouts and
    # are left to `child_records`.
    for name in _OWN:
        _remove_when_stale(git_dir / name, directory, pause)


def _remove_when_stale(lock: Path, directory: Path, pause: Pause) -> None:
    wait = MOMENT
    for _ in range(_CHECKS):
        if not os.path.lexists(lock):
            return
        # `is_stale` pauses for `wait` seconds, so this loop does not spin.
        if is_stale(lock, directory, wait=wait, pause=pause):
            lock.unlink(missing_ok=True)
            return
        wait = min(2 * wait, _LONGEST)
    pids = ", ".join(str(pid) for pid in sorted(set(users_of(lock, directory)))) or "unknown"
    raise WorkspaceError(
        f"git is still running in {directory} (process {pids}) and has locked {lock}; wait until it has ended, "
        "or end it, and try again"
    )
