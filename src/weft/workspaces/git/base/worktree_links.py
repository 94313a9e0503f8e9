"""The links between a worktree and its repository, read from git's own files without starting git.

In a worktree, `.git` is a file that names the worktree's *git directory*, a folder in `worktrees/` of the
repository. A file `gitdir` in that folder names the `.git` file in turn.
"""

import os
import stat
from pathlib import Path

from weft.ports.workspaces import CLONE
from weft.safe_files import UnsafeFileError, read_file, read_text
from weft.workspaces.errors import START_OVER, WorkspaceError

MAKING = "Weft is making it"
"""The reason with which an incomplete worktree is locked."""

_LARGEST = 1 << 20
_LINK_PREFIX = b"gitdir: "
_LONGEST = 64 * 1024
OPERATIONS = {
    "rebase-merge": "rebase",
    # The order matters: `git am` and an old-style rebase share a directory, and this file tells which of the
    # two it is.
    "rebase-apply/applying": "am",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}


def git_dir_of(directory: Path) -> Path:
    """Returns the git directory of a worktree.

    Raises `WorkspaceError` if the directory is no registered worktree.
    """
    _require_directory(directory)
    link = directory / ".git"
    try:
        content = read_file(link, most=_LARGEST)
    except FileNotFoundError:
        raise WorkspaceError(
            f"{directory} is not a worktree: it has no file `.git`, so git would treat it as part of the "
            f"directory around it; move it away; {START_OVER}"
        ) from None
    except UnsafeFileError as error:
        if link.is_symlink() or not link.is_dir():
            raise WorkspaceError(f"{error}; remove it and type `git worktree repair`") from None
        raise WorkspaceError(
            f"{directory} is a repository of its own, as if made by `git init`: its `.git` is a directory; "
            f"move {link} away and type `git worktree repair`"
        ) from None
    if not content.startswith(_LINK_PREFIX):
        raise WorkspaceError(f"{link} does not name its repository; type `git worktree repair`")
    git_dir = _git_dir(directory, content)
    if not git_dir.is_dir():
        raise WorkspaceError(
            f"{directory} is no longer registered as a worktree: {git_dir} does not exist; save what you need, "
            f"and move it away; {START_OVER}"
        )
    return git_dir


def _require_directory(directory: Path) -> None:
    try:
        mode = directory.lstat().st_mode
    except FileNotFoundError:
        raise WorkspaceError(f"the worktree {directory} does not exist; put it back; {START_OVER}") from None
    if not stat.S_ISDIR(mode):
        raise WorkspaceError(
            f"{directory} must be a worktree, but is not a directory or is a symbolic link; remove it; "
            f"{START_OVER}"
        )


def require_registered(directory: Path, git_dir: Path, common: Path) -> None:
    """Raises `WorkspaceError` unless the worktree and this repository lead to each other."""
    if git_dir.resolve().parent != common.resolve() / "worktrees":
        raise WorkspaceError(
            f"{directory} is a worktree of another repository: its `.git` points to {git_dir}, not into {common}; "
            f"move it away; {START_OVER}"
        )
    back = text_of(git_dir / "gitdir")
    if back is None or (git_dir / back).resolve() != (directory / ".git").resolve():
        raise WorkspaceError(
            f"the repository has no worktree {directory}: its entry names {back or 'nothing'}; "
            f"if it was moved, type `git worktree repair {directory}`"
        )


def is_plainly_on(git_dir: Path, common: Path, branch: str) -> bool:
    """Returns whether the files of a registered worktree leave no doubt that git sees it there, on this branch.

    git takes the place of a linked worktree from its own settings only, and those are in `config.worktree`.
    """
    return (
        text_of(git_dir / "HEAD") == f"ref: {branch}"
        and _is_in(git_dir, text_of(git_dir / "commondir"), common)
        and not os.path.lexists(git_dir / "config.worktree")
    )


def _is_in(git_dir: Path, shared: str | None, common: Path) -> bool:
    return shared is not None and (git_dir / shared).resolve() == common.resolve()


def is_unfinished(git_dir: Path) -> bool:
    """Returns whether the creation of the worktree was interrupted."""
    return text_of(git_dir / "locked") == MAKING


def operation_in(git_dir: Path) -> str | None:
    """Returns the git command that is unfinished in a worktree or its clone, such as `rebase`."""
    return own_operation_in(git_dir) or operation_in_clone(git_dir)


def own_operation_in(git_dir: Path) -> str | None:
    """Returns the git command that is unfinished in the worktree itself."""
    return next((name for file, name in OPERATIONS.items() if (git_dir / file).exists()), None)


def operation_in_clone(git_dir: Path) -> str | None:
    """Returns the git command that is unfinished in the worktree's clone."""
    clone = clone_of(git_dir)
    if clone is None:
        return None
    return next((name for file, name in OPERATIONS.items() if os.path.lexists(clone / file)), None)


def clone_of(git_dir: Path) -> Path | None:
    """Returns the clone's git directory; None if the steps use the git directory of the worktree."""
    clone = git_dir / CLONE / "git"
    return clone if clone.is_dir() and not clone.is_symlink() else None


def place_of(directory: Path) -> Path | None:
    """Returns the git directory of a worktree with a clone for its steps; None for any other directory."""
    try:
        content = _read_plain(directory / ".git")
    except OSError:
        return None
    git_dir = _git_dir(directory, content) if content.startswith(_LINK_PREFIX) else None
    return None if git_dir is None or clone_of(git_dir) is None else git_dir


def shared_git_dir(checkout: Path) -> Path | None:
    """Returns the git directory that all checkouts share, from the files of one; None if only git can tell."""
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
    """Returns the git directory of a checkout, given its top; None if only git can tell."""
    link = checkout / ".git"
    try:
        if link.is_dir():
            return link.resolve()
        content = _read_plain(link)
    except OSError:
        return None
    return _git_dir(checkout, content) if content.startswith(_LINK_PREFIX) else None


def _read_plain(file: Path) -> bytes:
    """Returns the contents of a small file without following links or waiting for a pipe."""
    # This runs for every `Git` object, on a file that a step can replace at any time.
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        return os.read(descriptor, _LONGEST)
    finally:
        os.close(descriptor)


def _git_dir(directory: Path, content: bytes) -> Path:
    """Returns the git directory that a `.git` file names; for a clone, the git directory that contains it."""
    pointer = os.fsdecode(content.removeprefix(_LINK_PREFIX).strip(b"\n"))
    # A relative link starts with `..`, so the path is normalised as text and no link in it is followed.
    git_dir = Path(os.path.normpath(os.path.join(os.path.realpath(directory), pointer)))  # noqa: PTH118 - a text
    # Without a sandbox, `.git` leads to the clone while steps run. Weft's git must never read the clone's
    # configuration, so it always works with the registration around it.
    return git_dir.parent.parent if git_dir.parent.name == CLONE else git_dir


def refuse_operation(directory: Path, git_dir: Path) -> None:
    name = operation_in(git_dir)
    if name is not None:
        raise WorkspaceError(
            f"a `git {name}` is unfinished in {directory}; finish it there, or type: git -C {directory} {name} "
            f"--abort"
        )


def text_of(file: Path) -> str | None:
    """Returns the text of a small file without its final newline; None if there is no such regular file."""
    try:
        return os.fsdecode(read_file(file, most=_LARGEST)).rstrip("\n")
    except (FileNotFoundError, NotADirectoryError, UnsafeFileError):
        return None
