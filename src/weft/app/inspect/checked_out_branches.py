"""The directories in which branches are checked out, from the files of git."""

from pathlib import Path

from weft.safe_files import read_text


def worktrees_of(project: Path) -> dict[str, str]:
    """Returns the directory of each checked-out branch from git's files; empty if they cannot be read."""
    directories: dict[str, str] = {}
    # From git's files and not from `git worktree list`: `weft status` must answer at once and starts no process.
    for place in _registrations(project / ".git"):
        try:
            head, gitdir = read_text(place / "HEAD"), read_text(place / "gitdir")
        except (OSError, UnicodeDecodeError):
            continue
        if head.startswith("ref: refs/heads/"):
            directories[head.removeprefix("ref: refs/heads/").strip()] = str(Path(gitdir.strip()).parent)
    return directories


def _registrations(git: Path) -> list[Path]:
    try:
        if git.is_file():  # the project itself is a worktree, whose .git is a file
            git = Path(read_text(git).removeprefix("gitdir:").strip()).parents[1]
        return sorted((git / "worktrees").iterdir())
    except (OSError, IndexError, UnicodeDecodeError):
        return []
