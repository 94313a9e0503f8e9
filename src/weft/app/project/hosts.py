"""The factory of hosts: the only module that names their implementations."""

from weft.app.project.places import Places
from weft.hosts.records import LocalRecords
from weft.ports.host import Host, JobRecords

_LINGER = 3.0
"""Seconds after which an idle supervisor without a coordinator ends."""


def host_of(places: Places, run: str, *, linger: float = _LINGER) -> Host:
    """Returns the host of a run, which is not open yet."""
    from weft.hosts.local import LocalHost  # noqa: PLC0415 - the event loop is slow to load, and readers need none

    return LocalHost(places.host(run), places.logs(run), linger=linger)


def records_of(places: Places, run: str) -> JobRecords:
    """Returns the records of the jobs of a run, for readers beside its coordinator."""
    return LocalRecords(places.host(run), places.logs(run))
