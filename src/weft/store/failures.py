"""What SQLite says when something is wrong, in words that tell what to do.

The kinds matter: what the user can put right by naming another file or changing a permission is an InputError, and
a machine that fails is not. Whatever it is, nothing is deleted and nothing is half written.
"""

import errno
import os
import sqlite3
from pathlib import Path

from weft.errors import InputError, WeftError
from weft.store.errors import DamagedError, NotJournalError
from weft.system_errors import describe

BUSY_SECONDS = 30.0
"""How long one waits for another process to end its transaction; each is a matter of milliseconds."""

_USERS_FAULT = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.EACCES, errno.EPERM, errno.EROFS,
                errno.ELOOP, errno.ENAMETOOLONG)  # fmt: skip
_FILES_OF_A_JOURNAL = 3
"""The database, its log and the index of the log."""
_LOW_BYTE = 0xFF  # of the code: what kind of failure it is; the rest says more exactly which
_MEANINGS: dict[int, tuple[type[WeftError], str]] = {
    sqlite3.SQLITE_FULL: (WeftError, "the disk is full; free some space and type the command again"),
    sqlite3.SQLITE_IOERR: (
        WeftError,
        "the system could not read or write it; look at the disk (df, quota, dmesg) and type the command again",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        InputError,
        "it cannot be opened; see that you may read and write the file and its directory",
    ),
    sqlite3.SQLITE_READONLY: (
        InputError,
        "you may not write to it or to its directory; give yourself the permission",
    ),
    sqlite3.SQLITE_NOTADB: (
        NotJournalError,
        "it is not a journal of Weft; move the file away or name another; if it was one, type: weft doctor --fix",
    ),
    sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY: (InputError, "it has no such run"),
    sqlite3.SQLITE_CONSTRAINT_UNIQUE: (InputError, "it has a run of this name"),
    sqlite3.SQLITE_BUSY: (
        WeftError,
        f"another process has kept it busy for {BUSY_SECONDS:.0f} seconds; see which one (fuser) and try again",
    ),
}


def explained(error: Exception, path: Path) -> Exception:
    """The error itself, if SQLite did not raise it: then it is a bug of ours."""
    if isinstance(error, UnicodeEncodeError):
        return not_text(error)
    code = getattr(error, "sqlite_errorcode", None)
    if (code or 0) & _LOW_BYTE == sqlite3.SQLITE_CORRUPT or _is_undecodable(error):
        return DamagedError(path, f"SQLite says: {error}")
    if code is None:
        return error
    if code & _LOW_BYTE == sqlite3.SQLITE_CANTOPEN and (shortage := _shortage_of_files()) is not None:
        return WeftError(f"the journal {path}: {describe(shortage)}")
    kind, meaning = _MEANINGS.get(code) or _MEANINGS.get(code & _LOW_BYTE) or (WeftError, "it cannot be used")
    return kind(f"the journal {path}: {meaning} (SQLite says: {error})")


def _shortage_of_files() -> OSError | None:
    """Why the system opens no further file, if that is so; SQLite does not say why it could not open one."""
    opened: list[int] = []
    try:
        # Not the journal itself: to close a descriptor of it gives up all locks that this process has on it.
        opened.extend(os.open(os.devnull, os.O_RDONLY) for _ in range(_FILES_OF_A_JOURNAL))
    except OSError as error:
        return error if error.errno in {errno.EMFILE, errno.ENFILE} else None
    else:
        return None
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _is_undecodable(error: Exception) -> bool:
    """Whether a text in the file is not UTF-8: it was when it was written. Python says so, without a code."""
    return isinstance(error, sqlite3.OperationalError) and "decode to UTF-8" in str(error)


def not_text(error: UnicodeEncodeError) -> WeftError:
    """Python can hold bytes of a file name or a variable that are no text; JSON and SQLite cannot."""
    return InputError(
        f"cannot record {error.object!r}: it is not text in UTF-8; "
        "rename the file, or give the variable another value, and type the command again"
    )


def explained_system_error(what: str, error: OSError) -> WeftError:
    if error.errno in _USERS_FAULT:
        return InputError(
            f"{what}: {error.strerror}; see that the directory is there and that you may write to it"
        )
    return WeftError(f"{what}: {describe(error)}")
