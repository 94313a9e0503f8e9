"""What people have said to a run, and no coordinator has taken up yet.

A view of the run shows it as the next coordinator makes it: a question that is answered is not asked any more, and
what is to continue is not paused any more. A stop is left out, as it is for the coordinator of that time only.
"""

from weft.engine.messages.facts import ControlState
from weft.ports.journal import ControlRequest, Glimpse, JournalReader


def requested(journal: JournalReader, run: str) -> tuple[Glimpse, ...]:
    """As what the journal will tell of it."""
    glimpses = map(_glimpse, journal.requests(run))
    return tuple(glimpse for glimpse in glimpses if glimpse is not None)


def _glimpse(request: ControlRequest) -> Glimpse | None:
    match request.kind:
        case "answer":
            return _of(request, "answered")
        case "limits":
            return _of(request, "limits_ended")
        case "control" if request.data["wanted"] != ControlState.STOP:
            wanted = ControlState(str(request.data["wanted"]))
            return _of(request, "resumed" if wanted is ControlState.GO else "paused", wanted)
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
