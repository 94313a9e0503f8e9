"""This machine and others as one host: each job goes to the host that it names."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar

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
        self._ends = _Merger[Sequence[JobEnded]]()
        self._news = _Merger[MachineNews]()

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
        hosts = (self._local, *self._others.values())
        async for ends in self._ends.items([host.ended for host in hosts]):
            yield ends

    async def close(self) -> None:
        # All at the same time: each may wait for a connection that takes nothing.
        await asyncio.gather(self._local.close(), *(host.close() for host in self._others.values()))
        await self._ends.close()
        await self._news.close()

    def wait_until_gone(self) -> None:
        self._local.wait_until_gone()

    # --- machines ---

    async def news(self) -> AsyncIterator[MachineNews]:
        async for news in self._news.items([host.news for host in self._others.values()]):
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


class _Merger(Generic[_Item]):
    """The items of several sources, in one queue. After a reader has stopped, the next one continues."""

    def __init__(self) -> None:
        self._items: asyncio.Queue[_Item | None] = asyncio.Queue()
        """None when a source has ended."""
        self._tasks: list[asyncio.Task[None]] = []
        self._open_sources = 0

    async def items(self, sources: Sequence[Callable[[], AsyncIterator[_Item]]]) -> AsyncIterator[_Item]:
        """Yields what any of the sources yields, until all have ended or one fails."""
        if not self._tasks:
            loop = asyncio.get_running_loop()
            self._tasks = [loop.create_task(self._read(source())) for source in sources]
            self._open_sources = len(self._tasks)
        while self._open_sources:
            item = await self._items.get()
            if item is not None:
                yield item
                continue
            self._open_sources -= 1
            for task in self._tasks:
                if task.done() and not task.cancelled():
                    task.result()

    async def _read(self, source: AsyncIterator[_Item]) -> None:
        try:
            async for item in source:
                self._items.put_nowait(item)
        finally:
            self._items.put_nowait(None)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
