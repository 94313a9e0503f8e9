"""What `weft status` reads beside the states of subplans and the steps of those that are shown."""

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
    """What a picture needs beside states, without the merges of subplans of which all went well."""
    unusual = journal.glance(run, merged=False)
    odd = {glimpse.subplan for glimpse in unusual if glimpse.kind == "merge"}
    if not odd:
        return unusual
    others = [glimpse for glimpse in unusual if glimpse.kind != "merge"]
    return sorted((*others, *journal.merges(run, sorted(odd))), key=lambda glimpse: glimpse.seq)


def heartbeat(book: RecordedRun) -> Mapping[str, Any]:
    """What the supervisor last said of itself; nothing if that cannot be read."""
    try:
        beat = json.loads(read_file(book.places.host(book.run.run) / "heartbeat.json", most=1 << 24))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", beat) if isinstance(beat, dict) else {}
