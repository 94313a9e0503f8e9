"""Files of a clone, which its steps can write: read and written by `safe_files`, with the errors of workspaces.

What is missing is None; what is no plain file, a link on the way, or larger than expected is an `UntrustedError`.
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
    """A file of a step is not what it should be."""


@contextmanager
def _explained(path: str) -> Generator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UntrustedError(
            f"{shown(os.fsencode(path))} is no plain file, or cannot be used ({error.strerror})"
        ) from error


@contextmanager
def open_file(tree: Tree, path: str, *, most: int) -> Generator[int | None]:
    """A file of at most so many bytes, open for reading."""
    try:
        with _explained(path):
            file = tree.open(path)
    except FileNotFoundError:
        yield None
        return
    try:
        size = os.fstat(file).st_size
        if size > most:
            raise UntrustedError(f"{path} has {size:,} bytes, and at most {most:,} are read")
        yield file
    finally:
        os.close(file)


def read_file(tree: Tree, path: str, *, most: int) -> bytes | None:
    with suppress(FileNotFoundError), _explained(path):
        return tree.read(path, most=most)
    return None


def names_in(tree: Tree, path: str) -> list[str]:
    """The names in a directory; none if there is no such directory."""
    with _explained(path):
        return tree.names(path)


def write_file(tree: Tree, path: str, data: bytes) -> None:
    """Put a new file in place of whatever is there. Directories on the way are made; other things give way."""
    with _explained(path), _above(tree, path) as (folder, name):
        aside = f".weft-new.{os.getpid()}"
        wipe(folder.descriptor, aside)
        _put(folder, aside, name, data)


def write_from(outside: Tree, aside: str, tree: Tree, name: str, data: bytes) -> None:
    """As `write_file`, for a file at the top of a tree in which a process that dies may leave no other file.

    It is written aside, in another tree. Only if that is on another disk it is written here.
    """
    with _explained(name), outside.folder() as source, tree.folder() as folder:
        wipe(source.descriptor, aside)
        _write_new(source, aside, data)
        if _kind(folder, name) == stat.S_IFDIR:
            wipe(folder.descriptor, name)
        try:
            os.rename(aside, name, src_dir_fd=source.descriptor, dst_dir_fd=folder.descriptor)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            wipe(source.descriptor, aside)
            write_file(tree, name, data)


def write_locked(tree: Tree, path: str, data: bytes) -> bool:
    """The same, with the lock that a git would take; False, and nothing is written, if another has it."""
    with _explained(path), _above(tree, path) as (folder, name):
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
    if _kind(folder, name) == stat.S_IFDIR:
        wipe(folder.descriptor, name)
    os.rename(aside, name, src_dir_fd=folder.descriptor, dst_dir_fd=folder.descriptor)


@contextmanager
def _above(tree: Tree, path: str) -> Generator[tuple[Folder, str]]:
    """The directory of a path; what is in place of a directory on the way, and is none, goes."""
    *parents, name = path.split("/")
    folder = tree.folder()
    for parent in parents:
        with folder:
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
    """Whatever it is, with all that is below it."""
    above, _, name = path.rpartition("/")
    with suppress(FileNotFoundError), _explained(path), tree.folder(above) as folder:
        wipe(folder.descriptor, name)


def exists(tree: Tree, path: str) -> bool:
    with _explained(path):
        return tree.exists(path)
