"""Which hosts can be reached, as far as the facts say.

A host is reachable while one of its machines is. A new coordinator has reached none of them yet, so it forgets
what its predecessor knew. This machine is always there.
"""

from collections.abc import Iterable, Sequence

from weft.terms import MachineState


class HostStates:
    """The states of the machines of other hosts."""

    def __init__(self, far: Iterable[str]) -> None:
        self._machines: dict[str, dict[str, MachineState]] = {host: {} for host in far}

    @property
    def names(self) -> Sequence[str]:
        return list(self._machines)

    def change(self, host: str, machine: str, state: MachineState) -> None:
        """Records the state of a machine; without a machine, that of the host as a whole."""
        if host in self._machines:
            machines = self._machines[host]
            self._machines[host] = {**machines, machine: state} if machine else {"": state}

    def forget(self) -> None:
        """Forgets all states: nothing has been reached yet."""
        self._machines = {host: {} for host in self._machines}

    def is_reachable(self, host: str) -> bool:
        machines = self._machines.get(host)
        return machines is None or MachineState.REACHABLE in machines.values()

    def is_connecting(self, host: str) -> bool:
        """Returns whether nothing is known of the host yet."""
        machines = self._machines.get(host)
        return machines is not None and {*machines.values()} <= {MachineState.CONNECTING}

    def is_lost(self, host: str) -> bool:
        """Returns whether every machine of the host counts as lost."""
        machines = self._machines.get(host, {})
        return bool(machines) and {*machines.values()} == {MachineState.LOST}

    @property
    def all_are_reachable(self) -> bool:
        return all(map(self.is_reachable, self._machines))
