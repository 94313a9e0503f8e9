"""How a worktree and its repository lead to each other, read from small files of git's without asking git.

In a worktree `.git` is a file that names the worktree's *git directory*, one of those in `worktrees/` of the
repository; there a file `gitdir` names the file `.git` in turn.
"""

import os
import stat
from pathlib import Path

from weft.ports.workspaces import CLONE
from weft.safe_files import UnsafeFileError, read_file, read_text
from weft.workspaces.errors import ANEW, WorkspaceError

MAKING = "Weft is making it"
"""Why a worktree is locked as long as it is not whole."""

_LARGEST = 1 << 20
_POINTS = b"gitdir: "
_LONGEST = 64 * 1024
OPERATIONS = {
    "rebase-merge": "rebase",
    "rebase-apply/applying": "am",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}


def git_dir_of(directory: Path) -> Path:
    """Raises `WorkspaceError` if the directory is no worktree, or not one of a repository any more."""
    _require_directory(directory)
    link = directory / ".git"
    try:
        content = read_file(link, most=_LARGEST)
    except FileNotFoundError:
        raise WorkspaceError(
            f"{directory} is no worktree: it has no file `.git`, so git would take it for a part of what is "
            f"around it; move it away; {ANEW}"
        ) from None
    except UnsafeFileError as error:
        if link.is_symlink() or not link.is_dir():
            raise WorkspaceError(f"{error}; remove it and type `git worktree repair`") from None
        raise WorkspaceError(
            f"{directory} is a repository of its own, as if made by `git init`: its `.git` is a directory; "
            f"move {link} away and type `git worktree repair`"
        ) from None
    if not content.startswith(_POINTS):
        raise WorkspaceError(f"{link} does not say where its repository is; type `git worktree repair`")
    git_dir = _git_dir(directory, content)
    if not git_dir.is_dir():
        raise WorkspaceError(
            f"{directory} is not registered as a worktree any more: {git_dir} is gone; save what you want of it, "
            f"and move it away; {ANEW}"
        )
    return git_dir


def _require_directory(directory: Path) -> None:
    try:
        mode = directory.lstat().st_mode
    except FileNotFoundError:
        raise WorkspaceError(f"the worktree {directory} is gone; put it back; {ANEW}") from None
    if not stat.S_ISDIR(mode):
        raise WorkspaceError(
            f"{directory} is to be a worktree, and is no directory, or a link to one; remove it; {ANEW}"
        )


def require_registered(directory: Path, git_dir: Path, common: Path) -> None:
    """That the worktree is one of this repository, and the repository says so, too."""
    if git_dir.resolve().parent != common.resolve() / "worktrees":
        raise WorkspaceError(
            f"{directory} is a worktree of another repository: its `.git` leads to {git_dir}, and not into "
            f"{common}; move it away; {ANEW}"
        )
    back = text_of(git_dir / "gitdir")
    if back is None or (git_dir / back).resolve() != (directory / ".git").resolve():
        raise WorkspaceError(
            f"the repository does not know {directory}: in its place it knows {back or 'nothing'}; "
            f"if it was moved, type `git worktree repair {directory}`"
        )


def is_unfinished(git_dir: Path) -> bool:
    """Whether the worktree was not made to its end."""
    return text_of(git_dir / "locked") == MAKING


def operation_in(git_dir: Path) -> str | None:
    """The command of git that was begun in a worktree, or in its clone, and waits for somebody to go on."""
    return own_operation_in(git_dir) or operation_in_clone(git_dir)


def own_operation_in(git_dir: Path) -> str | None:
    return next((name for file, name in OPERATIONS.items() if (git_dir / file).exists()), None)


def operation_in_clone(git_dir: Path) -> str | None:
    place = clone_of(git_dir)
    if place is None:
        return None
    return next((name for file, name in OPERATIONS.items() if os.path.lexists(place / file)), None)


def clone_of(git_dir: Path) -> Path | None:
    """The git directory that the steps in a worktree have for themselves; None: they use that of the worktree."""
    place = git_dir / CLONE / "git"
    return place if place.is_dir() and not place.is_symlink() else None


def place_of(directory: Path) -> Path | None:
    """The git directory of a worktree whose steps have a clone; None if it is not such a worktree."""
    try:
        content = _read_plain(directory / ".git")
    except OSError:
        return None
    git_dir = _git_dir(directory, content) if content.startswith(_POINTS) else None
    return None if git_dir is None or clone_of(git_dir) is None else git_dir


def shared_git_dir(checkout: Path) -> Path | None:
    """The directory that all checkouts share, read from the files at the top of one; None if only git can tell."""
    link = checkout / ".git"
    try:
        if link.is_dir():
            is_plain = (link / "HEAD").is_file() and not (link / "commondir").exists()
            return link.resolve() if is_plain else None
        folder = checkout / read_text(link).rstrip("\n").removeprefix("gitdir: ")
        return (folder / read_text(folder / "commondir").rstrip("\n")).resolve(strict=True)
    except (OSError, ValueError):
        return None


def git_dir_at(checkout: Path) -> Path | None:
    """The git directory of a checkout, from its top; None if only git can tell."""
    link = checkout / ".git"
    try:
        if link.is_dir():
            return link.resolve()
        content = _read_plain(link)
    except OSError:
        return None
    return _git_dir(checkout, content) if content.startswith(_POINTS) else None


def _read_plain(file: Path) -> bytes:
    """Of a small file that is no link; nothing is waited for."""
    opened = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        return os.read(opened, _LONGEST)
    finally:
        os.close(opened)


def _git_dir(directory: Path, content: bytes) -> Path:
    """What a file `.git` leads to, or of a clone that which it is in."""
    pointer = os.fsdecode(content.removeprefix(_POINTS).strip(b"\n"))
    # A relative one begins with `..`, which is no step down from a directory that is trusted.
    git_dir = Path(os.path.normpath(os.path.join(os.path.realpath(directory), pointer)))  # noqa: PTH118 - a text
    return git_dir.parent.parent if git_dir.parent.name == CLONE else git_dir


def refuse_operation(directory: Path, git_dir: Path) -> None:
    name = operation_in(git_dir)
    if name is not None:
        raise WorkspaceError(
            f"a `git {name}` is unfinished in {directory}; finish it there, or type: "
            f"git -C {directory} {name} --abort"
        )


def text_of(file: Path) -> str | None:
    """Of a small file, without the end of its line; None if it is not there, or something else is."""
    try:
        return os.fsdecode(read_file(file, most=_LARGEST)).rstrip("\n")
    except (FileNotFoundError, NotADirectoryError, UnsafeFileError):
        return None
