"""What can be read of a damaged journal, and the sound one that is made of it."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from msgspec import structs

from contracts.journal_contract import record
from store.books import quick_folder, wal_of
from stored_events import make_event
from weft.engine.messages.event_codec import kind_of
from weft.engine.messages.facts import RunStarted
from weft.store.errors import DamagedError
from weft.store.pages import lost_with_log
from weft.store.salvage import rebuild, salvage
from weft.store.sqlite import open_journal, open_reader
from weft.store.wal import read_wal

LONG = "x" * 9_000
"""More than a page holds."""


@pytest.fixture
def path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder / "weft.db"


def write(path: Path, *runs: tuple[str, Sequence[str]]) -> None:
    with closing(open_journal(path, now=0.0)) as journal:
        for name, kinds in runs:
            if name not in [item.run for item in journal.runs()]:
                journal.add_run(structs.replace(record(), run=name))
                started = RunStarted(at=1.0, run=name)
                journal.append(name, [(1.0, make_event(kind="run_started", fact=started))])
            for kind in kinds:
                journal.append(
                    name, [(2.0, make_event(kind=kind, data={"text": LONG if kind == "long" else ""}))]
                )


def change(path: Path, before: bytes, after: bytes) -> None:
    data = path.read_bytes()
    assert before in data
    path.write_bytes(data.replace(before, after))


def held(path: Path) -> dict[str, tuple[str, list[str]]]:
    with closing(open_reader(path)) as reader:
        assert reader._database.rows("PRAGMA integrity_check") == [("ok",)]
        return {
            item.run: (item.state, [kind_of(event.event) for event in reader.events(item.run)])
            for item in reader.runs()
        }


def test_of_a_sound_journal_everything_can_be_kept(path: Path) -> None:
    write(path, ("r1", ["a", "long", "b"]), ("r2", ["c"]))
    before = held(path)
    salvaged = salvage(path)
    assert salvaged.report == "6 entries of 2 runs can be kept; as far as is known, nothing else is lost"
    rebuild(path)
    assert held(path) == before


def test_a_run_keeps_all_before_the_first_entry_that_is_lost_and_is_abandoned(path: Path) -> None:
    write(path, ("r1", ["first", "second", "third"]), ("r2", ["other"]))
    change(path, b"second", b"sec0nd")
    assert salvage(path).report == "4 entries of 2 runs can be kept; lost: 2 entries, the end of run r1"
    rebuild(path)
    assert held(path) == {
        "r1": ("abandoned", ["run_started", "first"]),
        "r2": (record().state, ["run_started", "other"]),
    }


def test_a_run_that_has_lost_its_beginning_is_lost(path: Path) -> None:
    write(path, ("r1", ["first"]), ("r2", ["other"]))
    data = path.read_bytes()
    at = data.rindex(b"run_started", 0, data.rindex(b"run_started"))  # rows grow towards the front of a page
    path.write_bytes(data[:at] + b"run_stirred" + data[at + 11 :])
    salvaged = salvage(path)
    assert len(salvaged.lost_runs) == 1
    rebuild(path)
    assert list(held(path)) == [run for run in ("r1", "r2") if run not in salvaged.lost_runs]


def test_pages_that_lead_to_others_are_not_needed(path: Path) -> None:
    write(path, ("r1", [f"kind{number}" for number in range(300)]))
    data = bytearray(path.read_bytes())
    for start in range(0, len(data), 4096):
        if start == 0 or data[start] in {0x02, 0x05}:  # the first, and those of trees
            data[start : start + 4096] = bytes(4096)
    path.write_bytes(data)
    rebuild(path)
    ((state, kinds),) = held(path).values()
    assert (state, len(kinds)) == (record().state, 301)


def test_what_stands_only_in_the_log_is_kept_also_behind_a_damage(path: Path) -> None:
    write(path, ("r1", ["a"]))
    with closing(sqlite3.connect(path)) as holder:  # so that the log is not removed
        holder.execute("SELECT count(*) FROM events").fetchone()
        write(path, ("r1", ["b", "c", "d"]))
        database, log = path.read_bytes(), wal_of(path).read_bytes()
    place = log.index(b"run_started") - 2_000
    path.write_bytes(database)
    wal_of(path).write_bytes(log[:place] + bytes([log[place] ^ 1]) + log[place + 1 :])
    assert lost_with_log(path, read_wal(path)) >= 2
    for opener in (open_reader, lambda path: open_journal(path, now=0.0)):
        with pytest.raises(DamagedError, match=r"SQLite would drop \d+ of the transactions in weft\.db-wal"):
            opener(path)
    rebuild(path)
    assert held(path) == {"r1": (record().state, ["run_started", "a", "b", "c", "d"])}


def test_a_log_without_its_last_transaction_is_what_a_power_cut_leaves(path: Path) -> None:
    write(path, ("r1", ["a"]))
    with closing(sqlite3.connect(path)) as holder:
        holder.execute("SELECT count(*) FROM events").fetchone()
        write(path, ("r1", ["b", "c"]))
        database, log = path.read_bytes(), wal_of(path).read_bytes()
    path.write_bytes(database)
    wal_of(path).write_bytes(log[:-5] + bytes(5))
    assert lost_with_log(path, read_wal(path)) == 0
    assert "b" in held(path)["r1"][1]


@pytest.mark.parametrize(
    ("log", "dropped"),
    [(b"", 0), (bytes(31), 0), (bytes(100), 0), (b"x" * 100, 1)],
    ids=["0", "31", "0s", "x"],
)
def test_a_log_that_is_none(path: Path, log: bytes, dropped: int) -> None:
    wal_of(path).write_bytes(log)
    assert lost_with_log(path, read_wal(path)) == dropped


def test_a_log_whose_header_has_changed_is_not_dropped(path: Path) -> None:
    write(path, ("r1", ["a"]))
    with closing(sqlite3.connect(path)) as holder:
        holder.execute("SELECT count(*) FROM events").fetchone()
        write(path, ("r1", ["b"]))
        database, log = path.read_bytes(), bytearray(wal_of(path).read_bytes())
    path.write_bytes(database)
    log[17] ^= 1
    wal_of(path).write_bytes(log)
    with pytest.raises(DamagedError):
        open_reader(path)
    rebuild(path)
    assert held(path)["r1"][1] == ["run_started", "a", "b"]


def test_each_damaged_file_is_kept_under_a_name_of_its_own(path: Path) -> None:
    write(path, ("r1", ["a"]))
    assert [rebuild(path).name for _ in range(3)] == [
        "weft.db.damaged",
        "weft.db.damaged-2",
        "weft.db.damaged-3",
    ]
    assert sorted(file.name for file in path.parent.iterdir()) == [
        "coordinator.lock", "weft.db", "weft.db.damaged", "weft.db.damaged-2", "weft.db.damaged-3",
    ]  # fmt: skip


def test_rows_of_a_journal_without_checksums_are_kept_if_they_can_be_read(path: Path) -> None:
    write(path, ("r1", ["a", "b", "c"]))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE events SET data = '[' WHERE kind = 'b'")
        connection.execute("ALTER TABLE events DROP COLUMN checksum")
        connection.execute("ALTER TABLE runs DROP COLUMN checksum")
        connection.execute("PRAGMA user_version = 3")
    rebuild(path)
    assert held(path) == {"r1": ("abandoned", ["run_started", "a"])}
