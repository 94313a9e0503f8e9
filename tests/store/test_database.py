"""The file, and all that can be wrong with it. Nothing that is there is ever deleted or changed by an error."""

import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from app.privileges import without_privileges
from contracts.journal_contract import ask, kinds, record, told
from store.books import add, opened, sign, wal_of
from store.faulty_vfs import disk_without_shared_memory
from stored_events import make_event
from weft.engine.messages.facts import Woke
from weft.errors import InputError, WeftError
from weft.store.errors import DamagedError
from weft.store.queries import MIGRATIONS, QUERIES
from weft.store.sqlite import SqliteReader, open_journal, open_reader


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "weft.db"


def sql(path: Path, *statements: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection, connection:
        return [row for statement in statements for row in connection.execute(statement)]


def write(path: Path) -> SqliteReader:
    return open_journal(path, now=0.0)


OPENERS: dict[str, Callable[[Path], SqliteReader]] = {"to write": write, "to read": open_reader}


@pytest.fixture(params=OPENERS)
def opener(request: pytest.FixtureRequest) -> Callable[[Path], SqliteReader]:
    return OPENERS[request.param]


# --- what is there ---


def test_a_new_journal_is_durable_and_strict(path: Path) -> None:
    with opened(path) as journal:
        assert journal._database.rows("PRAGMA journal_mode") == [("wal",)]
        assert journal._database.rows("PRAGMA synchronous") == [(2,)]
        assert journal._database.rows("PRAGMA user_version") == [(len(MIGRATIONS),)]
        tables = journal._database.rows("SELECT name, strict FROM pragma_table_list WHERE schema = 'main'")
    ours = {name: strict for name, strict in tables if not name.startswith("sqlite_")}
    assert ours == dict.fromkeys(["events", "lease", "requests", "run_states", "runs"], 1)


def test_a_reader_flushes_what_it_asks_for_and_leaves_checkpoints_to_the_writer(path: Path) -> None:
    with opened(path), closing(open_reader(path)) as reader:
        assert reader._database.rows("PRAGMA synchronous") == [(2,)]
        assert reader._database.rows("PRAGMA wal_autocheckpoint") == [(0,)]


def test_the_numbers_of_the_migrations_are_their_places() -> None:
    assert [int(script.name.partition("_")[0]) for script in MIGRATIONS] == [*range(1, len(MIGRATIONS) + 1)]


@pytest.mark.parametrize("query", ["events", "facts"])
def test_the_events_of_one_run_are_found_without_looking_at_others(path: Path, query: str) -> None:
    with opened(path) as journal:
        plan = journal._database.rows(f"EXPLAIN QUERY PLAN {QUERIES[query]}", ("r1", 0, 10))
    assert [row[-1] for row in plan] == [
        "SEARCH events USING INDEX events_of_a_run (run=? AND rowid>?)",
    ]


@pytest.mark.parametrize("name", ["a b", "50%", "what?", "one#two", "ünï", "a&mode=ro", "'q'"])
def test_the_name_of_the_directory_may_be_anything(tmp_path: Path, name: str) -> None:
    path = tmp_path / name / "weft.db"
    with opened(path, with_run=True) as journal:
        add(journal, ["a"])
        with closing(open_reader(path)) as reader:
            assert kinds(reader) == ["a"]
    assert sorted(file.name for file in path.parent.iterdir()) == ["coordinator.lock", "weft.db"]


def test_a_relative_path_is_meant_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with opened(Path(".weft/weft.db")):
        assert (tmp_path / ".weft" / "weft.db").is_file()


def test_it_can_be_written_to_from_another_thread(path: Path) -> None:
    with opened(path, with_run=True) as journal, ThreadPoolExecutor(1) as threads:
        assert threads.submit(journal.append, "r1", told("a")).result() == 1
        assert kinds(journal) == ["a"]


def test_a_reader_that_stands_still_does_not_make_the_wal_grow(path: Path) -> None:
    with opened(path, with_run=True) as journal, closing(open_reader(path)) as reader:
        journal._database.rows("PRAGMA wal_autocheckpoint = 20")
        add(journal, ["a"] * 1000)
        reading, facts = reader.events("r1"), reader.facts("r1")
        next(reading)
        assert next(facts, None) is None
        size = wal_of(path).stat().st_size
        for _ in range(200):
            add(journal, ["b"])
        assert wal_of(path).stat().st_size == size
        assert sum(1 for _ in reading) == 1199


# --- what should not be there ---


def test_there_is_nothing_to_read_before_the_first_run(path: Path) -> None:
    with pytest.raises(InputError, match=r"^nothing has been run here yet; type: weft run$"):
        open_reader(path)
    with pytest.raises(InputError, match="nothing has been run here yet"):
        open_reader(path / "deeper")
    assert not path.exists()


def test_an_empty_file_is_no_journal_yet(path: Path) -> None:
    path.touch()
    with pytest.raises(InputError, match="nothing has been run here yet"):
        open_reader(path)
    with opened(path, with_run=True) as journal:
        assert journal.runs() == [record()]


@pytest.mark.parametrize("content", [b"hello\n", b"hello\n" * 1000], ids=["short", "long"])
def test_a_file_that_is_no_database_is_left_alone(
    path: Path, opener: Callable[[Path], SqliteReader], content: bytes
) -> None:
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"not a journal of Weft; move the file away or name another"):
        opener(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "statement", ["CREATE TABLE notes (text)", "PRAGMA user_version = 3"], ids=["tables", "version"]
)
def test_the_database_of_another_program_is_left_alone(
    path: Path, opener: Callable[[Path], SqliteReader], statement: str
) -> None:
    sql(path, statement)
    before = path.read_bytes()
    with pytest.raises(InputError, match="it is the database of another program; move it away"):
        opener(path)
    assert path.read_bytes() == before


