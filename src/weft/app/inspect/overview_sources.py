"""Sources of `weft status` besides the states of subplans: rare events and the supervisor's heartbeat."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from weft.app.record.journal import RecordedRun
from weft.engine.messages.event_codec import kinds_of
from weft.engine.messages.events import MergeEvent
from weft.ports.journal import Glimpse, JournalReader
from weft.safe_files import read_file

_MERGES = kinds_of(MergeEvent)


def rare_events(journal: JournalReader, run: str) -> Sequence[Glimpse]:
    """Returns events that an overview needs, without the merges of subplans where every merge succeeded."""
    unusual = journal.glance(run, merged=False)
    troubled = {glimpse.subplan for glimpse in unusual if glimpse.kind in _MERGES}
    if not troubled:
        return unusual
    others = [glimpse for glimpse in unusual if glimpse.kind not in _MERGES]
    return sorted((*others, *journal.merges(run, sorted(troubled))), key=lambda glimpse: glimpse.seq)


def heartbeat(book: RecordedRun) -> Mapping[str, Any]:
    """Returns the last heartbeat of the supervisor; empty if it cannot be read."""
    try:
        beat = json.loads(read_file(book.places.host(book.run.run) / "heartbeat.json", most=1 << 24))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", beat) if isinstance(beat, dict) else {}
