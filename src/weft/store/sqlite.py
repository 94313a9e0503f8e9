"""The journal in a SQLite file: one process writes; any number of processes read and add requests."""

import os
import sqlite3
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from weft.engine.messages.events import AnyEvent, Recorded
from weft.engine.messages.facts import AnyFact
from weft.engine.states import SubplanExecutionState
from weft.errors import InputError, WeftError
from weft.ports.journal import ControlRequest, Holder, RawEvent, RunRecord
from weft.safe_files import Tree
from weft.store import rows
from weft.store.checksums import event_checksum, fact_checksum, rest_checksum, row_checksum
from weft.store.database import Database, migrate, open_to_read, open_to_write
from weft.store.errors import DamagedError, LeaseLostError
from weft.store.failures import explained_system_error
from weft.store.lease import busy, current_holder, is_alive, new_holder, take_lock
from weft.store.lock import LOCK_FILE
from weft.store.queries import QUERIES
from weft.terms import RunState

_TRIES, _PAUSE = 20, 0.05
"""How often the lock of a dead process is tried, and the seconds between."""
_STATES = frozenset(map(str, RunState))
_SUBPLAN_STATES = frozenset(map(str, SubplanExecutionState))
_decode_states = msgspec.json.Decoder(dict[str, str]).decode
_decode_names = msgspec.json.Decoder(list[str]).decode
_PAGE = 256
"""The number of rows per read: enough to be fast, and few enough for memory."""

_FENCE, _ADD_EVENT, _EVENTS, _FACTS = (QUERIES[name] for name in ("fence", "add_event", "events", "facts"))


