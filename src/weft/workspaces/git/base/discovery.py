"""Whether a directory is in a repository, found without asking git."""

import os
from pathlib import Path


def has_repository(place: Path) -> bool:
    """Whether something that is, or was, a repository begins there.

    A broken one counts, so that git is asked and says what is wrong with it. An empty `.git` does not, for git as
    for us: sandboxes of agents put such in `/tmp` to mount something over them, and do not always take them away.
    """
    git = place / ".git"
    try:
        return os.path.lexists(git) and any(git.iterdir())
    except OSError:  # mostly as it is a file, which leads from a worktree to its repository
        return True


def repository_around(folder: Path) -> Path | None:
    """The nearest directory, upwards, in which a repository begins."""
    return next((place for place in (folder, *folder.parents) if has_repository(place)), None)
