"""A journal seen by one who looks for what is wrong with it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from stored_events import make_event
from weft.engine.messages.facts import RunStarted
from weft.errors import WeftError
from weft.ports.journal import RunRecord
from weft.store.health import find_problems, open_to_examine
from weft.store.sqlite import open_journal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "weft.db"
    record = RunRecord(
        run="r", plan="p", file="f", directory="/", text="", digest="", created_at=0.0, state="running"
    )
    with closing(open_journal(path, now=0.0)) as journal:
        journal.add_run(record)
        started = RunStarted(at=3.0, run="r", target="main")
        journal.append(
            "r", [(3.0, make_event(kind="run_started", fact=started)), (4.0, make_event(kind="x"))]
        )
    return path


def test_the_first_fact_and_the_time_of_the_last_event_can_be_read(path: Path) -> None:
    with closing(open_to_examine(path)) as journal:
        first = journal.first_fact("r")
        assert isinstance(first, RunStarted)
        assert (first.target, journal.last_event_at("r")) == ("main", 4.0)
        assert (journal.first_fact("other"), journal.last_event_at("other")) == (None, None)


def test_a_fact_that_cannot_be_read_is_none(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE events SET fact = '{}' WHERE fact IS NOT NULL")
    with closing(open_to_examine(path)) as journal:
        assert journal.first_fact("r") is None


def test_a_sound_journal_has_no_ailments(path: Path) -> None:
    assert find_problems(path, patience=60.0) == []


def test_what_sqlite_finds_is_reported_in_its_words(path: Path) -> None:
    """A row that the index does not know."""
    with closing(sqlite3.connect(path)) as database, database:
        (root,) = database.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'open_requests'"
        ).fetchone()
        database.execute("PRAGMA writable_schema = ON")
        database.execute("UPDATE sqlite_schema SET rootpage = 1000 WHERE name = 'open_requests'")
    assert root != 1000
    with pytest.raises(WeftError, match="is damaged: "):
        find_problems(path, patience=60.0)
