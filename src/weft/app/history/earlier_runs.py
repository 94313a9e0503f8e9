"""The runs of a plan that the journal has, and how each of them began."""

from collections.abc import Iterator

from weft.engine.messages.facts import RunStarted
from weft.ports.journal import JournalReader, RunRecord

Earlier = tuple[RunRecord, RunStarted]
"""A run, and how it began."""


def earlier_runs(journal: JournalReader, plan: str) -> Iterator[Earlier]:
    """The newest first. One that died before anything happened in it never was."""
    for record in journal.runs(plan):
        started = started_of(journal, record.run)
        if started is not None:
            yield record, started


def started_of(journal: JournalReader, run: str) -> RunStarted | None:
    """How a run began; None if it has not come to that."""
    fact = next(iter(journal.facts(run)), None)
    return fact if isinstance(fact, RunStarted) else None


def chosen_for(journal: JournalReader, run: str) -> tuple[str, ...]:
    """What a run is for, with what that needs; nothing: for the whole plan."""
    started = started_of(journal, run)
    return () if started is None else started.chosen
