"""Files below a directory that a step can write, opened without following a link.

A step can put anything where Weft is about to read or write: a symbolic link to a file of the user, a FIFO that
never answers, a hard link; and it can swap a directory for a link between two calls of Weft. So no path is given
to the system as a whole. A `Tree` opens its top directory and then each component relative to the descriptor of
the directory before it, with O_NOFOLLOW, and works in the last directory by its descriptor. A directory that is
swapped during the walk changes nothing: the descriptor still is the directory that was checked.

The top is trusted, with all that leads to it: a user's `/home` may be a link. Nothing below it is. What belongs to
a stranger is refused: files and directories must belong to this process's user, to the owner of the top, or to
root. Whatever this module creates has mode 0600 or 0700, whatever the umask.

The supervisor imports this module, so it needs only what loads fast: no pathlib, no typing, no contextlib.
"""

import errno
import os
import stat
from collections.abc import Iterator

FILE_MODE = 0o600
FOLDER_MODE = 0o700
_OTHERS = 0o077
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a FIFO waits for its other end.
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NOT_PLAIN = (errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO)
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a directory",
    stat.S_IFREG: "a file",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}


class UnsafeFileError(OSError):
    """Something below the top is not what Weft keeps there: a link, a FIFO, a stranger's file."""

    def __init__(self, path: str, reason: str) -> None:
        # As the code of a link that is not followed, so that callers treat it as a file that cannot be opened.
        super().__init__(errno.ELOOP, reason, path)

    def __str__(self) -> str:
        return f"{self.filename} {self.strerror}"


class Folder:
    """An open directory; closed at the end of a `with` block."""

    def __init__(self, descriptor: int, shown: str, owners: frozenset[int]) -> None:
        self.descriptor = descriptor
        self._shown = shown
        self._owners = owners

    def __enter__(self) -> "Folder":  # noqa: PYI034 - typing is slow to load
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        os.close(self.descriptor)

    def path(self, name: str) -> str:
        """Returns the path of an entry, for messages."""
        return f"{self._shown}/{name}"

    def inner(self, name: str, *, make: bool = False) -> "Folder":
        """Opens a directory in this one; `make`: creates it if it is missing."""
        if make:
            self._make(name)
        descriptor = self._open(name, _FOLDER, 0)
        return self._checked(descriptor, name)

    def _checked(self, descriptor: int, name: str) -> "Folder":
        try:
            self._check_owner(os.fstat(descriptor), name)
        except BaseException:
            os.close(descriptor)
            raise
        return Folder(descriptor, self.path(name), self._owners)

    def _make(self, name: str) -> None:
        try:
            os.mkdir(name, FOLDER_MODE, dir_fd=self.descriptor)
        except FileExistsError:
            return
        # A umask such as 0777 removes even the owner's rights.
        self._set_mode(name, FOLDER_MODE, FOLDER_MODE)

    def restrict(self, name: str) -> None:
        """Removes the rights of others from a directory in this one; those of its owner stay."""
        self._set_mode(name, FOLDER_MODE, 0)

    def _set_mode(self, name: str, kept: int, added: int) -> None:
        handle = self._open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, 0)
        try:
            status = os.fstat(handle)
            self._check_owner(status, name)
            mode = stat.S_IMODE(status.st_mode)
            new_mode = (mode & kept) | added
            if mode != new_mode and status.st_uid == os.geteuid():
                # By the descriptor: the name may lead elsewhere by now. It has no rights for fchmod.
                os.chmod(f"/proc/self/fd/{handle}", new_mode)  # noqa: PTH101 - pathlib is slow to load
        finally:
            os.close(handle)

    def file(self, name: str, flags: int) -> int:
        """Opens a regular file, and returns its descriptor; `flags` as of open(2).

        A file that is opened for writing must have no second name, which could be one outside.
        """
        writes = bool(flags & (os.O_WRONLY | os.O_RDWR))
        descriptor = self._open(name, (flags & ~os.O_TRUNC) | _FILE, FILE_MODE)
        try:
            self._check_file(os.fstat(descriptor), name, writes=writes)
            if writes:
                _restrict_file(descriptor)
            if flags & os.O_TRUNC:
                os.ftruncate(descriptor, 0)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _open(self, name: str, flags: int, mode: int) -> int:
        _component(name)
        try:
            return os.open(name, flags, mode, dir_fd=self.descriptor)
        except OSError as error:
            error.filename = self.path(name)
            if error.errno not in _NOT_PLAIN:
                raise
        expected = stat.S_IFDIR if flags & os.O_DIRECTORY else stat.S_IFREG
        # Only for the message: the entry may be another one by now.
        kind = stat.S_IFMT(os.stat(name, dir_fd=self.descriptor, follow_symlinks=False).st_mode)
        raise self._wrong_kind(name, kind, expected)

    def _wrong_kind(self, name: str, kind: int, wanted: int) -> UnsafeFileError:
        if kind == wanted:
            return UnsafeFileError(self.path(name), "was replaced while it was opened")
        return UnsafeFileError(
            self.path(name), f"is {_KINDS.get(kind, 'something else')}, not {_KINDS[wanted]}"
        )

    def _check_file(self, status: os.stat_result, name: str, *, writes: bool) -> None:
        if not stat.S_ISREG(status.st_mode):
            raise self._wrong_kind(name, stat.S_IFMT(status.st_mode), stat.S_IFREG)
        self._check_owner(status, name)
        if writes and status.st_nlink > 1:
            raise UnsafeFileError(self.path(name), "has a second name (a hard link), so it is not written to")

    def _check_owner(self, status: os.stat_result, name: str) -> None:
        if status.st_uid not in self._owners:
            raise UnsafeFileError(self.path(name), f"belongs to another user (uid {status.st_uid})")


