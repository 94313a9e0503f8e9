"""Sources of `weft status` besides the states of subplans: rare events and the supervisor's heartbeat."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from weft.app.record.journal import RecordedRun
from weft.ports.journal import Glimpse, JournalReader
from weft.safe_files import read_file


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


def heartbeat(recorded_run: RecordedRun) -> Mapping[str, Any]:
    """Returns the last heartbeat of the supervisor; empty if it cannot be read."""
    try:
        beat = json.loads(
            read_file(recorded_run.places.host(recorded_run.run.run) / "heartbeat.json", most=1 << 24)
        )
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", beat) if isinstance(beat, dict) else {}
