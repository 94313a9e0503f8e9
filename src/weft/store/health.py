"""Checks of a journal that do not write to it."""

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

_STEPS_BETWEEN_CHECKS = 10_000
_INTERRUPTED = "interrupted"
_FIRST_PAGES = 5


class HealthReader(SqliteReader):
    """Reads what only a diagnosis needs."""

    def last_event_at(self, run: str) -> float | None:
        """Returns the time of the last event of a run; None if it has none."""
        rows = self._database.rows(QUERIES["last_event_at"], (run,))
        return float(rows[0][0]) if rows else None

    def first_fact(self, run: str) -> AnyFact | None:
        """Returns the first fact of a run; None if there is none, or if this version of Weft cannot read it."""
        with suppress(WeftError):
            return next(self.facts(run), None)
        return None


def open_to_examine(path: Path) -> HealthReader:
    return HealthReader(open_to_read(path))


def find_problems(path: Path, *, patience: float) -> Sequence[str] | None:
    """Returns the problems that SQLite reports; None if the check takes longer than `patience` seconds."""
    until = monotonic() + patience
    with closing(open_to_read(path)) as database:
        # SQLite calls this between steps of its virtual machine; a true value interrupts the query.
        database.connection.set_progress_handler(lambda: monotonic() > until, _STEPS_BETWEEN_CHECKS)
        try:
            rows = database.connection.execute(f"PRAGMA integrity_check({_FIRST_PAGES})").fetchall()
            _verify_rows(SqliteReader(database), until)
        except TimeoutError:
            return None
        except sqlite3.Error as error:
            if str(error) == _INTERRUPTED:
                return None
            raise explained(error, path) from None
    problems = [str(problem) for (problem,) in rows]
    return [] if problems == ["ok"] else problems


def _verify_rows(reader: SqliteReader, until: float) -> None:
    """Raises `DamagedError` for a row with a wrong checksum, and `TimeoutError` if it takes too long."""
    for record in reader.runs():
        for _ in reader.events(record.run):
            if monotonic() > until:
                raise TimeoutError
        reader.states(record.run)
        reader.requests(record.run)