class Tree:
    """A trusted directory, and operations on entries below it; paths are relative to it."""

    def __init__(self, top: str | os.PathLike[str]) -> None:
        self._top = os.fspath(top)

    # --- directories ---

    def folder(self, path: str = "", *, make: bool = False) -> Folder:
        """Opens a directory; `make`: creates what is missing on the way."""
        descriptor = os.open(self._top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        owners = frozenset((os.geteuid(), os.fstat(descriptor).st_uid, 0))
        folder = Folder(descriptor, self._top, owners)
        for name in _components(path):
            with folder:
                inner = folder.inner(name, make=make)
            folder = inner
        return folder

    def make(self, path: str) -> None:
        """Makes sure that the directory is there, and that others have no rights to it."""
        above, name = _split(path)
        with self.folder(above, make=True) as folder, folder.inner(name, make=True):
            folder.restrict(name)

    def names(self, path: str = "") -> list[str]:
        """Returns the sorted names in a directory; none if the directory is missing."""
        try:
            with self.folder(path) as folder:
                return sorted(os.listdir(folder.descriptor))  # noqa: PTH208 - pathlib is slow to load
        except FileNotFoundError:
            return []

    def remove_tree(self, path: str) -> None:
        """Removes a directory with all that is below it; a link is removed, and not followed."""
        import shutil  # noqa: PLC0415 - slow to load

        above, name = _split(path)
        with self.folder(above) as folder:
            if self._kind(folder, name) == stat.S_IFDIR:
                shutil.rmtree(name, dir_fd=folder.descriptor)
            else:
                os.unlink(name, dir_fd=folder.descriptor)

    # --- files ---

    def open(self, path: str, flags: int = os.O_RDONLY, *, make: bool = False) -> int:
        """Returns the descriptor of a regular file; `make`: creates the directories above it."""
        above, name = _split(path)
        with self.folder(above, make=make) as folder:
            return folder.file(name, flags)

    def append(self, path: str) -> int:
        """Returns a descriptor that writes at the end of the file; creates it if it is missing."""
        return self.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def create(self, path: str, *, make: bool = False) -> int:
        """Creates a file, replacing any other, and returns its descriptor; `make`: also the directories above."""
        above, name = _split(path)
        with self.folder(above, make=make) as folder:
            _unlink(folder, name)
            return folder.file(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)

    def read(self, path: str, *, most: int) -> bytes:
        """Returns the contents of a file; raises `UnsafeFileError` if they have more than `most` bytes."""
        descriptor = self.open(path)
        try:
            data = b"".join(_pieces(descriptor, most + 1))
        finally:
            os.close(descriptor)
        if len(data) > most:
            raise UnsafeFileError(self._shown(path), f"is longer than {most:,} bytes")
        return data

    def replace(self, path: str, data: bytes, *, durable: bool = False) -> None:
        """Writes a file so that a reader finds the old content or the new one, also after a crash of Weft.

        `durable`: also after a power cut, as the content is on the disk before it has the name. A link that has
        this name is replaced, and not followed.
        """
        above, name = _split(path)
        with self.folder(above) as folder:
            aside = f".{os.urandom(8).hex()}.new"
            try:
                self._write(folder, aside, data, durable=durable)
                os.replace(aside, name, src_dir_fd=folder.descriptor, dst_dir_fd=folder.descriptor)
            except BaseException:
                _unlink(folder, aside)
                raise

    @staticmethod
    def _write(folder: Folder, name: str, data: bytes, *, durable: bool) -> None:
        descriptor = folder.file(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def remove(self, path: str) -> bool:
        """Removes a file or a link, and not what the link leads to; returns whether there was one."""
        above, name = _split(path)
        try:
            with self.folder(above) as folder:
                return _unlink(folder, name)
        except FileNotFoundError:
            return False

    def move(self, old: str, new: str) -> None:
        """Gives an entry another name, in the same directory or in another of the tree, which exists."""
        (above, name), (new_above, new_name) = _split(old), _split(new)
        with self.folder(above) as folder, self.folder(new_above) as target:
            os.rename(name, new_name, src_dir_fd=folder.descriptor, dst_dir_fd=target.descriptor)

    def exists(self, path: str) -> bool:
        """Returns whether an entry has this name. A link counts, even one that leads nowhere."""
        try:
            self.status(path)
        except FileNotFoundError:
            return False
        return True

    def status(self, path: str) -> os.stat_result:
        """Returns the status of an entry as lstat(2) does: a link's own, not that of its target."""
        above, name = _split(path)
        with self.folder(above) as folder:
            return os.stat(name, dir_fd=folder.descriptor, follow_symlinks=False)

    @staticmethod
    def _kind(folder: Folder, name: str) -> int:
        return stat.S_IFMT(os.stat(name, dir_fd=folder.descriptor, follow_symlinks=False).st_mode)

    def _shown(self, path: str) -> str:
        return f"{self._top}/{path}"


def locate(path: str | os.PathLike[str]) -> tuple[Tree, str]:
    """Returns a tree, and the path below its top, for a file that Weft keeps.

    Weft keeps files in the directory `.weft` of a project. The project is the top: no link is followed from there
    on. For notes in a repository, its `.git` is the top. For any other file, the top is its directory, or the
    nearest one above it that exists.
    """
    text = os.fspath(path)
    project, kept, rest = text.partition("/.weft/")
    if kept:
        return Tree(project), f".weft/{rest}"
    project, kept, rest = text.partition("/.git/")
    if kept:
        return Tree(f"{project}/.git"), rest
    above, _, name = text.rpartition("/")
    while above and not os.path.lexists(above):
        above, _, folder = above.rpartition("/")
        name = f"{folder}/{name}"
    return Tree(above or ("/" if text.startswith("/") else ".")), name


def open_file(path: str | os.PathLike[str], flags: int = os.O_RDONLY, *, make: bool = False) -> int:
    """Returns the descriptor of a file that Weft keeps; `make`: creates the directories above it."""
    tree, file = locate(path)
    return tree.open(file, flags, make=make)


def read_file(path: str | os.PathLike[str], *, most: int) -> bytes:
    """Returns the contents of a file that Weft keeps. Raises `UnsafeFileError` beyond `most` bytes."""
    tree, file = locate(path)
    return tree.read(file, most=most)


def read_text(path: str | os.PathLike[str], *, most: int = 1 << 24) -> str:
    """Returns the text of a file that Weft or git keeps. Raises `UnicodeDecodeError` if it is not UTF-8."""
    return read_file(path, most=most).decode()


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes a file that Weft keeps, with the directories above it; see `Tree.replace`."""
    tree, file = locate(path)
    tree.folder(file.rpartition("/")[0], make=True).close()
    tree.replace(file, data)


def remove_file(path: str | os.PathLike[str]) -> bool:
    """Removes a file or a link that Weft keeps; returns whether there was one."""
    tree, file = locate(path)
    return tree.remove(file)


def open_folder(path: str | os.PathLike[str], *, make: bool = False) -> Folder:
    """Opens a directory that Weft keeps; `make`: creates it, with mode 0700."""
    tree, folder = locate(path)
    if make:
        tree.make(folder)
    return tree.folder(folder)


def touch(path: str | os.PathLike[str]) -> None:
    """Creates an empty file if there is none, with the directories above it."""
    os.close(open_file(path, os.O_WRONLY | os.O_CREAT, make=True))


def _restrict_file(descriptor: int) -> None:
    mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
    new_mode = (mode & ~_OTHERS) | FILE_MODE
    if mode != new_mode and os.fstat(descriptor).st_uid == os.geteuid():
        os.fchmod(descriptor, new_mode)


def _unlink(folder: Folder, name: str) -> bool:
    try:
        os.unlink(name, dir_fd=folder.descriptor)
    except FileNotFoundError:
        return False
    return True


def _pieces(descriptor: int, most: int) -> Iterator[bytes]:
    while most and (piece := os.read(descriptor, min(most, 1 << 20))):
        most -= len(piece)
        yield piece


def _components(path: str) -> list[str]:
    return [_component(name) for name in path.split("/")] if path else []


def _component(name: str) -> str:
    if name in {"", ".", ".."} or "/" in name or "\0" in name:
        raise UnsafeFileError(name, "is not a file name")
    return name


def _split(path: str) -> tuple[str, str]:
    above, _, name = path.rpartition("/")
    return above, _component(name)
