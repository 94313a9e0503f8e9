"""The journal's file as a database: opening, migration, and transactions.

It is SQLite in WAL mode with `synchronous=FULL`: a committed transaction survives a power loss. Writers append to
a second file, the WAL. A checkpoint moves its pages into the database from time to time, by default after 1,000
pages (4 MB), and the WAL is then reused from its beginning. Only the coordinator does this, so that a person's
request stays fast. A checkpoint gets no further than the oldest open read transaction. Readers therefore keep none
open: `rows` reads everything at once, and a reader of many rows asks page by page.
"""

import os
import sqlite3
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote
from typing import Any

from weft.errors import InputError, WeftError
from weft.safe_files import UnsafeFileError, locate
from weft.store.checksums import event_checksum, row_checksum
from weft.store.errors import DamagedError
from weft.store.failures import BUSY_SECONDS, explained, explained_system_error
from weft.store.lock import LOCK_FILE, is_locked
from weft.store.pages import lost_with_log
from weft.store.queries import MIGRATIONS, QUERIES, statements
from weft.store.wal import read_wal

NOTHING_YET = "nothing has been run here yet; type: weft run"
_OURS = 0x57656674
_WITH_CHECKSUMS = 4
_WRITES = "rwc"
_WAL_BYTES_KEPT = 16 * 1024 * 1024
_LEAST_SQLITE = (3, 37, 0)  # the first with STRICT tables


