"""The journal as a step sees it: only the events of its subplan and of the subplans below.

Every view of a run reads the journal, so no view can show more to a step.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from weft.engine.messages.event_codec import kinds_of
from weft.engine.messages.events import PausedEvent, Recorded, RecoveredEvent, ResumedEvent, RunFinishedEvent
from weft.engine.messages.facts import AnyFact
from weft.errors import WeftError
from weft.ports.journal import ControlRequest, Holder, JournalReader, RawEvent, RunRecord

_OF_THE_RUN = kinds_of(PausedEvent, ResumedEvent, RecoveredEvent, RunFinishedEvent)
"""Kinds of events of the whole run that change the state of each subplan."""


def is_inside(path: str, subplan: str) -> bool:
    """Returns whether the path is the subplan or below it. The whole plan has an empty path and contains all."""
    return not subplan or path == subplan or path.startswith(f"{subplan}/")


class SubplanJournal:
    """A reader of one subplan's events, which cannot make requests to the run."""

    def __init__(self, journal: JournalReader, subplan: str) -> None:
        self._journal = journal
        self._subplan = subplan

    def runs(self, plan: str | None = None) -> Sequence[RunRecord]:
        return self._journal.runs(plan)

    def record(self, run: str | None = None) -> RunRecord | None:
        return self._journal.record(run)

    def events(self, run: str, *, after: int = 0) -> Iterator[Recorded]:
        return (
            recorded
            for recorded in self._journal.events(run, after=after)
            if self._has(recorded.event.subplan)
        )

    def facts(self, run: str) -> Iterator[AnyFact]:
        return self._journal.facts(run)

    def states(self, run: str) -> Mapping[str, str]:
        return {path: state for path, state in self._journal.states(run).items() if self._has(path)}

    def merges(self, run: str, subplans: Sequence[str]) -> Sequence[RawEvent]:
        return self._journal.merges(run, [path for path in subplans if self._has(path)])

    def merges_after(self, run: str, seq: int) -> Sequence[RawEvent]:
        merges = self._journal.merges_after(run, seq)
        return [glimpse for glimpse in merges if self._has(glimpse.subplan)]

    def landed(self, run: str) -> AbstractSet[str]:
        return {path for path in self._journal.landed(run) if self._has(path)}

    def notable_events(self, run: str, *, merged: bool = True) -> Sequence[RawEvent]:
        return [
            glimpse
            # Events of the whole run reveal nothing about other subplans, and without them a paused or finished
            # run would look as if it ran.
            for glimpse in self._journal.notable_events(run, merged=merged)
            if self._has(glimpse.subplan) or (not glimpse.subplan and glimpse.kind in _OF_THE_RUN)
        ]

    def step_events(self, run: str, subplans: Sequence[str], *, after: int = 0) -> Sequence[RawEvent]:
        return self._journal.step_events(run, [path for path in subplans if self._has(path)], after=after)

    def holder(self) -> Holder | None:
        return self._journal.holder()

    def ask(
        self,
        run: str,
        kind: str,
        *,
        subplan: str,
        step: str,  # noqa: ARG002 - as the port has it
        data: dict[str, object],  # noqa: ARG002 - as the port has it
        at: float,  # noqa: ARG002 - as the port has it
    ) -> int:
        raise WeftError(f"a step cannot send requests to its run ({kind} of {subplan or run})")

    def requests(self, run: str) -> Sequence[ControlRequest]:
        return [request for request in self._journal.requests(run) if self._has(request.subplan)]

    def changed(self) -> bool:
        return self._journal.changed()

    def close(self) -> None:
        self._journal.close()

    def _has(self, path: str) -> bool:
        return is_inside(path, self._subplan)
