"""The parts of a repository that a step sees in its sandbox.

The steps of a slice have their own git directory, the clone, and may change it at will: Weft fetches their commits
as untrusted work. A file that names the clone is mounted over the file `.git` of the workspace, because a mount
point can neither be moved nor removed. The clone borrows the objects of the repository, which are readable.
Nothing else of the repository is visible: no refs, logs, configuration or hooks, and not the git directory that
Weft itself uses for the same files.

A workspace without a clone, or a directory that contains a whole repository, can only read the repository.
"""

from collections.abc import Iterator
from pathlib import Path

from weft.ports.workspaces import CLONE
from weft.runtime.sandbox.call import PathAccess, SandboxPath
from weft.safe_files import read_file


def git_places(workspace: Path) -> Iterator[SandboxPath]:
    """Yields the places of the repository. Not all of them need exist."""
    git = workspace / ".git"
    yield _read(git)
    own = _own_directory(git)
    if own is None:
        return
    common = own.parent.parent
    clone = own / CLONE
    if not (clone / "git").is_dir():
        yield _read(common)
        return
    yield SandboxPath(str(common), PathAccess.EMPTY)
    yield _read(common / "objects")
    yield from map(_read, _alternates(common / "objects"))
    yield SandboxPath(str(clone / "git"), PathAccess.WRITE)
    yield SandboxPath(str(git), PathAccess.COVERED, str(clone / "link"))


def top_of(workspace: Path) -> Path:
    """Returns the root of the worktree with a clone around the workspace; without one, the workspace."""
    return next((folder for folder in (workspace, *workspace.parents) if _has_clone(folder)), workspace)


def _has_clone(folder: Path) -> bool:
    own = _own_directory(folder / ".git")
    return own is not None and (own / CLONE / "git").is_dir()


def _read(path: Path) -> SandboxPath:
    return SandboxPath(str(path), PathAccess.READ)


def _own_directory(git: Path) -> Path | None:
    """Returns the git directory of a linked worktree; None if the repository does not refer back to it."""
    if git.is_symlink() or not git.is_file():
        return None
    own = Path(_text(git).removeprefix("gitdir:").strip()).resolve()
    if own.parent.name == CLONE:
        own = own.parent.parent
    # The file `.git` belongs to the step. It is believed only if the directory it names refers back to it;
    # otherwise a step could have any directory mounted.
    common = (own / _text(own / "commondir").strip()).resolve()
    back = Path(_text(own / "gitdir").strip())
    return own if own.parent == common / "worktrees" and back.resolve() == git.resolve() else None


def _alternates(objects: Path) -> Iterator[Path]:
    """Yields the alternate object directories."""
    for line in _text(objects / "info" / "alternates").splitlines():
        if line and not line.startswith(("#", '"')):
            yield (objects / line).resolve()


def _text(file: Path) -> str:
    try:
        return read_file(file, most=1 << 24).decode(errors="surrogateescape")
    except OSError:
        return ""
