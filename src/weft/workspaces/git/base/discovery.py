"""Search for the repository that contains a directory, without starting git."""

import os
from pathlib import Path


def has_repository(place: Path) -> bool:
    """Returns whether the directory is the root of a repository, possibly a broken one.

    A broken repository counts, so that git is started and reports what is wrong. An empty `.git` does not count,
    as for git itself: sandboxes of agents create empty ones in `/tmp` as mount points and do not always remove
    them.
    """
    git = place / ".git"
    try:
        return os.path.lexists(git) and any(git.iterdir())
    except OSError:  # usually a file that leads from a worktree to its repository
        return True


def repository_around(folder: Path) -> Path | None:
    """Returns the nearest directory, from `folder` upwards, that is the root of a repository."""
    return next((place for place in (folder, *folder.parents) if has_repository(place)), None)
