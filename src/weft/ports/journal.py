"""The port to the journal: the record of what happened, and the inbox for requests of users.

One process at a time may write events. It holds a lease with a number, the epoch, which increases with each new
holder. A process that has lost the lease can no longer write, however late it notices the loss.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from msgspec import Struct

from weft.engine.messages.event_codec import to_event
from weft.engine.messages.events import AnyEvent, Recorded
from weft.engine.messages.facts import AnyFact


class Holder(Struct, frozen=True, kw_only=True):
    """The process that holds the lease."""

    pid: int
    started: int
    """The start time of that process, as the kernel counts it: the pid alone may have been reused."""
    nonce: str
    epoch: int
    since: float
    command: str = ""


class RunRecord(Struct, frozen=True, kw_only=True):
    """A run in the journal."""

    run: str
    plan: str
    """The id of the plan."""
    file: str
    """The plan file, as the user named it."""
    directory: str
    """The directory of the plan file."""
    text: str
    """The plan at the start of the run, with all settings resolved."""
    digest: str
    """A digest of everything the run depends on. A run can be resumed only with the same plan."""
    created_at: float
    state: str
    """A `RunState`."""


class ControlRequest(Struct, frozen=True, kw_only=True):
    """A request of a user that the coordinator has not handled yet."""

    id: int
    run: str
    kind: str
    """`answer`, `merge`, `limits` or `control`."""
    subplan: str
    step: str
    data: dict[str, object]
    at: float


class RawEvent(Struct, frozen=True):
    """An event as it is stored in the journal, with its data not decoded."""

    seq: int
    at: float
    kind: str
    subplan: str
    step: str
    attempt: int
    outcome: str
    cost: int | None
    tokens: int | None
    data: str
    """A JSON object."""

    def event(self) -> AnyEvent:
        """Returns the event, without its fact."""
        return to_event(
            self.kind,
            subplan=self.subplan,
            step=self.step,
            attempt=self.attempt,
            outcome=self.outcome,
            cost=self.cost,
            tokens=self.tokens,
            data=self.data,
        )


class JournalReader(Protocol):
    """The part of the journal that any process may use at any time: it reads, and adds requests."""

    def runs(self, plan: str | None = None) -> Sequence[RunRecord]:
        """Returns the runs, the newest first."""
        ...

    def events(self, run: str, *, after: int = 0) -> Iterator[Recorded]:
        """Yields the events with a sequence number above `after`, in order."""
        ...

    def facts(self, run: str) -> Iterator[AnyFact]:
        """Yields the facts of the events in order: enough to resume a run, at a fraction of the cost of events."""
        ...

    def record(self, run: str | None = None) -> RunRecord | None:
        """Returns the run with that id; without an id, the run with the latest event, or else the newest."""
        ...

    def states(self, run: str) -> Mapping[str, str]:
        """Returns the states of the subplans that are not pending."""
        ...

    def notable_events(self, run: str, *, merged: bool = True) -> Sequence[RawEvent]:
        """Returns all other events, except steps without cost and tokens. Fast enough for a status display.

        Without `merged` it also leaves out successful merges.
        """
        ...

    def merges(self, run: str, subplans: Sequence[str]) -> Sequence[RawEvent]:
        """Returns all merges of some subplans."""
        ...

    def merges_after(self, run: str, seq: int) -> Sequence[RawEvent]:
        """Returns all merges after this sequence number."""
        ...

    def landed(self, run: str) -> AbstractSet[str]:
        """Returns the subplans with a successful landing as their last merge."""
        ...

    def step_events(self, run: str, subplans: Sequence[str], *, after: int = 0) -> Sequence[RawEvent]:
        """Returns the state changes of some subplans, and the starts and ends of their steps.

        Nothing happens in a subplan before its first state, so events before that are not read.
        """
        ...

    def holder(self) -> Holder | None:
        """Returns the last holder of the lease. Its process need not be alive."""
        ...

    def ask(self, run: str, kind: str, *, subplan: str, step: str, data: dict[str, object], at: float) -> int:
        """Adds a request and returns its number."""
        ...

    def requests(self, run: str) -> Sequence[ControlRequest]:
        """Returns the requests that have not been handled yet."""
        ...

    def changed(self) -> bool:
        """Returns whether another connection has written since the last call; costs almost nothing."""
        ...

    def close(self) -> None:
        """Closes the connection."""
        ...


class Journal(JournalReader, Protocol):
    """The journal as the holder of the lease sees it."""

    @property
    def epoch(self) -> int: ...

    def add_run(self, record: RunRecord) -> None: ...

    def set_run_state(self, run: str, state: str) -> None: ...

    def append(
        self,
        run: str,
        events: Sequence[tuple[float, AnyEvent]],
        *,
        taken: Sequence[int] = (),
        state: str | None = None,
    ) -> int:
        """Writes the events durably in one transaction, with the handled requests and the run's new state.

        Each event comes with its time. Returns the last sequence number.
        """
        ...

    def append_last(self, run: str, events: Sequence[tuple[float, AnyEvent]]) -> int | None:
        """Writes the last events of a coordinator, unless a request is pending; returns the last sequence number.

        Returns None and writes nothing if a request is pending. Both happen in one transaction, so that a request
        either arrives before the coordinator decides to end, or after these events.
        """
        ...
