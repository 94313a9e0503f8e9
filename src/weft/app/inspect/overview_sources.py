"""Sources of `weft status` besides the states of subplans: rare events and steps under way."""

from collections.abc import Sequence

from weft.engine.messages.event_codec import kinds_of
from weft.engine.messages.events import MergeEvent
from weft.ports.journal import JournalReader, RawEvent

_MERGES = kinds_of(MergeEvent)


def rare_events(journal: JournalReader, run: str) -> Sequence[RawEvent]:
    """Returns events that an overview needs, without the merges of subplans where every merge succeeded."""
    unusual = journal.notable_events(run, merged=False)
    troubled = {glimpse.subplan for glimpse in unusual if glimpse.kind in _MERGES}
    if not troubled:
        return unusual
    others = [glimpse for glimpse in unusual if glimpse.kind not in _MERGES]
    # A subplan with one bad merge needs all its merges: a later success takes back the earlier failure.
    return sorted((*others, *journal.merges(run, sorted(troubled))), key=lambda glimpse: glimpse.seq)
