"""Words for hosts: which can be reached, and since when."""

from weft.app.views.hosts import MachineView
from weft.app.views.wording.words import span
from weft.engine.messages.events import HostChangedEvent, PlacedEvent
from weft.terms import MachineState

_STATES = {
    MachineState.CONNECTING: "has not been reached yet",
    MachineState.REACHABLE: "is reached",
    MachineState.UNREACHABLE: "cannot be reached",
    MachineState.LOST: "is lost",
}


def host_change(event: HostChangedEvent | PlacedEvent) -> str:
    """Returns a sentence about a machine that has changed its state, or about a slice that works on a host."""
    if isinstance(event, PlacedEvent):
        return f"works on {event.host}"
    name = f"{event.host} ({event.machine})" if event.machine else event.host
    return f"{name} {_STATES[event.outcome]}" + (f": {event.message}" if event.message else "")


def host_line(view: MachineView, now: float) -> str:
    """Returns a line about a machine that cannot be reached."""
    name = f"{view.host} ({view.machine})" if view.machine else view.host
    since = f", for {span(max(0.0, now - view.since))}"
    return f"{name} {_STATES[view.state]}{since}" + (f": {view.message}" if view.message else "")
