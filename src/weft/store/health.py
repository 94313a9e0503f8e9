"""Whether a journal is sound, looked at without writing to it."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from time import monotonic

from weft.engine.messages.facts import AnyFact
from weft.errors import WeftError
from weft.store.database import open_to_read
from weft.store.failures import explained
from weft.store.queries import QUERIES
from weft.store.sqlite import SqliteReader

_STEPS_BETWEEN_LOOKS = 10_000
_INTERRUPTED = "interrupted"
_FIRST_PAGES = 5


class HealthReader(SqliteReader):
    """Reads what only one who looks for what is wrong wants to know."""

    def last_event_at(self, run: str) -> float | None:
        """When something last happened in a run; None if nothing ever has."""
        found = self._database.rows(QUERIES["last_event_at"], (run,))
        return float(found[0][0]) if found else None

    def first_fact(self, run: str) -> AnyFact | None:
        """None if nothing has happened in it, or if what has cannot be read by this Weft."""
        with suppress(WeftError):
            return next(self.facts(run), None)
        return None


def open_to_examine(path: Path) -> HealthReader:
    return HealthReader(open_to_read(path))


def ailments(path: Path, *, patience: float) -> Sequence[str] | None:
    """What SQLite finds wrong with the file, in its words; None if it takes longer than so many seconds."""
    until = monotonic() + patience
    with closing(open_to_read(path)) as database:
        database.connection.set_progress_handler(lambda: monotonic() > until, _STEPS_BETWEEN_LOOKS)
        try:
            rows = database.connection.execute(f"PRAGMA integrity_check({_FIRST_PAGES})").fetchall()
            _verify_rows(SqliteReader(database), until)
        except TimeoutError:
            return None
        except sqlite3.Error as error:
            if str(error) == _INTERRUPTED:
                return None
            raise explained(error, path) from None
    words = [str(one) for (one,) in rows]
    return [] if words == ["ok"] else words


def _verify_rows(reader: SqliteReader, until: float) -> None:
    """Raises a `DamagedError` for a row that does not fit its checksum, `TimeoutError` if it takes too long."""
    for record in reader.runs():
        for _ in reader.events(record.run):
            if monotonic() > until:
                raise TimeoutError
        reader.states(record.run)
        reader.requests(record.run)
