"""SQLite's errors, translated into messages that say what to do.

The classes matter: a problem that the user can fix by naming another file or changing a permission is an
InputError; a failure of the machine is not. In every case nothing is deleted and nothing is half written.
"""

import errno
import os
import sqlite3
from pathlib import Path

from weft.errors import InputError, WeftError
from weft.store.errors import DamagedError, NotJournalError
from weft.system_errors import describe

BUSY_SECONDS = 30.0
"""How long to wait for another process to end its transaction; each takes milliseconds."""

_USERS_FAULT = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.EACCES, errno.EPERM, errno.EROFS,
                errno.ELOOP, errno.ENAMETOOLONG)  # fmt: skip
_FILES_OF_A_JOURNAL = 3
"""The database, its log and the index of the log."""
_LOW_BYTE = 0xFF  # the kind of failure; the rest of the code gives the details
_MEANINGS: dict[int, tuple[type[WeftError], str]] = {
    sqlite3.SQLITE_FULL: (WeftError, "the disk is full; free some space and type the command again"),
    sqlite3.SQLITE_IOERR: (
        WeftError,
        "the system could not read or write it; check the disk (df, quota, dmesg) and type the command again",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        InputError,
        "it cannot be opened; make sure that you can read and write the file and its directory",
    ),
    sqlite3.SQLITE_READONLY: (
        InputError,
        "you have no permission to write to it or to its directory",
    ),
    sqlite3.SQLITE_NOTADB: (
        NotJournalError,
        "it is not a journal of Weft; move the file away or name another; if it was one, type: weft doctor --fix",
    ),
    sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY: (InputError, "it has no such run"),
    sqlite3.SQLITE_CONSTRAINT_UNIQUE: (InputError, "it already has a run of this name"),
    sqlite3.SQLITE_BUSY: (
        WeftError,
        (
            f"another process has kept it busy for {BUSY_SECONDS:.0f} seconds; find that process (fuser) and try "
            f"again"
        ),
    ),
}


def explained(error: Exception, path: Path) -> Exception:
    """Returns the translated error, or the error itself if SQLite did not raise it: that is a bug in Weft."""
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
    """Returns the error if no more files can be opened; SQLite does not report why an open failed."""
    opened: list[int] = []
    try:
        # Not the journal itself: closing a descriptor of it would release all locks of this process on it.
        opened.extend(os.open(os.devnull, os.O_RDONLY) for _ in range(_FILES_OF_A_JOURNAL))
    except OSError as error:
        return error if error.errno in {errno.EMFILE, errno.ENFILE} else None
    else:
        return None
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _is_undecodable(error: Exception) -> bool:
    """Returns whether a text in the file is not UTF-8 any more. Python raises this without a code."""
    return isinstance(error, sqlite3.OperationalError) and "decode to UTF-8" in str(error)


def not_text(error: UnicodeEncodeError) -> WeftError:
    """Returns the error for text that is not UTF-8: Python can hold such names, JSON and SQLite cannot."""
    return InputError(
        f"cannot record {error.object!r}: it is not text in UTF-8; rename the file, or give the variable another "
        f"value, and type the command again"
    )


def explained_system_error(action: str, error: OSError) -> WeftError:
    if error.errno in _USERS_FAULT:
        return InputError(
            f"{action}: {error.strerror}; make sure that the directory exists and that you can write to it"
        )
    return WeftError(f"{action}: {describe(error)}")
