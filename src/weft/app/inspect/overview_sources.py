"""Sources of `weft status` besides the states of subplans: rare events and steps under way."""

from collections.abc import Sequence

from msgspec import Struct

from weft.ports.journal import Glimpse, JournalReader


class StepNow(Struct):
    """A step that is under way."""

    step: str
    attempt: int
    since: float
    firing: int
    execution: int
    reserved: int = 0


def rare_events(journal: JournalReader, run: str) -> Sequence[Glimpse]:
    """Returns events that an overview needs, without the merges of subplans where every merge succeeded."""
    unusual = journal.glance(run, merged=False)
    troubled = {glimpse.subplan for glimpse in unusual if glimpse.kind == "merge"}
    if not troubled:
        return unusual
    others = [glimpse for glimpse in unusual if glimpse.kind != "merge"]
    return sorted((*others, *journal.merges(run, sorted(troubled))), key=lambda glimpse: glimpse.seq)