def test_a_journal_of_a_newer_weft_is_left_alone(path: Path, opener: Callable[[Path], SqliteReader]) -> None:
    with opened(path):
        pass
    sql(path, "PRAGMA user_version = 99")
    before = sql(path, "SELECT epoch FROM lease")
    with pytest.raises(
        InputError, match=r"written by a newer Weft \(version 99; this Weft reads up to \d+\); use"
    ):
        opener(path)
    assert sql(path, "SELECT epoch FROM lease") == before


def test_a_directory_is_not_a_journal(path: Path, opener: Callable[[Path], SqliteReader]) -> None:
    path.mkdir()
    with pytest.raises(InputError, match="it is not a regular file; move it away"):
        opener(path)


def test_the_directory_is_made_but_not_those_above_it(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"cannot make .*none/\.weft: No such file or directory; make sure that"
    ):
        open_journal(tmp_path / "none" / ".weft" / "weft.db", now=0.0)


def test_a_file_in_place_of_the_directory_is_left_alone(path: Path) -> None:
    path.write_text("mine")
    with pytest.raises(InputError, match=r"cannot make .*: is a file, not a directory"):
        open_journal(path / "weft.db", now=0.0)
    assert path.read_text() == "mine"


def test_a_damaged_journal_is_kept_and_said_to_be_damaged(path: Path) -> None:
    with opened(path, with_run=True) as journal:
        add(journal, ["a"] * 1000)
    damaged = bytearray(path.read_bytes())
    damaged[4096:] = b"\xff" * len(damaged[4096:])
    path.write_bytes(damaged)
    with (
        closing(open_reader(path)) as reader,
        pytest.raises(
            DamagedError,
            match=r"is damaged: SQLite says: .*; to keep all that can be read of it, type: weft doctor --fix",
        ),
    ):
        reader.runs()
    assert path.read_bytes() == damaged


@pytest.mark.parametrize("column", ["at", "kind", "subplan", "step", "attempt", "outcome", "cost", "data"])
def test_an_entry_that_has_changed_is_refused_by_all_readers(path: Path, column: str) -> None:
    with opened(path, with_run=True) as journal:
        event = make_event(kind="subplan_state", subplan="a", outcome="running", cost=3, fact=Woke(at=1.0))
        journal.append("r1", [(1.0, event)])
        assert [item.kind for item in journal.step_events("r1", ["a"])] == ["subplan_state"]
        changed = "7" if column in {"at", "attempt", "cost"} else f"replace({column}, 'a', 'b') || ' '"
        sql(path, f"UPDATE events SET {column} = {changed}")
        for read in (
            lambda: list(journal.events("r1")),
            lambda: journal.notable_events("r1"),
        ):
            with pytest.raises(
                DamagedError, match=r"entry 1 does not match its checksum; .* weft doctor --fix"
            ):
                read()
        assert list(journal.facts("r1")) == [Woke(at=1.0)]  # which has a checksum of its own