class SqliteReader:
    """Reads the journal, and adds requests. Keeps no transaction open between calls or events."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._version = self._data_version()

    def runs(self, plan: str | None = None) -> Sequence[RunRecord]:
        return [self._record(row) for row in self._database.checked_rows(QUERIES["runs"], (plan, plan))]

    def _record(self, row: Sequence[Any]) -> RunRecord:
        *values, state, checksum = row
        self._verify(checksum is None or checksum == row_checksum(tuple(values)), f"run {values[0]}")
        self._verify(state in _STATES, f"the state of run {values[0]}")
        return RunRecord(**dict(zip(RunRecord.__struct_fields__, (*values, state), strict=True)))

    def _verify(self, is_sound: bool, subject: str) -> None:  # noqa: FBT001 - reads as an assertion
        if not is_sound:
            raise DamagedError(self._database.path, f"{subject} does not match its checksum")

    def _page(self, query: str, values: Sequence[object]) -> list[Any]:
        """Returns verified rows of events without their facts."""
        page = self._database.checked_rows(query, values)
        run = values[0]
        for row in page:
            seq, at, *rest, checksum = row
            is_sound = rest_checksum(checksum) == row_checksum((seq, at, run, *rest)) if checksum else False
            self._verify(is_sound or not self._database.has_checksums, f"entry {seq}")
        return page

    def events(self, run: str, *, after: int = 0) -> Iterator[Recorded]:
        while page := self._database.checked_rows(_EVENTS, (run, after, _PAGE)):
            # The whole page is verified before the first event of it is used.
            for row in page:
                seq, at, *rest, checksum = row
                is_sound = not self._database.has_checksums or checksum == event_checksum(
                    seq, (at, run, *rest)
                )
                self._verify(is_sound, f"entry {seq}")
            yield from [rows.to_recorded(run, row[:-1]) for row in page]
            after = page[-1][0]

    def facts(self, run: str) -> Iterator[AnyFact]:
        """Yields only the facts, in order: all that recovery needs, at a fraction of the cost."""
        after, length = 0, 1  # many callers want only the first fact
        while page := self._database.checked_rows(_FACTS, (run, after, length)):
            for seq, fact, checksum in page:
                is_sound = not self._database.has_checksums or (checksum or 0) >> 32 == fact_checksum(
                    seq, fact
                )
                self._verify(is_sound, f"entry {seq}")
            yield from [rows.to_fact(seq, fact) for seq, fact, _ in page]
            after, length = page[-1][0], _PAGE

    def record(self, run: str | None = None) -> RunRecord | None:
        records = self._database.checked_rows(QUERIES["record"], (run, run))
        return self._record(records[0]) if records else None

    def notable_events(self, run: str, *, merged: bool = True) -> Sequence[RawEvent]:
        query = QUERIES["notable_events" if merged else "unusual"]
        return [RawEvent(*row[:-1]) for row in self._page(query, (run,))]

    def merges(self, run: str, subplans: Sequence[str]) -> Sequence[RawEvent]:
        if not subplans:
            return ()
        page = self._page(QUERIES["merges_of"], (run, rows.to_json(list(subplans))))
        return [RawEvent(*row[:-1]) for row in page]

    def merges_after(self, run: str, seq: int) -> Sequence[RawEvent]:
        return [RawEvent(*row[:-1]) for row in self._page(QUERIES["merges_after"], (run, seq))]

    def landed(self, run: str) -> AbstractSet[str]:
        ((names,),) = self._database.rows(QUERIES["landed"], (run,))
        try:
            return frozenset(_decode_names(names))
        except msgspec.DecodeError:
            raise DamagedError(self._database.path, "the landings do not match their checksum") from None

    def states(self, run: str) -> Mapping[str, str]:
        ((records,),) = self._database.rows(QUERIES["states"], (run,))
        # The states come from an index, which has no checksum, so their values are checked.
        try:
            states = _decode_states(records)
        except msgspec.DecodeError:
            raise DamagedError(self._database.path, "the states do not match their checksum") from None
        if not _SUBPLAN_STATES.issuperset(states.values()):
            wrong = next(path for path, state in states.items() if state not in _SUBPLAN_STATES)
            self._verify(False, f"the state of {wrong}")
        return states

    def step_events(self, run: str, subplans: Sequence[str], *, after: int = 0) -> Sequence[RawEvent]:
        page = self._page(QUERIES["plan_step_events"], (run, after)) if "" in subplans else []
        if named := [path for path in subplans if path]:
            names = rows.to_json(named)
            # Nothing happens in a subplan before its first state.
            ((first,),) = self._database.rows(QUERIES["first_states"], (run, names))
            if first is not None:
                page += self._page(QUERIES["step_events"], (run, max(after, first - 1), names))
        return [RawEvent(*row[:-1]) for row in sorted(page)]

    def holder(self) -> Holder | None:
        return current_holder(self._database)

    def ask(self, run: str, kind: str, *, subplan: str, step: str, data: dict[str, object], at: float) -> int:
        values = (run, kind, subplan, step, rows.to_json(data), at)
        with self._database.transaction() as connection:
            (number,) = connection.execute(QUERIES["ask"], values).fetchone()
        return int(number)

    def requests(self, run: str) -> Sequence[ControlRequest]:
        return [
            ControlRequest(
                id=number,
                run=run,
                kind=kind,
                subplan=subplan,
                step=step,
                data=rows.to_data(number, data),
                at=at,
            )
            for number, kind, subplan, step, data, at in self._database.rows(QUERIES["requests"], (run,))
        ]

    def changed(self) -> bool:
        before, self._version = self._version, self._data_version()
        return self._version != before

    def close(self) -> None:
        self._database.close()

    def _data_version(self) -> int:
        # The value changes when another connection has committed; it costs no read of a table.
        ((version,),) = self._database.rows("PRAGMA data_version")
        return int(version)


class SqliteJournal(SqliteReader):
    """Writes, as long as the lease is its own. Created by `open_journal`."""

    def __init__(self, database: Database, holder: Holder, lock: int) -> None:
        super().__init__(database)
        self._lease = (holder.nonce, holder.epoch)
        self._lock: int | None = lock
        self._file = _identity(database.path)

    @property
    def epoch(self) -> int:
        return self._lease[1]

    def add_run(self, record: RunRecord) -> None:
        *values, state = (getattr(record, name) for name in record.__struct_fields__)
        with self._writing() as (connection, _):
            connection.execute(QUERIES["add_run"], (*values, row_checksum(tuple(values))))
            connection.execute(QUERIES["add_run_state"], (state, record.run))

    def set_run_state(self, run: str, state: str) -> None:
        self.append(run, (), state=state)

    def append(
        self,
        run: str,
        events: Sequence[tuple[float, AnyEvent]],
        *,
        taken: Sequence[int] = (),
        state: str | None = None,
    ) -> int:
        added = [rows.to_row(run, at, event) for at, event in events]
        with self._writing() as (connection, last_before):
            last = last_before + len(added)
            connection.executemany(_ADD_EVENT, _number_rows(added, last_before))
            if taken:
                connection.executemany(QUERIES["take_request"], [(last, number, run) for number in taken])
            if state is not None and connection.execute(QUERIES["set_run_state"], (state, run)).rowcount != 1:
                raise InputError(f"the journal {self._database.path}: it has no such run")
        return last

    def append_last(self, run: str, events: Sequence[tuple[float, AnyEvent]]) -> int | None:
        added = [rows.to_row(run, at, event) for at, event in events]
        with self._writing() as (connection, last_before):
            # In the same transaction as the event: a command that adds a request afterwards sees that the
            # coordinator has left.
            if connection.execute(QUERIES["requests"], (run,)).fetchone() is not None:
                return None
            connection.executemany(_ADD_EVENT, _number_rows(added, last_before))
        return last_before + len(added)

    def close(self) -> None:
        super().close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @contextmanager
    def _writing(self) -> Generator[tuple[sqlite3.Connection, int]]:
        """Yields a transaction and the last sequence number, if this process may still write."""
        # SQLite keeps writing to a deleted file without an error; all of that would be lost with the process.
        if _identity(self._database.path) != self._file:
            raise LeaseLostError(
                f"the journal {self._database.path} was deleted, moved or replaced while it was in use; "
                "put it back, if you can, and type the command again"
            )
        with self._database.transaction() as connection:
            # The check is part of the write. A coordinator that was suspended for hours, and replaced
            # meanwhile, fails here instead of writing into a run that another one drives.
            lease_row = connection.execute(_FENCE, self._lease).fetchone()
            if lease_row is None:
                raise LeaseLostError(
                    f"another Weft has taken over {self._database.path}; this one has stopped writing to it"
                )
            yield connection, lease_row[0]


def _number_rows(added: Sequence[rows.EventRow], last: int) -> Iterator[tuple[object, ...]]:
    """Yields the rows with their numbers and checksums."""
    for seq, row in enumerate(added, start=last + 1):
        yield (seq, *row, event_checksum(seq, row))


def open_journal(path: Path, *, now: float, command: str = "") -> SqliteJournal:
    """Opens the journal for writing, in a new directory if needed. Raises `BusyError` if another process does."""
    _make_folder(path.parent)
    lock = _lock(path)
    if lock is None:
        raise busy(path.parent, _holder_of(path))
    try:
        return _open_journal(path, new_holder(now=now, command=command), lock)
    except BaseException:
        os.close(lock)
        raise


def _lock(path: Path) -> int | None:
    """Returns the lock; None if another process holds it.

    A process that was killed while it started a program holds the lock until that program has started.
    """
    for _ in range(_TRIES):
        lock = take_lock(path.parent / LOCK_FILE)
        holder = None if lock is not None else _holder_of(path)
        if lock is not None or holder is None or is_alive(holder):
            return lock
        time.sleep(_PAUSE)
    return None


def open_reader(path: Path) -> SqliteReader:
    """Opens the journal for reading. Raises `InputError` if there is none."""
    return SqliteReader(open_to_read(path))


def _open_journal(path: Path, holder: Holder, lock: int) -> SqliteJournal:
    database = open_to_write(path)
    try:
        # The lease is taken in the transaction of the migration, so an old Weft that waits for the write lock
        # finds tables and lease of the new one.
        with database.transaction() as connection:
            migrate(database)
            values = (holder.pid, holder.started, holder.nonce, holder.since, holder.command)
            (epoch,) = connection.execute(QUERIES["take_lease"], values).fetchone()
        return SqliteJournal(database, structs.replace(holder, epoch=epoch), lock)
    except BaseException:
        database.close()
        raise


def _holder_of(path: Path) -> Holder | None:
    """Returns the holder of the lease; None also if the process with the lock is just creating the file."""
    try:
        with closing(open_reader(path)) as reader:
            return reader.holder()
    except WeftError:
        return None


def _make_folder(folder: Path) -> None:
    try:
        is_new = not os.path.lexists(folder)
        Tree(folder.parent).make(folder.name)
        if is_new:
            _sync(folder.parent)
    except OSError as error:
        raise explained_system_error(f"cannot make {folder}", error) from None


def _sync(folder: Path) -> None:
    """Makes the new directory survive a power loss. SQLite does the same for its files."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _identity(path: Path) -> tuple[int, int] | None:
    """Returns the device and inode of a file; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
