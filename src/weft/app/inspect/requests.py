"""Requests of people to a run that no coordinator has applied yet.

A view shows the run as the next coordinator will see it: an answered question is not open, and a resumed subplan
is not paused. A stop is left out, because it concerns only the coordinator that was running at that time.
"""

from weft.engine.messages.events import (
    AnsweredEvent,
    AnyEvent,
    LimitsEndedEvent,
    PausedEvent,
    ResumedEvent,
)
from weft.engine.messages.facts import ControlState
from weft.ports.journal import ControlRequest, JournalReader


def pending_requests(journal: JournalReader, run: str) -> tuple[tuple[float, AnyEvent], ...]:
    """Returns the requests in the form of the events that they will become, each with its time."""
    events = ((request.at, _event(request)) for request in journal.requests(run))
    return tuple((at, event) for at, event in events if event is not None)


def _event(request: ControlRequest) -> AnyEvent | None:
    match request.kind:
        case "answer":
            return AnsweredEvent(subplan=request.subplan, step=request.step)
        case "limits":
            return LimitsEndedEvent()
        case "control" if request.data["wanted"] != ControlState.STOP:
            state = ControlState(str(request.data["wanted"]))
            event_class = ResumedEvent if state is ControlState.GO else PausedEvent
            return event_class(subplan=request.subplan, step=request.step, outcome=state)
        case _:
            return None
