"""What of a repository a step sees in its sandbox.

The steps of a slice have a git directory of their own, their clone, which they may change as they like: Weft takes
in what they have committed there like the work of a stranger. It is shown by a file that is mounted over the file
`.git` of the workspace; a mount point can neither be moved nor removed. The clone borrows the objects of the
repository, which can be read. All else of the repository is not there: refs, logs, configuration, hooks, and the
git directory with which Weft itself works on the same files.

A workspace without a clone, and a directory that has a whole repository in it, can only read that.
"""

from collections.abc import Iterator
from pathlib import Path

from weft.ports.workspaces import CLONE
from weft.runtime.sandbox.call import PathAccess, SandboxPath
from weft.safe_files import read_file


def git_places(workspace: Path) -> Iterator[SandboxPath]:
    """Not all of them exist."""
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
    """The root of the worktree with a clone that a workspace is in; else the workspace."""
    return next((folder for folder in (workspace, *workspace.parents) if _has_clone(folder)), workspace)


def _has_clone(folder: Path) -> bool:
    own = _own_directory(folder / ".git")
    return own is not None and (own / CLONE / "git").is_dir()


def _read(path: Path) -> SandboxPath:
    return SandboxPath(str(path), PathAccess.READ)


def _own_directory(git: Path) -> Path | None:
    """That of a linked worktree, if repository and worktree agree about it; None: it is something else."""
    if git.is_symlink() or not git.is_file():
        return None
    own = Path(_text(git).removeprefix("gitdir:").strip()).resolve()
    if own.parent.name == CLONE:
        own = own.parent.parent
    common = (own / _text(own / "commondir").strip()).resolve()
    back = Path(_text(own / "gitdir").strip())
    return own if own.parent == common / "worktrees" and back.resolve() == git.resolve() else None


def _alternates(objects: Path) -> Iterator[Path]:
    """Other object stores that it takes from."""
    for line in _text(objects / "info" / "alternates").splitlines():
        if line and not line.startswith(("#", '"')):
            yield (objects / line).resolve()


def _text(file: Path) -> str:
    try:
        return read_file(file, most=1 << 24).decode(errors="surrogateescape")
    except OSError:
        return ""
