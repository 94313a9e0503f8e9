"""Output of `weft hosts`: the hosts of a plan, and what their machines have."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from weft.app.machines.survey import name_of
from weft.plan.hosts import HostSpec
from weft.ports.machines import MachineStatus
from weft.terms import MachineState

_HEAD = ("host", "use", "where", "slots", "labels")
_HEAD_OF_MACHINES = ("machine", "python", "git", "free", "answers in", "agents")


def host_lines(hosts: Sequence[HostSpec]) -> Iterator[str]:
    if not hosts:
        yield "all steps run on this machine; hosts are in the plan or the configuration under `hosts`"
        return
    yield from _table([_HEAD, *map(_host_row, hosts)])


def _host_row(spec: HostSpec) -> tuple[str, ...]:
    slots = "" if spec.slots is None else str(spec.slots)
    return (spec.name, spec.use, place_of(spec), slots, ", ".join(spec.labels))


def place_of(spec: HostSpec) -> str:
    """Returns how a host is reached, in a few words."""
    if spec.is_local:
        return "this machine"
    return (
        spec.machine
        or " ".join(spec.command)
        or spec.address
        or spec.cluster
        or ", ".join(spec.ssh)
        or spec.name
    )


def machine_lines(statuses: Sequence[MachineStatus]) -> Iterator[str]:
    reached = [status for status in statuses if status.state is MachineState.REACHABLE]
    if reached:
        yield from _table([_HEAD_OF_MACHINES, *map(_machine_row, reached)])
    for status in statuses:
        if status.state is not MachineState.REACHABLE:
            yield f"{name_of(status)} cannot be reached: {status.message}"


def _machine_row(status: MachineStatus) -> tuple[str, ...]:
    facts = status.facts
    agents = [name for name, place in facts["programs"].items() if place is not None]
    return (
        name_of(status),
        facts["python"],
        facts["git"] or "none",
        f"{facts['free'] / (1 << 30):.1f} GB",
        f"{1000 * facts['round_trip']:.1f} ms",
        ", ".join(agents),
    )


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def hosts_data(hosts: Sequence[HostSpec], statuses: Sequence[MachineStatus] | None) -> dict[str, Any]:
    """Returns the same as data; no machines unless they were asked."""
    data: dict[str, Any] = {"hosts": [_host_data(spec) for spec in hosts]}
    if statuses is not None:
        data["machines"] = [_machine_data(status) for status in statuses]
    return data


def _host_data(spec: HostSpec) -> Mapping[str, object]:
    return {
        "name": spec.name,
        "use": spec.use,
        "where": place_of(spec),
        "slots": spec.slots,
        "labels": list(spec.labels),
        "lost_after": spec.lost_after,
    }


def _machine_data(status: MachineStatus) -> Mapping[str, object]:
    return {
        "host": status.host,
        "machine": status.machine,
        "state": str(status.state),
        "message": status.message,
        **dict(status.facts),
    }
