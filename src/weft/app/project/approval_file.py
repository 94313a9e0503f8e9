"""The user's approvals, in the file `approved.json` of the user's state directory.

Only the user may have write access, or the file proves nothing. It is replaced as a whole, under a lock, so that
two simultaneous approvals are both recorded and a reader needs no lock.
"""

import fcntl
import os
import stat
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from weft.app.project.files import failure, replace_file
from weft.app.project.places import user_folder, with_tilde
from weft.errors import InputError

VERSION = 1
MOST = 100_000_000
"""Bytes to read at most; no real file is that large."""


class Approval(Struct, frozen=True, kw_only=True):
    project: str
    """The real path of the project."""
    hash: str
    """The hash of the commands."""
    at: str
    commands: tuple[tuple[str, Any], ...]
    """The key and the value of each command, so that a later request can show the changes."""
    plan: str = ""
    """The plan whose hosts were approved, from the top of the project; empty for the project's configuration."""


class _Content(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    weft: int
    approved: tuple[Approval, ...]


class ApprovalFile:
    def __init__(self, environ: Mapping[str, str]) -> None:
        self._folder = user_folder(environ, "XDG_STATE_HOME", ".local/state")
        self._file = self._folder / "approved.json"
        self._shown = with_tilde(self._file, environ)

    def read(self) -> tuple[Approval, ...]:
        """Returns the approvals, oldest first; raises an error if the file is unreadable or untrustworthy."""
        try:
            with self._file.open("rb") as stream:
                # The open file is examined, not the path, which could be exchanged between the two calls.
                self._refuse_others(os.fstat(stream.fileno()))
                data = stream.read(MOST)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise failure(f"cannot read {self._shown}", error) from None
        return self._decode(data)

    def _refuse_others(self, status: os.stat_result) -> None:
        if status.st_uid != os.geteuid():
            raise InputError(f"{self._shown} belongs to another user, so it is not trusted")
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise InputError(
                f"others may write {self._shown}, so it is not trusted; if its content is yours, type: chmod 600 "
                f"{self._shown}"
            )

    def _decode(self, data: bytes) -> tuple[Approval, ...]:
        try:
            content = msgspec.json.decode(data, type=_Content)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputError(
                f"{self._shown} is damaged ({error}); move it away, and approve again what you need"
            ) from None
        if content.weft != VERSION:
            raise InputError(f"{self._shown} was written by another version of Weft ({content.weft})")
        return content.approved

    def change(self, update: Callable[[tuple[Approval, ...]], tuple[Approval, ...]]) -> None:
        """Replaces the approvals by the result of the function, under the lock."""
        with self._lock():
            # Read again under the lock: another process may have approved something since the caller looked.
            content = _Content(weft=VERSION, approved=update(self.read()))
            data = msgspec.json.format(msgspec.json.encode(content)) + b"\n"
            try:
                # If the path is a symbolic link, this replaces its target and keeps the link.
                replace_file(Path(os.path.realpath(self._file)), data, mode=0o600)
            except OSError as error:
                raise failure(f"cannot write {self._shown}", error) from None

    @contextmanager
    def _lock(self) -> Generator[None]:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # A file of its own: a lock on the data file would be lost when that is replaced.
            descriptor = os.open(self._folder / "approved.lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise failure(f"cannot write {self._shown}", error) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)  # which releases the lock
