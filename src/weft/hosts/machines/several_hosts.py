"""This machine and others as one host: each job goes to the host that it names."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from weft.hosts.machines.far_host import FarHost
from weft.ports.host import Host, Job, JobEnded, KnownJobs, OutputPart, PartState, Sighting
from weft.ports.machines import MachineNews, MachineStatus, Reply, UnreachableError

_Item = TypeVar("_Item")


class SeveralHosts:
    """Implements `Host` and `Machines`."""

    def __init__(self, local: Host, others: Mapping[str, FarHost]) -> None:
        """All keep their output in the same directory, so the local records are those of all."""
        self._local = local
        self._others = others

    # --- records ---

    def exists(self) -> bool:
        return self._local.exists() or any(host.exists() for host in self._others.values())

    def running(self) -> Mapping[str, Sighting]:
        running = dict(self._local.running())
        for host in self._others.values():
            running |= host.running()
        return running

    def state(self, output: str, part: OutputPart) -> PartState | None:
        return self._local.state(output, part)

    def read(self, output: str, part: OutputPart, offset: int, length: int) -> bytes:
        return self._local.read(output, part, offset, length)

    def outputs(self, prefix: str) -> Sequence[str]:
        return self._local.outputs(prefix)

    # --- jobs ---

    def prepare(self) -> None:
        self._local.prepare()

    async def open(self) -> KnownJobs:
        """Returns the jobs of this machine. Those of the others are unknown until `news` reports them."""
        for host in self._others.values():
            await host.begin()
        return await self._local.open()

    def _of(self, job: Job) -> Host:
        return self._others.get(job.host, self._local)

    def start(self, job: Job) -> None:
        self._of(job).start(job)

    # A request about a job that a host does not have does nothing there.

    def stop(self, job: str, *, grace: float | None = None) -> None:
        for host in (self._local, *self._others.values()):
            host.stop(job, grace=grace)

    def freeze(self, job: str) -> None:
        for host in (self._local, *self._others.values()):
            host.freeze(job)

    def thaw(self, job: str) -> None:
        for host in (self._local, *self._others.values()):
            host.thaw(job)

    def forget(self, jobs: Sequence[str]) -> None:
        for host in (self._local, *self._others.values()):
            host.forget(jobs)

    async def ended(self) -> AsyncIterator[Sequence[JobEnded]]:
        async for ends in _merged([self._local.ended(), *(host.ended() for host in self._others.values())]):
            yield ends

    async def close(self) -> None:
        # All at the same time: each may wait for a connection that takes nothing.
        await asyncio.gather(self._local.close(), *(host.close() for host in self._others.values()))

    def wait_until_gone(self) -> None:
        self._local.wait_until_gone()

    # --- machines ---

    async def news(self) -> AsyncIterator[MachineNews]:
        async for news in _merged([host.news() for host in self._others.values()]):
            yield news

    def statuses(self) -> Sequence[MachineStatus]:
        return [status for host in self._others.values() for status in host.statuses()]

    def call(  # noqa: PLR0913 - what a call needs
        self,
        host: str,
        subplan: str,
        operation: str,
        arguments: Mapping[str, object],
        payload: Path | bytes = b"",
        *,
        into: Path | None = None,
        machine: str = "",
    ) -> Reply:
        if host not in self._others:
            raise UnreachableError(f"there is no host {host}")
        return self._others[host].call(subplan, operation, arguments, payload, into=into, machine=machine)


async def _merged(sources: Sequence[AsyncIterator[_Item]]) -> AsyncIterator[_Item]:
    """Yields what any of these yields, until all have ended or one fails."""
    items: asyncio.Queue[_Item | None] = asyncio.Queue()

    async def read(source: AsyncIterator[_Item]) -> None:
        try:
            async for item in source:
                items.put_nowait(item)
        finally:
            items.put_nowait(None)

    tasks = [asyncio.get_running_loop().create_task(read(source)) for source in sources]
    open_sources = len(tasks)
    try:
        while open_sources:
            item = await items.get()
            if item is not None:
                yield item
                continue
            open_sources -= 1
            for task in tasks:
                if task.done():
                    task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