def test_a_fact_that_has_changed_is_refused(path: Path) -> None:
    with opened(path, with_run=True) as journal:
        journal.append("r1", [(1.0, make_event(kind="woke", fact=Woke(at=1.0)))])
        sql(path, "UPDATE events SET fact = replace(fact, '1.0', '1.5')")
        with pytest.raises(DamagedError, match="entry 1 does not match its checksum"):
            list(journal.facts("r1"))
        with pytest.raises(DamagedError, match="entry 1 does not match its checksum"):
            list(journal.events("r1"))


@pytest.mark.parametrize(
    ("change", "damage"),
    [
        ("UPDATE runs SET text = text || ' '", "run r1 does not match its checksum"),
        ("UPDATE run_states SET state = 'rynning'", "the state of run r1 does not match its checksum"),
        ("UPDATE runs SET text = CAST(x'ff' AS TEXT)", "SQLite says: Could not decode to UTF-8"),
    ],
)
def test_a_run_that_has_changed_is_refused(path: Path, change: str, damage: str) -> None:
    with opened(path, with_run=True) as journal:
        sql(path, change)
        with pytest.raises(DamagedError, match=damage):
            journal.runs()
        with pytest.raises(DamagedError, match=damage):
            journal.record("r1")


def test_a_state_of_a_subplan_that_there_is_not_is_refused(path: Path) -> None:
    with opened(path, with_run=True) as journal:
        journal.append("r1", [(1.0, make_event(kind="subplan_state", subplan="a", outcome="running"))])
        assert journal.states("r1") == {"a": "running"}
        sql(path, "UPDATE events SET outcome = 'rynning'")
        with pytest.raises(DamagedError, match="the state of a does not match its checksum"):
            journal.states("r1")


def test_a_journal_without_checksums_can_be_read_and_gets_them_when_it_is_written(path: Path) -> None:
    with opened(path, with_run=True) as journal:
        add(journal, ["a", "b"])
        before = list(journal.events("r1"))
    for index in ("last_merges", "unusual_events", "plan_steps"):
        sql(path, f"DROP INDEX {index}")
    sql(path, "ALTER TABLE events DROP COLUMN checksum")
    sql(path, "ALTER TABLE runs DROP COLUMN checksum")
    sql(path, "PRAGMA user_version = 3")
    with closing(open_reader(path)) as reader:
        assert (list(reader.events("r1")), reader.runs()) == (before, [record()])
        assert [event.seq for event in reader.notable_events("r1")] == [1, 2]
    with opened(path) as journal:
        add(journal, ["c"])
        assert kinds(journal) == ["a", "b", "c"]
        sql(path, "UPDATE events SET kind = 'x' WHERE seq = 1")
        with pytest.raises(DamagedError, match="entry 1"):
            list(journal.events("r1"))


def test_an_entry_that_cannot_be_read_is_named(path: Path) -> None:
    with opened(path, with_run=True) as journal:
        journal.append("r1", [(1.0, make_event(kind="woke", data={"a": 1}, fact=Woke(at=1.0)))] * 2)
        sql(path, """UPDATE events SET fact = '{"fact": "dreamt", "at": 1.0}' WHERE seq = 2""")
        sign(path)
        with pytest.raises(
            WeftError, match=r"entry 2 of the journal cannot be read \(Invalid value 'dreamt'"
        ):
            list(journal.facts("r1"))
        sql(path, "UPDATE events SET data = '[' WHERE seq = 1")
        sign(path)
        with pytest.raises(
            WeftError, match=r"entry 1 of the journal cannot be read .* with the version that wrote it"
        ):
            list(journal.events("r1"))


def test_whatever_else_sqlite_says_is_passed_on(path: Path) -> None:
    with opened(path) as journal:
        sql(path, "DROP TABLE requests")
        with pytest.raises(WeftError, match=r"it cannot be used \(SQLite says: no such table: requests\)"):
            journal.requests("r1")


def test_a_journal_that_is_closed_is_a_mistake_of_ours(path: Path) -> None:
    with opened(path, with_run=True) as journal:
        journal.close()
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            add(journal, ["a"])


def test_the_wait_for_another_writer_is_limited(path: Path) -> None:
    with opened(path, with_run=True) as journal, closing(open_reader(path)) as reader:
        reader._database.rows("PRAGMA busy_timeout = 0")
        with (
            journal._database.transaction(),
            pytest.raises(
                WeftError, match="another process has kept it busy for 30 seconds; find that process"
            ),
        ):
            ask(reader)
        assert ask(reader) == 1


