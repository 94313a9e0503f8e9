"""The runs of a plan in the journal, each with its first fact."""

from collections.abc import Iterator

from weft.engine.messages.facts import RunStarted
from weft.ports.journal import JournalReader, RunRecord

Earlier = tuple[RunRecord, RunStarted]
"""A run and its first fact."""


def earlier_runs(journal: JournalReader, plan: str) -> Iterator[Earlier]:
    """Yields the runs of a plan, newest first. A run that died before its first fact does not count."""
    for record in journal.runs(plan):
        started = first_fact(journal, record.run)
        if started is not None:
            yield record, started


def first_fact(journal: JournalReader, run: str) -> RunStarted | None:
    """Returns the first fact of a run; None if it has no facts yet."""
    fact = next(iter(journal.facts(run)), None)
    return fact if isinstance(fact, RunStarted) else None


def chosen_for(journal: JournalReader, run: str) -> tuple[str, ...]:
    """Returns the selected subplans of a run; empty for the whole plan."""
    started = first_fact(journal, run)
    return () if started is None else started.chosen
