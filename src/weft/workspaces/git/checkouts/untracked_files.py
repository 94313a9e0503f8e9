"""Files that are not in the repository and are brought into a fresh worktree: `.env`, dependencies, large data.

Which ones is said by the globs `copy` and `link` of a slice, and by a file `.worktreeinclude` at the top of the
user's checkout, as other tools know it, too: in the syntax of `.gitignore` it names files that git ignores and
that are to be copied nevertheless. What the worktree's commit has is never replaced, nor what anybody else put
there.

What was brought is noted in the worktree's git directory before the first file is made: it is no work of the slice
and is not committed, and after a crash it is known that these files may be replaced.
"""

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from msgspec import Struct

from weft.safe_files import open_folder, read_file
from weft.workspaces.changes import FileVersion, folders_of
from weft.workspaces.contents import NEW, copied, save
from weft.workspaces.errors import shown
from weft.workspaces.git.base.program import Git, GitError
from weft.workspaces.git.base.worktree_links import git_dir_of
from weft.workspaces.safe_walk import FOLDER_FLAGS, Cursor
from weft.workspaces.untracked_files import FileSource, Part, given, open_plan_dir

_LARGEST_NOTE = 1 << 28
_NOTE = "weft-brought"
_INCLUDE = ".worktreeinclude"
_NEVER = frozenset({b".git", b".weft"})
_IN_THE_WAY = (NotADirectoryError, FileNotFoundError)


class BroughtFiles(Struct, frozen=True, kw_only=True):
    """Paths from the root of the worktree, for people."""

    files: tuple[str, ...]
    left_out: tuple[str, ...]
    """What was to be brought, and something else is in its place."""


Wanted = dict[bytes, tuple[Path, bytes, Part]]
"""By the path in the worktree: where it comes from, its path there, and what is to become of it."""


def brought_into(git_dir: Path) -> frozenset[bytes]:
    """Paths from the root of the worktree; what is below them is meant, too."""
    try:
        note = read_file(git_dir / _NOTE, most=_LARGEST_NOTE)
    except FileNotFoundError:
        return frozenset()
    return frozenset(note.split(b"\0")) - {b""}


def is_in(paths: frozenset[bytes], path: bytes) -> bool:
    return bool(paths) and (path in paths or not paths.isdisjoint(folders_of((path,))))


def bring(
    plan_dir: Path,
    worktree_inside: Path,
    *,
    copy: Sequence[str],
    link: Sequence[str],
    top: Path,
    worktree: Path,
) -> BroughtFiles:
    """Done again, it brings what there is then."""
    git_dir = git_dir_of(worktree)
    inside = os.fsencode(worktree_inside.relative_to(worktree)) + b"/"
    wanted: Wanted = {path: (top, path, FileSource.COPIED) for path in _included(top)}
    for path, part in given(plan_dir, copy, link).items():
        wanted[(inside + path).removeprefix(b"./")] = (plan_dir, path, part)
    before = brought_into(git_dir)
    if not wanted and not before:
        return BroughtFiles(files=(), left_out=())
    tracked = _tracked(worktree)
    with Cursor(os.open(worktree, FOLDER_FLAGS)) as cursor:
        _remove(cursor, sorted(path for path in before if not _meets(path, tracked)))
        free = sorted(
            path for path in _allowed(wanted) if not _meets(path, tracked) and _is_free(cursor, path)
        )
        _note(git_dir, before.union(free))
        _place(cursor, {path: wanted[path] for path in free})
    left_out = wanted.keys() - set(free)
    return BroughtFiles(files=tuple(map(shown, free)), left_out=tuple(map(shown, sorted(left_out))))


# Which files


def _included(top: Path) -> list[bytes]:
    """What `.worktreeinclude` names of what git ignores."""
    if not (top / _INCLUDE).is_file():
        return []
    git = Git(top, works=True)
    named = git.do(
        *("ls-files", "-z", "--others", "--ignored", f"--exclude-from={_INCLUDE}"),
        *("--", ".", ":(exclude,top).weft"),
    )
    command = ("check-ignore", "-z", "--stdin")
    answer = git.ask(*command, stdin=named)
    if answer.exit_code not in {0, 1}:  # 1: none of them
        raise GitError(command, answer.exit_code, answer.message)
    return [path for path in answer.out.split(b"\0") if path and not path.endswith(b"/")]