class Database:
    """One connection. Any thread may use it, one at a time."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self.connection = connection
        self.version = 0
        """The version of the tables when the file was opened or migrated."""

    @property
    def has_checksums(self) -> bool:
        return self.version >= _WITH_CHECKSUMS

    def checked_rows(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        """Returns rows with their checksum as the last column; None in a journal of an older version."""
        return self.rows(query if self.has_checksums else query.replace("checksum", "NULL"), values)

    def rows(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        try:
            return self.connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise explained(error, self.path) from None

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """Writes everything within the block, durably, or nothing."""
        connection = self.connection
        try:
            # IMMEDIATE takes the write lock at once. A deferred transaction that reads first and then writes
            # can fail with SQLITE_BUSY without waiting.
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
        except (sqlite3.Error, UnicodeEncodeError) as error:
            self._roll_back()
            raise explained(error, self.path) from None
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        """Rolls back. After some failures SQLite has done so already; this does nothing then."""
        with suppress(sqlite3.Error):  # the original error is more useful
            self.connection.rollback()

    def close(self) -> None:
        self.connection.close()


def open_to_write(path: Path) -> Database:
    """Opens the file, and creates it if needed. It has no tables yet: see `migrate`."""
    _create(path)
    return _open(path, _WRITES, _prepare_to_write)


def _create(path: Path) -> None:
    """Creates an empty file for the journal, which only the user may read; SQLite's other files get its mode.

    A file that is there is not opened: when this process closed it, SQLite's own locks on it would be gone.
    """
    tree, name = locate(path)
    try:
        os.close(tree.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    except UnsafeFileError as error:
        raise InputError(f"cannot open the journal: {error}") from None
    except OSError:  # SQLite reports the problem when it opens the file
        return


def open_to_read(path: Path) -> Database:
    _refuse_link(path)
    if not _is_there(path):
        raise InputError(NOTHING_YET)
    return _open(path, "rw", _prepare_to_read)


def _prepare_to_write(database: Database) -> None:
    # First, because setting the mode writes to the file, which may belong to another program.
    _version(database)
    # SQLite answers with the mode in force. Without shared memory, as on network file systems, it stays in the
    # old one and raises nothing.
    if database.rows("PRAGMA journal_mode = WAL") != [("wal",)]:
        raise WeftError(f"the journal {database.path}: keep it on a local disk; here memory cannot be shared")
    database.rows(f"PRAGMA journal_size_limit = {_WAL_BYTES_KEPT}")


def _prepare_to_read(database: Database) -> None:
    # A checkpoint takes as long as the coordinator has left pages in the log, and a person's command should not
    # pay for it.
    database.rows("PRAGMA wal_autocheckpoint = 0")
    if _version(database) == 0:
        raise InputError(NOTHING_YET)


def _open(path: Path, mode: str, prepare: Callable[[Database], None]) -> Database:
    if sqlite3.sqlite_version_info < _LEAST_SQLITE:
        raise WeftError(
            f"this Python has SQLite {sqlite3.sqlite_version}, and Weft needs 3.37 or later; use a newer Python"
        )
    if path.is_symlink():
        raise InputError(
            f"{path} is a symbolic link, not a journal; to remove it, type: rm {quote(str(path))}"
        )
    if _is_there(path) and not path.is_file():
        raise InputError(f"the journal {path}: it is not a regular file; move it away or name another")
    # SQLite ends its recovery at the first frame with a wrong checksum and reports nothing. Frames behind it
    # may hold committed transactions.
    if mode == _WRITES or not is_locked(path.with_name(LOCK_FILE)):
        _refuse_damaged_log(path)
    database = _connect(path, mode)
    try:
        database.rows("PRAGMA synchronous = FULL")
        database.rows("PRAGMA foreign_keys = ON")
        prepare(database)
    except BaseException:
        database.close()
        raise
    return database


def _refuse_damaged_log(path: Path) -> None:
    """Raises `DamagedError` if SQLite would silently drop committed transactions.

    This is not needed while a coordinator runs: it has verified the log, and writes to it.
    """
    try:
        has_log = Path(f"{path}-wal").stat().st_size > 0
    except OSError:
        return
    if not has_log:
        return
    try:
        wal = read_wal(path)
        dropped = 0 if wal.is_whole else lost_with_log(path, wal)
    except OSError as error:
        raise explained_system_error(f"cannot read {path}-wal", error) from None
    if dropped:
        raise DamagedError(path, f"SQLite would drop {dropped:,} of the transactions in {path.name}-wal")


def _refuse_link(path: Path) -> None:
    if os.path.islink(path):  # noqa: PTH114 - pathlib raises where a directory may not be entered
        raise InputError(
            f"{path} is a symbolic link, not a journal; to remove it, type: rm {quote(str(path))}"
        )


def _is_there(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise explained_system_error(f"cannot open {path}", error) from None
    return True


def _connect(path: Path, mode: str) -> Database:
    try:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,  # the code begins and ends transactions itself
            check_same_thread=False,
        )
    except sqlite3.Error as error:
        raise explained(error, path) from None
    return Database(path, connection)


def migrate(database: Database) -> None:
    """Brings the tables up to date, within the transaction of the caller."""
    version = _version(database)
    # One of the migrations adds checksums to existing rows, in SQL.
    database.connection.create_function("row_checksum", -1, _of_row, deterministic=True)
    database.connection.create_function("event_checksum", -1, _of_event, deterministic=True)
    for number, script in enumerate(MIGRATIONS[version:], start=version + 1):
        for statement in statements(script):
            database.connection.execute(statement)
        database.connection.execute(f"PRAGMA user_version = {number}")
    database.version = len(MIGRATIONS)


def _version(database: Database) -> int:
    """Returns the version of the tables; 0 for an empty file.

    Refuses files of other programs or newer versions.
    """
    ((version, owner, tables),) = database.rows(QUERIES["version"])
    if owner != _OURS and (version, tables) != (0, 0):
        raise InputError(
            f"the journal {database.path}: it is the database of another program; move it away or name another "
            f"file"
        )
    if version > len(MIGRATIONS):
        raise InputError(
            f"the journal {database.path}: it was written by a newer Weft (version {version}; this Weft reads up "
            f"to {len(MIGRATIONS)}); use that Weft, or a newer one"
        )
    database.version = int(version)
    return database.version


def _of_row(*values: object) -> int:
    return row_checksum(values)


def _of_event(seq: int, *values: object) -> int:
    return event_checksum(seq, values)