def test_a_disk_without_shared_memory_is_refused(path: Path) -> None:
    with disk_without_shared_memory(), pytest.raises(WeftError, match="keep it on a local disk"):
        open_journal(path, now=0.0)


def test_an_old_sqlite_is_refused(
    path: Path, opener: Callable[[Path], SqliteReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(path):
        pass
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 9))
    with pytest.raises(WeftError, match=r"and Weft needs 3\.37 or later; use a newer Python"):
        opener(path)


# --- what one may not do ---


@pytest.fixture
def guarded() -> Iterator[Path]:
    """A journal in a directory that all users may enter and none may write to."""
    with tempfile.TemporaryDirectory(prefix="weft-") as made:
        folder = Path(made)
        with opened(folder / "weft.db", with_run=True) as journal:
            add(journal, ["a"])
        for file in (*folder.iterdir(), folder):
            file.chmod(0o555)
        yield folder / "weft.db"
        folder.chmod(0o755)


def test_in_a_directory_that_is_read_only_one_cannot_run(guarded: Path) -> None:
    with (
        without_privileges(),
        pytest.raises(InputError, match=r"cannot open .*coordinator.lock: Permission denied"),
    ):
        open_journal(guarded, now=0.0)


def test_a_file_that_is_read_only_one_cannot_run_with(guarded: Path) -> None:
    guarded.parent.chmod(0o777)
    (guarded.parent / "coordinator.lock").chmod(0o666)
    with (
        without_privileges(),
        pytest.raises(InputError, match="you have no permission to write to it or to its directory"),
    ):
        open_journal(guarded, now=0.0)


def test_in_a_directory_that_is_read_only_one_cannot_read(guarded: Path) -> None:
    """SQLite needs a file beside it, through which readers and writers know of each other."""
    with (
        without_privileges(),
        pytest.raises(InputError, match="you have no permission to write to it or to its directory"),
    ):
        open_reader(guarded)


def test_in_a_directory_that_is_read_only_one_cannot_make_another(guarded: Path) -> None:
    with (
        without_privileges(),
        pytest.raises(InputError, match=r"cannot make .*: Permission denied; make sure that"),
    ):
        open_journal(guarded.with_name("new") / "weft.db", now=0.0)


def test_a_directory_that_one_may_not_enter_is_named(guarded: Path) -> None:
    guarded.parent.chmod(0o000)
    with without_privileges(), pytest.raises(InputError, match=r"cannot open .*weft.db: Permission denied"):
        open_reader(guarded)


def test_a_file_that_one_may_not_read_is_named(guarded: Path) -> None:
    guarded.chmod(0o000)
    with (
        without_privileges(),
        pytest.raises(
            InputError,
            match=r"it cannot be opened; make sure that you can "
            r"read",
        ),
    ):
        open_reader(guarded)


# --- migrations ---


def test_a_journal_of_an_older_weft_is_brought_up_to_date(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(path, with_run=True) as journal:
        add(journal, ["a"])
    script = tmp_path / "9999_more.sql"
    script.write_text(
        "-- Two of them; the first one has a ; in a comment.\nCREATE TABLE x (a);\nCREATE TABLE y (b);\n"
    )
    monkeypatch.setattr("weft.store.database.MIGRATIONS", [*MIGRATIONS, script])
    with opened(path) as journal:
        assert kinds(journal) == ["a"]
        assert journal._database.rows("PRAGMA user_version") == [(len(MIGRATIONS) + 1,)]
        assert journal._database.rows("SELECT * FROM x, y") == []


def test_a_migration_that_fails_changes_nothing(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(path, with_run=True) as journal:
        add(journal, ["a"])
    script = tmp_path / "9999_more.sql"
    script.write_text("CREATE TABLE x (a);\nDROP TABLE events;\nCREATE TABLE runs (b);\n")
    with monkeypatch.context() as patch:
        patch.setattr("weft.store.database.MIGRATIONS", [*MIGRATIONS, script])
        with pytest.raises(WeftError, match="table runs already exists"):
            open_journal(path, now=0.0)
    with opened(path) as journal:
        assert journal.epoch == 2
        assert kinds(journal) == ["a"]
        assert journal._database.rows("SELECT count(*) FROM sqlite_schema WHERE name = 'x'") == [(0,)]
