"""What of a repository a worktree needs to be worked in, also to commit; and what nobody may change from inside.

A linked worktree has a file `.git`, a directory of its own in the repository (HEAD, index), and shares the rest.
Whoever can change configuration or hooks, or lead git to others, has the next git that runs outside do what it
wants. So of what is shared only two things can be changed: the objects, without packs and alternates; and the refs
in the directory of the worktree's branch, which are those of the same plan. Git makes new files there and renames
them, so nothing finer can be said. Files that must stay as they are, in directories that are written, are places
of their own: such cannot be replaced either.

A directory that has a whole repository in it can only read that.
"""

from collections.abc import Iterator
from pathlib import Path

from weft.runtime.sandbox.call import Place, Seen

_LEADING = ("commondir", "gitdir", "config.worktree")
"""Files of the worktree's own directory that say what counts."""
_HEADS = ("refs", "heads")


def git_places(workspace: Path) -> Iterator[Place]:
    """Not all of them exist."""
    git = workspace / ".git"
    yield _read(git)
    own = _own_directory(git)
    if own is None:
        return
    common = own.parent.parent
    yield _read(common)
    yield _write(common / "objects")
    for name in ("pack", "info"):
        yield _read(common / "objects" / name)
    yield from map(_read, _alternates(common / "objects"))
    for folder in _branch_folder(own):
        yield _write(common / folder)
        yield _write(common / "logs" / folder)
    yield _write(own)
    _keep_configuration(own, common)
    for name in _LEADING:
        yield _read(own / name)


def _read(path: Path) -> Place:
    return Place(str(path), Seen.READ)


def _write(path: Path) -> Place:
    return Place(str(path), Seen.WRITE)


def _own_directory(git: Path) -> Path | None:
    """That of a linked worktree, if repository and worktree agree about it; None: it is something else."""
    if git.is_symlink() or not git.is_file():
        return None
    own = Path(_said(git).removeprefix("gitdir:").strip()).resolve()
    common = (own / _said(own / "commondir").strip()).resolve()
    back = Path(_said(own / "gitdir").strip())
    return own if own.parent == common / "worktrees" and back.resolve() == git.resolve() else None


def _branch_folder(own: Path) -> Iterator[Path]:
    """Where the ref of its branch lies, if that is not among the user's own branches."""
    parts = Path(_said(own / "HEAD").removeprefix("ref:").strip()).parent.parts
    if parts[:2] == _HEADS and len(parts) > len(_HEADS) and ".." not in parts:
        yield Path(*parts)


def _alternates(objects: Path) -> Iterator[Path]:
    """Other object stores that it takes from."""
    for line in _said(objects / "info" / "alternates").splitlines():
        if line and not line.startswith(("#", '"')):
            yield (objects / line).resolve()


def _keep_configuration(own: Path, common: Path) -> None:
    """A file that counts and is not there could be made; so it is there, and empty."""
    if "worktreeconfig" in _said(common / "config").lower():
        (own / "config.worktree").touch()


def _said(file: Path) -> str:
    try:
        return file.read_text(errors="surrogateescape")
    except OSError:
        return ""