def _allowed(wanted: Wanted) -> list[bytes]:
    """What is below a link is there with it."""
    return [
        path
        for path in wanted
        if _NEVER.isdisjoint(path.split(b"/")) and wanted.keys().isdisjoint(folders_of((path,)))
    ]


def _tracked(worktree: Path) -> tuple[frozenset[bytes], frozenset[bytes]]:
    """The files of the worktree's commit, and their folders."""
    listed = Git(worktree, works=True).do("ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD")
    files = frozenset(path for path in listed.split(b"\0") if path)
    return files, frozenset(folders_of(files))


def _meets(path: bytes, tracked: tuple[frozenset[bytes], frozenset[bytes]]) -> bool:
    files, folders = tracked
    return path in folders or is_in(files, path)


def take_as_brought(git: Git, git_dir: Path) -> None:
    """What is there by now and is in no commit came with the set-up; `git` is at the top of the worktree.

    File by file: what a step adds to a directory that the set-up made is the step's work.
    """
    others = git.do("ls-files", "--others", "--exclude-standard", "-z")
    made = {path.rstrip(b"/") for path in others.split(b"\0") if path}
    if made:
        _note(git_dir, brought_into(git_dir) | made)


def _note(git_dir: Path, paths: Iterable[bytes]) -> None:
    with open_folder(git_dir) as folder:
        save(folder.descriptor, _NOTE, b"".join(path + b"\0" for path in sorted(paths)))


# In the worktree


def _remove(cursor: Cursor, paths: Sequence[bytes]) -> None:
    """Those that are files or links."""
    for path in paths:
        *folders, name = path.split(b"/")
        with suppress(*_IN_THE_WAY, IsADirectoryError):
            cursor.go(folders)
            os.unlink(name, dir_fd=cursor.fd)


def _is_free(cursor: Cursor, path: bytes) -> bool:
    """Whether nothing is there, and nothing but directories on the way to it; an empty directory is nothing."""
    *folders, name = path.split(b"/")
    try:
        cursor.go(folders)
    except FileNotFoundError:
        return True
    except OSError:  # a file, or a link
        return False
    with suppress(OSError):
        os.rmdir(name, dir_fd=cursor.fd)
    try:
        os.stat(name, dir_fd=cursor.fd, follow_symlinks=False)
    except FileNotFoundError:
        return True
    return False


def _place(target: Cursor, wanted: Mapping[bytes, tuple[Path, bytes, Part]]) -> None:
    with ExitStack() as stack:
        sources: dict[Path, Cursor] = {}
        for path, (root, original, part) in wanted.items():
            *folders, name = path.split(b"/")
            _go(target, folders)
            if isinstance(part, FileVersion):
                os.symlink(part.content, name, dir_fd=target.fd)
                continue
            if root not in sources:
                sources[root] = stack.enter_context(open_plan_dir(root))
            *folders, original_name = original.split(b"/")
            sources[root].go(folders)
            _copy(sources[root], original_name, target, name)


def _go(cursor: Cursor, folders: Sequence[bytes]) -> None:
    for depth in range(1, len(folders) + 1):
        try:
            cursor.go(folders[:depth])
        except FileNotFoundError:
            cursor.go(folders[: depth - 1])
            os.mkdir(folders[depth - 1], dir_fd=cursor.fd)
    cursor.go(folders)


def _copy(source: Cursor, original: bytes, target: Cursor, name: bytes) -> None:
    """With its permissions: who may not read the original may not read the copy."""
    kind = os.stat(original, dir_fd=source.fd, follow_symlinks=False).st_mode
    if stat.S_ISLNK(kind):
        os.symlink(os.readlink(original, dir_fd=source.fd), name, dir_fd=target.fd)
        return
    old = source.open(original, os.O_RDONLY)
    try:
        new = target.open(name, NEW, 0o600)
        try:
            copied(old, new)
            os.fchmod(new, stat.S_IMODE(os.fstat(old).st_mode) & 0o777)
        finally:
            os.close(new)
    finally:
        os.close(old)
