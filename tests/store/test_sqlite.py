import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from contracts.journal_contract import JournalContract, Maker
from weft.store.sqlite import SqliteJournal, SqliteReader, open_journal, open_reader


class InFile:
    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self, *, now: float = 0.0, command: str = "") -> SqliteJournal:
        return open_journal(self.path, now=now, command=command)

    def reader(self) -> SqliteReader:
        return open_reader(self.path)

    def steal(self) -> None:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute("UPDATE lease SET nonce = 'other', epoch = epoch + 1")


class TestSqliteJournal(JournalContract):
    @pytest.fixture
    def maker(self, tmp_path: Path) -> Maker:
        return InFile(tmp_path / ".weft" / "weft.db")
