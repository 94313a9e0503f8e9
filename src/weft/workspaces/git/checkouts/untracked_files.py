"""Untracked files that Weft copies or links into a new worktree: `.env`, dependencies, large data.

The globs `copy` and `link` of a slice select them, and so does a file `.worktreeinclude` at the top of the user's
checkout, which other tools support, too: in the syntax of `.gitignore`, it names ignored files to copy
nevertheless. Files of the worktree's commit, and files that came there in any other way, are never replaced.

A note in the worktree's git directory lists these files before the first one is created. They are no work of the
slice and are not committed, and after a crash they may be replaced.
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
from weft.workspaces.untracked_files import FileSource, Part, open_plan_dir, select_files

_LARGEST_NOTE = 1 << 28
_NOTE = "weft-brought"
_INCLUDE = ".worktreeinclude"
_NEVER = frozenset({b".git", b".weft"})
_IN_THE_WAY = (NotADirectoryError, FileNotFoundError)


class CopiedFiles(Struct, frozen=True, kw_only=True):
    """The files that were copied or linked, as text relative to the root of the worktree."""

    files: tuple[str, ...]
    left_out: tuple[str, ...]
    """Selected files that were skipped because something else is in their place."""


Selection = dict[bytes, tuple[Path, bytes, Part]]
"""By the path in the worktree: the source directory, the path there, and whether to copy or link."""


def copied_into(git_dir: Path) -> frozenset[bytes]:
    """Returns the paths that Weft copied or linked, relative to the worktree; they include what is below."""
    try:
        note = read_file(git_dir / _NOTE, most=_LARGEST_NOTE)
    except FileNotFoundError:
        return frozenset()
    return frozenset(note.split(b"\0")) - {b""}


def is_in(paths: frozenset[bytes], path: bytes) -> bool:
    """Returns whether the path is one of these paths or below one of them."""
    return bool(paths) and (path in paths or not paths.isdisjoint(folders_of((path,))))


def copy_in(
    plan_dir: Path,
    worktree_inside: Path,
    *,
    copy: Sequence[str],
    link: Sequence[str],
    top: Path,
    worktree: Path,
) -> CopiedFiles:
    """Copies and links the selected files into the worktree. A second call repeats this with the current files."""
    git_dir = git_dir_of(worktree)
    inside = os.fsencode(worktree_inside.relative_to(worktree)) + b"/"
    selection: Selection = {path: (top, path, FileSource.COPIED) for path in _included_files(top)}
    for path, part in select_files(plan_dir, copy, link).items():
        selection[(inside + path).removeprefix(b"./")] = (plan_dir, path, part)
    before = copied_into(git_dir)
    if not selection and not before:
        return CopiedFiles(files=(), left_out=())
    tracked = _tracked_files(worktree)
    with Cursor(os.open(worktree, FOLDER_FLAGS)) as cursor:
        # The earlier copies go first, so that files that the user has deleted or deselected since do not stay.
        _remove(cursor, sorted(path for path in before if not _meets(path, tracked)))
        free = sorted(
            path for path in _allowed_paths(selection) if not _meets(path, tracked) and _is_free(cursor, path)
        )
        # The note lists the old and the new files until all are in place. A file that is copied but not listed
        # would count as work of the slice, and be committed.
        _note(git_dir, before.union(free))
        _place(cursor, {path: selection[path] for path in free})
    left_out = selection.keys() - set(free)
    return CopiedFiles(files=tuple(map(shown, free)), left_out=tuple(map(shown, sorted(left_out))))


# Selection


def _included_files(top: Path) -> list[bytes]:
    """Returns the ignored files that `.worktreeinclude` names."""
    if not (top / _INCLUDE).is_file():
        return []
    git = Git(top, works=True)
    listing = git.do(
        *("ls-files", "-z", "--others", "--ignored", f"--exclude-from={_INCLUDE}"),
        *("--", ".", ":(exclude,top).weft"),
    )
    command = ("check-ignore", "-z", "--stdin")
    answer = git.ask(*command, stdin=listing)
    if answer.exit_code not in {0, 1}:  # 1: none is ignored
        raise GitError(command, answer.exit_code, answer.message)
    return [path for path in answer.out.split(b"\0") if path and not path.endswith(b"/")]


def _allowed_paths(selection: Selection) -> list[bytes]:
    """Returns the selected paths without Weft's and git's own files and without paths below a selected link."""
    return [
        path
        for path in selection
        if _NEVER.isdisjoint(path.split(b"/")) and selection.keys().isdisjoint(folders_of((path,)))
    ]


def _tracked_files(worktree: Path) -> tuple[frozenset[bytes], frozenset[bytes]]:
    """Returns the files of the worktree's commit, and their folders."""
    listed = Git(worktree, works=True).do("ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD")
    files = frozenset(path for path in listed.split(b"\0") if path)
    return files, frozenset(folders_of(files))


def _meets(path: bytes, tracked: tuple[frozenset[bytes], frozenset[bytes]]) -> bool:
    files, folders = tracked
    return path in folders or is_in(files, path)


def record_setup_files(git: Git, git_dir: Path) -> None:
    """Records all untracked files as part of the set-up; `git` is at the top of the worktree.

    Each file is recorded by itself, because a file that a step adds to a directory of the set-up is the step's
    work.
    """
    listing = git.do("ls-files", "--others", "--exclude-standard", "-z")
    paths = {path.rstrip(b"/") for path in listing.split(b"\0") if path}
    if paths:
        _note(git_dir, copied_into(git_dir) | paths)


def _note(git_dir: Path, paths: Iterable[bytes]) -> None:
    with open_folder(git_dir) as folder:
        save(folder.descriptor, _NOTE, b"".join(path + b"\0" for path in sorted(paths)))


# Files in the worktree


def _remove(cursor: Cursor, paths: Sequence[bytes]) -> None:
    """Removes these files and links."""
    for path in paths:
        *folders, name = path.split(b"/")
        with suppress(*_IN_THE_WAY, IsADirectoryError):
            cursor.go(folders)
            os.unlink(name, dir_fd=cursor.fd)


def _is_free(cursor: Cursor, path: bytes) -> bool:
    """Returns whether the path is free and its parents are directories. Removes an empty directory there."""
    *folders, name = path.split(b"/")
    try:
        cursor.go(folders)
    except FileNotFoundError:
        return True
    except OSError:  # a file, or a link
        return False
    # `_remove` leaves the directories of earlier copies behind, and the path may now be selected as a link.
    with suppress(OSError):
        os.rmdir(name, dir_fd=cursor.fd)
    try:
        os.stat(name, dir_fd=cursor.fd, follow_symlinks=False)
    except FileNotFoundError:
        return True
    return False


def _place(target: Cursor, selection: Mapping[bytes, tuple[Path, bytes, Part]]) -> None:
    with ExitStack() as stack:
        sources: dict[Path, Cursor] = {}
        for path, (root, original, part) in selection.items():
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
    """Copies a file with its permissions, so that the copy is as private as the original."""
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
