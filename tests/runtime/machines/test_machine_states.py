"""The state of a host, from those of its machines."""

import pytest

from weft.ports.machines import MachineStatus
from weft.runtime.machines.machine_states import MachineStates
from weft.terms import MachineState


def status(machine: str, state: MachineState) -> MachineStatus:
    return MachineStatus(host="farm", machine=machine, state=state, since=0.0)


@pytest.mark.parametrize(
    ("machines", "host"),
    [
        (["reachable", "lost"], "reachable"),
        (["lost", "unreachable"], "unreachable"),
        (["lost", "connecting"], "connecting"),
        (["lost", "lost"], "lost"),
    ],
)
def test_a_host_is_as_good_as_its_best_machine(machines: list[str], host: str) -> None:
    states = MachineStates()
    reports = [
        states.take(status(f"m{number}", MachineState(state))) for number, state in enumerate(machines)
    ]
    assert [report for report in reports if report is not None][-1] is MachineState(host)
    assert states.take(status("m0", MachineState(machines[0]))) is None, "nothing has changed"


def test_a_host_without_known_machines_has_a_state_until_one_is_known() -> None:
    states = MachineStates()
    assert states.take(status("", MachineState.UNREACHABLE)) is MachineState.UNREACHABLE
    assert states.take(status("m0", MachineState.CONNECTING)) is MachineState.CONNECTING
    assert states.take(status("m0", MachineState.REACHABLE)) is MachineState.REACHABLE
