"""Where a forecast starts: what earlier runs have completed, and where a run that is under way is now."""

import time

from msgspec.structs import replace

from weft.app.history.completed_work import kept_of
from weft.app.history.earlier_runs import earlier_runs
from weft.app.history.ledger import spent_by
from weft.engine.messages.events import StepFinishedEvent, StepStartedEvent
from weft.engine.messages.facts import EarlierSlice, RunStarted
from weft.forecast.start import Start
from weft.plan.model import Plan
from weft.ports.journal import JournalReader
from weft.terms import UNFINISHED


def start_of(plan: Plan, journal: JournalReader) -> Start:
    """Returns where a run of the plan would start, or where the present run is."""
    completed = kept_of(plan, journal, earlier_runs(journal, plan.id))
    return Start(
        carried=completed.paths,
        landed=completed.landed,
        earlier=spent_by(journal, earlier_runs(journal, plan.id)),
        continued=tuple(map(_without_inputs, completed.continued)),
        running=_running(journal, plan.id),
    )


def recorded_start(started: RunStarted) -> Start:
    """Returns where a run started, as it recorded it."""
    return Start(
        carried=started.carried,
        landed=started.landed,
        earlier=started.earlier or (),
        continued=tuple(map(_without_inputs, started.continued)),
    )


def _without_inputs(slice_: EarlierSlice) -> EarlierSlice:
    """Returns the slice as a rehearsal reads it. Its steps have no templates, so they have no digests of them."""
    return replace(slice_, steps=tuple(replace(step, inputs="") for step in slice_.steps))


def _running(journal: JournalReader, plan: str) -> dict[tuple[str, str], float]:
    """Returns the seconds for which the executions of the unfinished run have run."""
    record = next(iter(journal.runs(plan)), None)
    if record is None or record.state not in UNFINISHED:
        return {}
    started: dict[tuple[int, int], tuple[str, str, float]] = {}
    for recorded in journal.events(record.run):
        event = recorded.event
        if isinstance(event, StepStartedEvent):
            started[event.firing, event.execution] = (event.subplan, event.step, recorded.at)
        elif isinstance(event, StepFinishedEvent):
            started.pop((event.firing, event.execution), None)
    now = time.time()
    return {(path, step): max(now - at, 0.0) for path, step, at in started.values()}
