"""A snapshot of a checkout with `git status`, cheap enough to take after each step of an agent.

git compares the times and sizes in its index and reads a file only where these differ. It does not write the
index, so it does not block the user's own git. Ignored files are skipped, and a new directory counts as one entry.
"""

import os
from pathlib import Path

from weft.ports.checkout import CheckoutState
from weft.workspaces.git.base.discovery import repository_around
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.status import parse_status
from weft.workspaces.git.checkouts.advance_branch import MOVING

SECONDS = 2.0
"""The time limit."""
_COMMAND = (
    *("--no-optional-locks", "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal"),
    *("--ignored=no", "--no-renames", "--no-ahead-behind", "--ignore-submodules=dirty"),
)


def read_checkout(git: Git, place: Path, *, seconds: float = SECONDS) -> CheckoutState | None:
    """Returns the files that differ from the commit; None if git cannot tell in time."""
    top = repository_around(place)
    if top is None:
        return None
    try:
        # While Weft itself fast-forwards this checkout, its files match no commit and would look like a
        # person's changes.
        with MOVING:
            answer = git.at(top).ask_within(seconds, *_COMMAND, stdin=b"")
    except OSError:
        return None
    if answer.exit_code:
        return None
    status = parse_status(answer.out)
    files = {os.fsdecode(difference.path): _stamp(top, difference.path) for difference in status.differences}
    return CheckoutState(status.head, files)


def _stamp(top: Path, path: bytes) -> tuple[int, ...]:
    try:
        status = os.lstat(os.fsencode(top) + b"/" + path)
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_size, status.st_mode, status.st_ino
