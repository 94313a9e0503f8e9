"""The jobs that all machines of a run know, for callers that cannot begin before they know them."""

import anyio

from weft.ports.host import Host, JobEnded, KnownJobs, Running
from weft.ports.machines import MachineJobs, Machines
from weft.terms import MachineState

PATIENCE = 20.0
"""Seconds to wait for other machines. What a machine that does not answer runs stays unknown."""


async def open_all(host: Host, machines: Machines | None) -> KnownJobs:
    """Opens the host, and returns its jobs, with those of other machines that answer in time."""
    jobs: dict[str, Running | JobEnded] = dict(await host.open())
    if machines is not None:
        with anyio.move_on_after(PATIENCE):
            await _collect(machines, jobs)
    return jobs


async def _collect(machines: Machines, jobs: dict[str, Running | JobEnded]) -> None:
    answered: set[tuple[str, str]] = set()
    async for news in machines.news():
        if isinstance(news, MachineJobs):
            jobs.update(news.jobs)
            answered.add((news.host, news.machine))
        statuses = [status for status in machines.statuses() if status.state is not MachineState.LOST]
        if statuses and all((status.host, status.machine) in answered for status in statuses):
            return
