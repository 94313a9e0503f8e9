"""A run that an older version left unfinished: a new run carries its work over."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from weft.app.history.completed_work import kept_of
from weft.app.history.earlier_runs import earlier_runs
from weft.plan.digests import plan_digest
from weft.plan.loader.load import Surroundings, load_plan
from weft.store.sqlite import SqliteJournal, open_journal
from weft.terms import UNFINISHED

DUMP = Path(__file__).with_name("data") / "unfinished.sql"
"""Slice w has landed; of x the step one is done, and an agent works on two; z waits for both."""


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[SqliteJournal]:
    with closing(sqlite3.connect(tmp_path / "weft.db")) as database:
        database.executescript(DUMP.read_text())
    journal = open_journal(tmp_path / "weft.db", now=2e9)
    yield journal
    journal.close()


def test_the_run_is_unfinished_and_a_new_run_replaces_it(journal: SqliteJournal) -> None:
    (record,) = journal.runs()
    plan = load_plan(record.text, record.file, surroundings=Surroundings(git=False))
    assert record.state in UNFINISHED
    assert record.digest != plan_digest(plan)  # verifies are no steps any more


def test_what_it_completed_counts_and_what_was_in_progress_continues(journal: SqliteJournal) -> None:
    (record,) = journal.runs()
    plan = load_plan(record.text, record.file, surroundings=Surroundings(git=False))
    kept = kept_of(plan, journal, earlier_runs(journal, plan.id))
    assert (kept.paths, kept.landed, kept.is_all) == (("w",), ("w",), False)
    (slice_,) = kept.continued
    assert (slice_.subplan, slice_.run) == ("x", record.run)
    assert [(step.step, step.attempt) for step in slice_.steps] == [("one", 1)]
    assert slice_.open == (("two", 1, False),)
