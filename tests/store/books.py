"""Journals on a quick disk, with small pages: short enough to be damaged at every byte."""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from contracts.journal_contract import record, told
from weft.engine.messages.event_codec import kind_of
from weft.store.checksums import event_checksum, row_checksum
from weft.store.sqlite import SqliteJournal, open_journal, open_reader

MEMORY = Path("/dev/shm")


@contextmanager
def quick_folder() -> Iterator[Path]:
    """In memory, where there is such a place: thousands of journals are made here; flushing is not the point."""
    with tempfile.TemporaryDirectory(prefix="weft-", dir=MEMORY if MEMORY.is_dir() else None) as folder:
        yield Path(folder)


def with_small_pages(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA page_size = 512")
        connection.execute("PRAGMA journal_mode = WAL")
    return path


@contextmanager
def opened(path: Path, *, with_run: bool = False) -> Iterator[SqliteJournal]:
    with closing(open_journal(path, now=0.0)) as journal:
        if with_run:
            journal.add_run(record())
        yield journal


def wal_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def copy_of(path: Path, folder: Path, *, wal: bytes) -> Path:
    """The database as it is, with this WAL beside it: as after a crash."""
    folder.mkdir(exist_ok=True)
    copy = folder / path.name
    shutil.copyfile(path, copy)
    wal_of(copy).write_bytes(wal)
    return copy


def stored(path: Path) -> list[str]:
    """The kinds of its events; and nothing about the file is wrong."""
    with closing(open_reader(path)) as reader:
        assert reader._database.rows("PRAGMA integrity_check") == [("ok",)]
        values = list(reader.events("r1"))
    assert [each.seq for each in values] == list(range(1, len(values) + 1))
    return [kind_of(each.event) for each in values]


def add(journal: SqliteJournal, kinds: Sequence[str]) -> None:
    journal.append("r1", told(*kinds))


EVENT = "seq, at, run, kind, subplan, step, attempt, outcome, cost, tokens, data, fact"
RUN = "run, plan, file, directory, text, digest, created_at"


def sign(path: Path) -> None:
    """Gives all rows the checksums of what is in them, so that what a test has changed counts as written."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.create_function("event_sum", -1, lambda seq, *values: event_checksum(seq, values))
        connection.create_function("row_sum", -1, lambda *values: row_checksum(values))
        connection.execute(f"UPDATE events SET checksum = event_sum({EVENT})")
        connection.execute(f"UPDATE runs SET checksum = row_sum({RUN})")
