"""The journal in memory, for tests and for runs that need no record. It stores the same rows as the file."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager

from msgspec import Struct, structs

from weft.engine.messages.event_codec import kinds_of
from weft.engine.messages.events import (
    AnyEvent,
    MergeEvent,
    Recorded,
    StepFinishedEvent,
    StepSkippedEvent,
    StepStartedEvent,
    SubplanStateEvent,
    WokeEvent,
)
from weft.engine.messages.facts import AnyFact
from weft.engine.messages.internal_steps import InternalStep
from weft.errors import InputError
from weft.ports.journal import ControlRequest, Holder, RawEvent, RunRecord
from weft.store import rows
from weft.store.errors import BusyError, LeaseLostError

_STEP_KINDS = kinds_of(StepStartedEvent, StepFinishedEvent, SubplanStateEvent)
_ROUTINE_KINDS = _STEP_KINDS | kinds_of(StepSkippedEvent, WokeEvent)
_MERGES = kinds_of(MergeEvent)


class MemoryStore(Struct):
    """The contents of the journal, shared by all its readers and writers, as a file is."""

    runs: dict[str, RunRecord] = {}
    events: list[rows.EventRow] = []
    requests: dict[int, ControlRequest] = {}
    """The pending requests, by number."""
    requested: int = 0
    holder: Holder | None = None
    locked: bool = False
    writes: int = 0


class MemoryReader:
    """Reads the journal, and adds requests to it."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self._last_write = store.writes

    def runs(self, plan: str | None = None) -> Sequence[RunRecord]:
        return [record for record in reversed(self.store.runs.values()) if plan in {None, record.plan}]

    def events(self, run: str, *, after: int = 0) -> Iterator[Recorded]:
        for seq, row in self._rows(after):
            if row[1] == run:
                yield rows.to_recorded(run, (seq, row[0], *row[2:]))

    def facts(self, run: str) -> Iterator[AnyFact]:
        for seq, row in self._rows(0):
            if row[1] == run and row[-1] is not None:
                yield rows.to_fact(seq, row[-1])

    def record(self, run: str | None = None) -> RunRecord | None:
        records = [record for record in self.runs() if run in {None, record.run}]
        last = {row[1]: row[0] for row in self.store.events}
        return max(records, key=lambda record: last.get(record.run, record.created_at), default=None)

    def states(self, run: str) -> Mapping[str, str]:
        return {
            event.subplan: event.outcome
            for event in self._raw_events(run)
            if event.kind in kinds_of(SubplanStateEvent)
        }

    def notable_events(self, run: str, *, merged: bool = True) -> Sequence[RawEvent]:
        return [
            event
            for event in self._raw_events(run)
            if event.kind not in _ROUTINE_KINDS or event.cost is not None or event.tokens is not None
            if merged or event.kind not in _MERGES or event.outcome != "merged"
        ]

    def merges(self, run: str, subplans: Sequence[str]) -> Sequence[RawEvent]:
        return [event for event in self.merges_after(run, 0) if event.subplan in subplans]

    def merges_after(self, run: str, seq: int) -> Sequence[RawEvent]:
        return [event for event in self._raw_events(run) if event.kind in _MERGES and event.seq > seq]

    def landed(self, run: str) -> AbstractSet[str]:
        last = {event.subplan: (event.step, event.outcome) for event in self.merges_after(run, 0)}
        return {path for path, end in last.items() if end == (InternalStep.LAND, "merged")}

    def step_events(self, run: str, subplans: Sequence[str], *, after: int = 0) -> Sequence[RawEvent]:
        return [
            event
            for event in self._raw_events(run)
            if event.seq > after and event.kind in _STEP_KINDS and event.subplan in subplans
        ]

    def _raw_events(self, run: str) -> Iterator[RawEvent]:
        for seq, (at, its_run, kind, subplan, step, attempt, outcome, cost, tokens, data, _) in self._rows(0):
            if its_run == run:
                yield RawEvent(seq, at, kind, subplan, step, attempt, outcome, cost, tokens, data)

    def holder(self) -> Holder | None:
        return self.store.holder

    def ask(self, run: str, kind: str, *, subplan: str, step: str, data: dict[str, object], at: float) -> int:
        self._check_run(run)
        number = self.store.requested + 1
        copied = rows.to_data(number, rows.to_json(data))
        request = ControlRequest(
            id=number, run=run, kind=kind, subplan=subplan, step=step, data=copied, at=at
        )
        self.store.requests[number] = request
        self.store.requested = number
        self._count_write()
        return number

    def requests(self, run: str) -> Sequence[ControlRequest]:
        return [request for request in self.store.requests.values() if request.run == run]

    def changed(self) -> bool:
        before, self._last_write = self._last_write, self.store.writes
        return self._last_write != before

    def close(self) -> None:
        pass

    def _rows(self, after: int) -> Iterator[tuple[int, rows.EventRow]]:
        """Yields rows, including those that are added during the iteration."""
        while after < len(self.store.events):
            after += 1
            yield after, self.store.events[after - 1]

    def _check_run(self, run: str) -> None:
        if run not in self.store.runs:
            raise InputError(f"the journal has no run {run!r}")

    def _count_write(self) -> None:
        """Counts a write; its own writes are no change for a reader."""
        self.store.writes += 1
        self._last_write += 1


class MemoryJournal(MemoryReader):
    """Writes, as long as the lease is its own."""

    def __init__(self, store: MemoryStore | None = None, *, now: float = 0.0, command: str = "") -> None:
        super().__init__(MemoryStore() if store is None else store)
        last = self.store.holder
        if self.store.locked:
            raise BusyError("another journal has the same records open for writing; close it first", last)
        epoch = 1 if last is None else last.epoch + 1
        self._lease = Holder(
            pid=0, started=0, nonce=f"memory-{epoch}", epoch=epoch, since=now, command=command
        )
        self.store.holder = self._lease
        self.store.locked = True
        self._is_open = True

    @property
    def epoch(self) -> int:
        return self._lease.epoch

    def add_run(self, record: RunRecord) -> None:
        if record.run in self.store.runs:
            raise InputError(f"the journal has a run {record.run!r} already")
        rows.to_json(record)  # refuses values that a file could not store
        with self._writing():
            self.store.runs[record.run] = record

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
        with self._writing():
            self._check_run(run)
            self.store.events.extend(added)
            for number in taken:
                self.store.requests.pop(number, None)
            if state is not None:
                self.store.runs[run] = structs.replace(self.store.runs[run], state=state)
        return len(self.store.events)

    def append_last(self, run: str, events: Sequence[tuple[float, AnyEvent]]) -> int | None:
        return None if self.requests(run) else self.append(run, events)

    def close(self) -> None:
        if self._is_open:
            self._is_open = self.store.locked = False

    @contextmanager
    def _writing(self) -> Generator[None]:
        if self.store.holder != self._lease:
            raise LeaseLostError(
                "another journal has taken over the records; this one has stopped writing to them"
            )
        yield
        self._count_write()
