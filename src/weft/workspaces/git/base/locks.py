"""What becomes of a lock file of git's that is in the way.

In a worktree of ours, whose steps have ended, such a lock goes once it is sure that nobody has it: no process has
it open, no git works in the worktree, and it is the same as a moment ago. Elsewhere Weft removes only what its own
children left (see `children`); another may be the user's, and the user decides.
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
_LOOKS = 40


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
    wait = MOMENT
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
