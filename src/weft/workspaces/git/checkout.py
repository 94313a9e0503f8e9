"""A look at a checkout with `git status`, cheap enough for after each step of an agent.

Git compares the times and sizes in its index, and reads a file only where these differ. The index is not written,
so the user's own git is not in the way. Ignored files are not looked at, and of a new directory only the
directory itself.
"""

import os
from pathlib import Path

from weft.ports.checkout import CheckoutState
from weft.workspaces.git.base.discovery import repository_around
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.status import parse_status
from weft.workspaces.git.checkouts.advance_branch import MOVING

SECONDS = 2.0
"""A look that takes longer is given up."""
_COMMAND = (
    *("--no-optional-locks", "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal"),
    *("--ignored=no", "--no-renames", "--no-ahead-behind", "--ignore-submodules=dirty"),
)


def look_at(git: Git, place: Path, *, seconds: float = SECONDS) -> CheckoutState | None:
    """The files that differ there from the commit; None if git cannot tell in time."""
    top = repository_around(place)
    if top is None:
        return None
    try:
        with MOVING:
            answer = git.at(top).ask_within(seconds, *_COMMAND, stdin=b"")
    except OSError:
        return None
    if answer.exit_code:
        return None
    status = parse_status(answer.out)
    files = {os.fsdecode(each.path): _stamp(top, each.path) for each in status.differences}
    return CheckoutState(status.head, files)


def _stamp(top: Path, path: bytes) -> tuple[int, ...]:
    try:
        status = os.lstat(os.fsencode(top) + b"/" + path)
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_size, status.st_mode, status.st_ino
