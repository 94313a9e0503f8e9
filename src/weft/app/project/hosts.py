"""The factory of hosts: the only module that names their implementations."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from weft.app.project.places import Places
from weft.hosts.records import RunRecords
from weft.plan.hosts import HostSpec
from weft.ports.host import Host, JobRecords
from weft.ports.machines import Carrier, Machines

_LINGER = 3.0
"""Seconds after which an idle supervisor without a coordinator ends."""


def host_of(places: Places, run: str, *, linger: float = _LINGER) -> Host:
    """Returns this machine as the host of a run, which is not open yet."""
    from weft.hosts.local import LocalHost  # noqa: PLC0415 - the event loop is slow to load, and readers need none

    return LocalHost(places.host(run), places.logs(run), linger=linger)


def hosts_of(
    places: Places,
    run: str,
    hosts: Mapping[str, HostSpec],
    *,
    plan_dir: Path | None = None,
    programs: Mapping[str, Sequence[str]] = {},
    environ: Mapping[str, str] = os.environ,
) -> tuple[Host, Machines | None]:
    """Returns the host of a run whose plan has these hosts, and its other machines if there are any.

    `plan_dir` is the directory of the plan; the workspaces of slices stand for it on other machines. `programs`
    has the agents to look for on each host.
    """
    local = host_of(places, run)
    others = {name: spec for name, spec in hosts.items() if not spec.is_local}
    if not others:
        return local, None
    from weft.hosts.far_program import far_program  # noqa: PLC0415 - most plans have no other machines
    from weft.hosts.machines.far_host import FarHost  # noqa: PLC0415
    from weft.hosts.machines.paths import LocalPaths  # noqa: PLC0415
    from weft.hosts.machines.settings import FarSettings  # noqa: PLC0415
    from weft.hosts.machines.several_hosts import SeveralHosts  # noqa: PLC0415

    paths = LocalPaths(
        logs=str(places.logs(run)),
        homes=str(places.homes(run)),
        plan="" if plan_dir is None else str(plan_dir),
        inside=_inside(plan_dir),
    )
    several = SeveralHosts(
        local,
        {
            name: FarHost(
                carrier_of(spec, environ),
                far_program(),
                run=run,
                settings=FarSettings(
                    name=name, lost_after=spec.lost_after, programs=tuple(programs.get(name, ()))
                ),
                directory=places.other_hosts(run) / name,
                paths=paths,
            )
            for name, spec in others.items()
        },
    )
    return several, several


def carrier_of(spec: HostSpec, environ: Mapping[str, str] = os.environ) -> Carrier:
    """Returns the way to the machines of a host."""
    from weft.hosts.carriers.bootstrap import DIRECTORY, FarPlace  # noqa: PLC0415 - as above

    directory = spec.directory or DIRECTORY
    if spec.use == "ssh":
        from weft.hosts.carriers.ssh import SshCarrier  # noqa: PLC0415

        place = FarPlace(host=spec.name, directory=directory, python=spec.python, login=True)
        return SshCarrier(spec.machine or spec.name, place, environ)
    place = FarPlace(host=spec.name, directory=directory, python=spec.python)
    if spec.use == "dask":
        from weft.hosts.carriers.dask import DaskCarrier  # noqa: PLC0415

        return DaskCarrier(spec, place)
    from weft.hosts.carriers.command import CommandCarrier  # noqa: PLC0415

    return CommandCarrier(spec.command, place, environ)


def _inside(plan_dir: Path | None) -> str:
    """Returns the path of the plan's directory in its repository."""
    from weft.workspaces.git.base.discovery import repository_around  # noqa: PLC0415 - as above

    top = None if plan_dir is None else repository_around(plan_dir)
    if top is None or plan_dir is None or top == plan_dir:
        return ""
    return str(plan_dir.relative_to(top)) if plan_dir.is_relative_to(top) else ""


def records_of(places: Places, run: str) -> JobRecords:
    """Returns the records of the jobs of a run, for readers beside its coordinator."""
    return RunRecords(places.host(run), places.logs(run), places.other_hosts(run))
