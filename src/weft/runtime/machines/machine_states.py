"""The states of hosts, from those of their machines.

A host can run steps if any of its machines can be reached, and it is lost if all of them are.
"""

from collections.abc import Mapping

from weft.ports.machines import MachineStatus
from weft.terms import MachineState

_ORDER = (MachineState.REACHABLE, MachineState.UNREACHABLE, MachineState.CONNECTING, MachineState.LOST)
"""The state of a host is the first of these that any of its machines has."""


class MachineStates:
    """The last known state of each host."""

    def __init__(self) -> None:
        self._machines: dict[str, dict[str, MachineStatus]] = {}
        self._states: dict[str, MachineState] = {}

    def take(self, status: MachineStatus) -> MachineState | None:
        """Takes the state of a machine; returns the new state of its host, or None if that has not changed.

        A status without the name of a machine is about a host whose machines are unknown.
        """
        machines = self._machines.setdefault(status.host, {})
        machines[status.machine] = status
        if status.machine:
            machines.pop("", None)
        state = _state_of(machines)
        if state is self._states.get(status.host):
            return None
        self._states[status.host] = state
        return state


def _state_of(machines: Mapping[str, MachineStatus]) -> MachineState:
    states = {status.state for status in machines.values()}
    return next(state for state in _ORDER if state in states)
