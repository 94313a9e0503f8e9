"""The journal: the one record of what happened, and the inbox of what people ask for.

One process at a time may write events. It holds a lease with a number, the epoch, that goes up with each new
holder; whoever lost the lease cannot write any more, however late it notices.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from msgspec import Struct

from weft.engine.run.events import Event, Recorded
from weft.engine.run.facts import AnyFact


class Holder(Struct, frozen=True, kw_only=True):
    """Who holds the lease."""

    pid: int
    started: int
    """The start time of that process, as the kernel counts it: a pid alone may be somebody else's by now."""
    nonce: str
    epoch: int
    since: float
    command: str = ""


class RunRecord(Struct, frozen=True, kw_only=True):
    run: str
    plan: str
    """The id of the plan."""
    file: str
    """The plan file, as it was named."""
    directory: str
    """The directory that the plan's file is in."""
    text: str
    """The plan as it was, with everything resolved."""
    digest: str
    """Of what the run depends on; with another plan it cannot go on."""
    created_at: float
    state: str
    """A `RunState`."""


class Request(Struct, frozen=True, kw_only=True):
    """Something a person asked for, until the coordinator has taken it up."""

    id: int
    run: str
    kind: str
    """`answer`, `merge`, `limits` or `control`."""
    subplan: str
    step: str
    data: dict[str, object]
    at: float


class Glimpse(Struct, frozen=True):
    """An event as it stands in the journal: what it says besides is not taken apart."""

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
    """JSON, an object."""


class JournalReader(Protocol):
    """Anybody may read, at any time, and ask."""

    def runs(self, plan: str | None = None) -> Sequence[RunRecord]:
        """Newest first."""
        ...

    def events(self, run: str, *, after: int = 0) -> Iterator[Recorded]:
        """In order, those with a higher sequence number."""
        ...

    def facts(self, run: str) -> Iterator[AnyFact]:
        """What the events carry, in order: all that recovery needs, at a fraction of the cost."""
        ...

    def record(self, run: str | None = None) -> RunRecord | None:
        """Of the run of that id, or of the last one: that in which something happened last, or that is newest."""
        ...

    def states(self, run: str) -> Mapping[str, str]:
        """Those of the subplans that are not pending."""
        ...

    def glance(self, run: str, *, merged: bool = True) -> Sequence[Glimpse]:
        """What else has happened, but for steps that cost neither money nor tokens; for a picture, and fast.

        Without `merged` also without merges that went well.
        """
        ...

    def merges(self, run: str, subplans: Sequence[str]) -> Sequence[Glimpse]:
        """All merges of some subplans."""
        ...

    def merges_after(self, run: str, seq: int) -> Sequence[Glimpse]:
        """All merges after this sequence number."""
        ...

    def landed(self, run: str) -> AbstractSet[str]:
        """The subplans whose last merge was a landing that went well."""
        ...

    def lives(self, run: str, subplans: Sequence[str], *, after: int = 0) -> Sequence[Glimpse]:
        """The states of some subplans, and the beginnings and ends of their steps.

        Nothing happens in a subplan before its first state, so what comes before is not looked at.
        """
        ...

    def holder(self) -> Holder | None:
        """Who wrote last; whether that process is alive is another question."""
        ...

    def ask(self, run: str, kind: str, *, subplan: str, step: str, data: dict[str, object], at: float) -> int:
        """Leave a request; its number."""
        ...

    def requests(self, run: str) -> Sequence[Request]:
        """Those not taken up yet."""
        ...

    def changed(self) -> bool:
        """Whether another connection has written since this was last asked; costs next to nothing."""
        ...

    def close(self) -> None: ...


class Journal(JournalReader, Protocol):
    """With the lease."""

    @property
    def epoch(self) -> int: ...

    def add_run(self, record: RunRecord) -> None: ...

    def set_run_state(self, run: str, state: str) -> None: ...

    def append(
        self,
        run: str,
        events: Sequence[tuple[float, Event]],
        *,
        taken: Sequence[int] = (),
        state: str | None = None,
    ) -> int:
        """Write all or nothing, durably, and with it that these requests are taken up, and the run's new state.

        Each event comes with its time. The last sequence number.
        """
        ...

    def append_last(self, run: str, events: Sequence[tuple[float, Event]]) -> int | None:
        """Write the last events of a coordinator, unless a request waits; the last sequence number.

        None if a request waits: nothing is written then. Both happen in one transaction, so that a request is
        either there before the coordinator decides to end, or comes after these events.
        """
        ...
