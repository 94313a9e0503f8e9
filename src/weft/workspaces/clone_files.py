"""Files of a clone, which its steps can write: accessed through `safe_files`, with the errors of workspaces.

A missing file is None. A special file, a link on the way, or a file that is too large is an `UntrustedError`.
"""

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress

from weft.safe_files import Folder, Tree
from weft.workspaces.contents import write
from weft.workspaces.errors import WorkspaceError, shown
from weft.workspaces.safe_walk import wipe

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL


class UntrustedError(WorkspaceError):
    """A file of a step is malformed or unsafe."""


@contextmanager
def _explain_errors(path: str) -> Generator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UntrustedError(
            f"{shown(os.fsencode(path))} is not a regular file, or cannot be read ({error.strerror})"
        ) from error


@contextmanager
def open_file(tree: Tree, path: str, *, most: int) -> Generator[int | None]:
    """Yields a file of at most `most` bytes, open for reading."""
    try:
        with _explain_errors(path):
            file = tree.open(path)
    except FileNotFoundError:
        yield None
        return
    try:
        size = os.fstat(file).st_size
        if size > most:
            raise UntrustedError(f"{path} has {size:,} bytes; at most {most:,} are read")
        yield file
    finally:
        os.close(file)


def read_file(tree: Tree, path: str, *, most: int) -> bytes | None:
    with suppress(FileNotFoundError), _explain_errors(path):
        return tree.read(path, most=most)
    return None


def names_in(tree: Tree, path: str) -> list[str]:
    """Returns the names in a directory; none if there is no such directory."""
    with _explain_errors(path):
        return tree.names(path)


def write_file(tree: Tree, path: str, data: bytes) -> None:
    """Replaces whatever is at the path with a new file. Creates parent directories, replacing other entries."""
    with _explain_errors(path), _above(tree, path) as (folder, name):
        # A step may have put anything under this name, so it is wiped, and then created with O_EXCL.
        aside = f".weft-new.{os.getpid()}"
        wipe(folder.descriptor, aside)
        _put(folder, aside, name, data)


def write_from(outside: Tree, aside: str, tree: Tree, name: str, data: bytes) -> None:
    """Like `write_file`, for a file at the top of a tree in which a crash must leave no other file.

    The temporary file is in another tree, unless that is on another file system.
    """
    with _explain_errors(name), outside.folder() as source, tree.folder() as folder:
        wipe(source.descriptor, aside)
        _write_new(source, aside, data)
        if _kind(folder, name) == stat.S_IFDIR:
            wipe(folder.descriptor, name)
        try:
            os.rename(aside, name, src_dir_fd=source.descriptor, dst_dir_fd=folder.descriptor)
        except OSError as error:
            # The workspace and the git directory can be on different disks, and no rename crosses that border.
            if error.errno != errno.EXDEV:
                raise
            wipe(source.descriptor, aside)
            write_file(tree, name, data)


def write_locked(tree: Tree, path: str, data: bytes) -> bool:
    """Like `write_file`, under the lock that git would take; returns False if another process holds it."""
    with _explain_errors(path), _above(tree, path) as (folder, name):
        try:
            _put(folder, f"{name}.lock", name, data)
        except FileExistsError:
            return False
    return True


def _write_new(folder: Folder, name: str, data: bytes) -> None:
    file = folder.file(name, _NEW)
    try:
        write(file, data)
    finally:
        os.close(file)


def _put(folder: Folder, aside: str, name: str, data: bytes) -> None:
    _write_new(folder, aside, data)
    # rename replaces a file or a link, but not a directory.
    if _kind(folder, name) == stat.S_IFDIR:
        wipe(folder.descriptor, name)
    os.rename(aside, name, src_dir_fd=folder.descriptor, dst_dir_fd=folder.descriptor)


@contextmanager
def _above(tree: Tree, path: str) -> Generator[tuple[Folder, str]]:
    """Yields the parent directory of a path. Replaces other entries on the way with directories."""
    *parents, name = path.split("/")
    folder = tree.folder()
    for parent in parents:
        with folder:
            # A step may have replaced a directory on the way by a link that leads out of the clone.
            if _kind(folder, parent) not in {0, stat.S_IFDIR}:
                os.unlink(parent, dir_fd=folder.descriptor)
            inner = folder.inner(parent, make=True)
        folder = inner
    with folder:
        yield folder, name


def _kind(folder: Folder, name: str) -> int:
    try:
        return stat.S_IFMT(os.stat(name, dir_fd=folder.descriptor, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return 0


def remove_file(tree: Tree, path: str) -> None:
    """Removes the entry, with everything below it."""
    above, _, name = path.rpartition("/")
    with suppress(FileNotFoundError), _explain_errors(path), tree.folder(above) as folder:
        wipe(folder.descriptor, name)


def exists(tree: Tree, path: str) -> bool:
    with _explain_errors(path):
        return tree.exists(path)
