"""Where the slices of a run are placed, and which machines can be reached."""

from collections.abc import Iterator

from msgspec import Struct

from weft.engine.messages.events import HostChangedEvent, PlacedEvent
from weft.terms import MachineState


class MachineView(Struct, frozen=True, kw_only=True):
    """What is known of a machine, or of a host as a whole."""

    host: str
    machine: str
    state: MachineState
    since: float
    message: str = ""


class HostViews:
    """The machines that a run has heard of, and the hosts of its slices."""

    def __init__(self) -> None:
        self.machines: dict[tuple[str, str], MachineView] = {}
        """By host and machine; the machine is empty for the host as a whole."""
        self.placed: dict[str, str] = {}
        """The host of each slice that may work on another machine, by path."""

    def apply(self, event: HostChangedEvent | PlacedEvent, at: float) -> None:
        if isinstance(event, PlacedEvent):
            self.placed[event.subplan] = event.host
            return
        self._change(
            MachineView(
                host=event.host, machine=event.machine, state=event.outcome, since=at, message=event.message
            )
        )

    def _change(self, view: MachineView) -> None:
        before = self.machines.get((view.host, view.machine))
        if before is not None and before.state is view.state:
            return
        if not view.machine:  # about the whole host, so about all of its machines
            self.machines = {key: earlier for key, earlier in self.machines.items() if key[0] != view.host}
        self.machines[view.host, view.machine] = view

    def recovered(self, at: float) -> None:
        """A new coordinator has not reached any machine yet."""
        for (host, machine), view in list(self.machines.items()):
            if view.state is not MachineState.CONNECTING:
                self._change(MachineView(host=host, machine=machine, state=MachineState.CONNECTING, since=at))

    def out_of_reach(self) -> Iterator[MachineView]:
        """Yields the machines that cannot be reached now, by host."""
        for _, view in sorted(self.machines.items()):
            if view.state is not MachineState.REACHABLE:
                yield view
