"""Requests of people to a run that no coordinator has applied yet.

A view shows the run as the next coordinator will see it: an answered question is not open, and a resumed subplan
is not paused. A stop is left out, because it concerns only the coordinator that was running at that time.
"""

from weft.engine.messages.facts import ControlState
from weft.ports.journal import ControlRequest, Glimpse, JournalReader


def requested(journal: JournalReader, run: str) -> tuple[Glimpse, ...]:
    """Returns the requests in the form of the events that they will become."""
    glimpses = map(_glimpse, journal.requests(run))
    return tuple(glimpse for glimpse in glimpses if glimpse is not None)


def _glimpse(request: ControlRequest) -> Glimpse | None:
    match request.kind:
        case "answer":
            return _of(request, "answered")
        case "limits":
            return _of(request, "limits_ended")
        case "control" if request.data["wanted"] != ControlState.STOP:
            state = ControlState(str(request.data["wanted"]))
            return _of(request, "resumed" if state is ControlState.GO else "paused", state)
        case _:
            return None


def _of(request: ControlRequest, kind: str, outcome: str = "") -> Glimpse:
    return Glimpse(
        seq=0,
        at=request.at,
        kind=kind,
        subplan=request.subplan,
        step=request.step,
        attempt=0,
        outcome=outcome,
        cost=None,
        tokens=None,
        data="{}",
    )
