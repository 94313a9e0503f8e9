"""Files that the user names: read up to a size limit, written as a whole or not at all.

They can come from anywhere, so each problem is an error that names the file.
"""

import errno
import os
import stat
import sys
from collections.abc import Generator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from weft.errors import FileFormatError, InputError, WeftError
from weft.system_errors import advice

STDIN = "-"
_USERS_FAULT = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP,
                errno.ENAMETOOLONG)  # fmt: skip
_OTHER_ENCODINGS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


class InputSource(Struct, frozen=True, kw_only=True):
    """A file or standard input."""

    name: str
    """As the user wrote it; `-` is standard input."""
    directory: Path = Path()
    """The directory that the name is relative to."""
    stdin: BinaryIO | None = None
    """The stream to use as standard input; None for that of the process."""
    holds: str = "net"
    """The kind of content, for messages."""
    label: str = ""
    """The name in messages; empty to use `name`."""

    @property
    def shown(self) -> str:
        if self.label:
            return self.label
        return "standard input" if self.name == STDIN else self.name

    @property
    def path(self) -> Path | None:
        return None if self.name == STDIN else self.directory / self.name


# --- reading ---


@contextmanager
def open_input(source: InputSource) -> Generator[BinaryIO]:
    try:
        with nullcontext(_stdin(source)) if source.path is None else source.path.open("rb") as stream:
            yield stream
    except OSError as error:
        raise failure(f"cannot read {source.shown}", error) from None


def _stdin(source: InputSource) -> BinaryIO:
    if source.stdin is not None:
        return source.stdin
    if sys.stdin is None:  # Python sets None if the descriptor was closed at the start of the process
        raise InputError("cannot read standard input: it is closed")
    return sys.stdin.buffer


def read_bytes(source: InputSource, *, most: int) -> bytes:
    """Returns the whole content. Refuses a longer file without reading to its end, as it may be endless."""
    with open_input(source) as stream:
        # One byte more than allowed is enough to know, even for /dev/zero.
        data = stream.read(most + 1)
    if len(data) > most:
        raise FileFormatError(f"the file is too large; allowed are {most:,} bytes", file=source.shown)
    return data


def read_text(source: InputSource, *, most: int) -> str:
    data = read_bytes(source, most=most)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise _not_utf_8(source, data, error.start) from None


def _not_utf_8(source: InputSource, data: bytes, at: int) -> FileFormatError:
    encoding = _OTHER_ENCODINGS.get(data[:2])
    bad_byte = f"byte 0x{data[at]:02x} has no meaning here"
    reason = f"it starts with the byte order mark of {encoding}" if encoding else bad_byte
    before = data[:at]
    return FileFormatError(
        f"the file is not text in UTF-8: {reason}; save it as UTF-8",
        file=source.shown,
        line=before.count(b"\n") + 1,
        column=len(before[before.rfind(b"\n") + 1 :].decode()) + 1,
    )


def failure(action: str, error: OSError) -> WeftError:
    """Returns an `InputError` if the user can fix the path, or a `WeftError` if the machine failed (disk full)."""
    kind = InputError if error.errno in _USERS_FAULT else WeftError
    return kind(f"{action}: {(error.strerror or str(error)).lower()}{advice(error)}")


# --- writing ---


def save_text(text: str, name: str, *, source: InputSource) -> None:
    """Writes a file as a whole or not at all; refuses to overwrite the file of `source`."""
    # If the path is a symbolic link, this replaces its target and keeps the link.
    out = Path(os.path.realpath(source.directory / name))
    try:
        replace_file(out, text.encode(), mode=_mode_to_keep(out, name, source))
    except OSError as error:
        raise failure(f"cannot write {name}", error) from None


def _mode_to_keep(out: Path, name: str, source: InputSource) -> int | None:
    """Returns the mode of the file to replace; None if there is none. Raises an error if it must stay."""
    try:
        status = out.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"cannot write {name}: it is there and not a regular file")
    # A typing mistake such as `--out weft.yaml` would otherwise destroy the only copy of the plan.
    if source.path is not None and source.path.exists() and out.samefile(source.path):
        raise InputError(f"cannot write {name}: it is the file that the {source.holds} is read from")
    return stat.S_IMODE(status.st_mode)


def replace_file(out: Path, data: bytes, *, mode: int | None) -> None:
    """Replaces a file atomically: a crash leaves the old content or the new. `mode` applies from the start."""
    # In the same directory, since a rename is atomic only within one file system.
    temporary = out.parent / f".weft-{os.urandom(8).hex()}.tmp"
    # 0o666 less the user's mask, as for any new file; the tempfile module would give 0o600.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            if mode is not None:
                os.fchmod(stream.fileno(), mode)
            stream.write(data)
            stream.flush()
            # Before the rename: some file systems make the new name durable first, and a power failure then leaves
            # an empty file.
            os.fsync(stream.fileno())
        temporary.replace(out)
    # Ctrl-C as well: no temporary file may stay behind.
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(out.parent)


def _sync_folder(folder: Path) -> None:
    """Syncs the directory, so that the new name survives a power failure."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
