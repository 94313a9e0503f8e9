"""This machine as a host: the coordinator's side of the supervisor.

It remembers the jobs that were handed over and are not over. If the supervisor dies, a new one is started, which
ends what was left and says what was lost. Then the two are compared: ends that are known are told, and what the
new one has never heard of is handed over again. So nothing here needs to be acknowledged.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from weft.errors import WeftError
from weft.hosts.link import HostMessages, SupervisorLink
from weft.hosts.reach import PROGRAM, Start, reach, start
from weft.ports.host import EndReason, Job, JobEnded, KnownJobs
from weft.threads import run_sync

_TRIES = 5


class LocalHost:
    def __init__(
        self,
        directory: Path,
        *,
        head: int = 8 << 20,
        tail: int = 1 << 20,
        linger: float = 3.0,
        program: Sequence[str] = PROGRAM,
    ) -> None:
        """What the supervisor needs is kept in the directory, which is nobody else's.

        Of each output the first `head` bytes are stored and the last `tail`. With nothing to do and nobody there
        the supervisor goes after `linger` seconds.
        """
        self._directory = directory.absolute()
        self._program = (*program, str(self._directory), str(head), str(tail), str(linger))
        self._under_way: Start | None = None
        self._link: SupervisorLink | None = None
        self._there: dict[str, Job | None] = {}
        """Jobs that are not over; those that somebody else handed over are known by name only."""
        self._stops: dict[str, float | None] = {}
        self._frozen: dict[str, bool] = {}
        """Those that were told to stand still, or to go on."""
        self._ends: list[JobEnded] = []
        self._news = asyncio.Event()
        self._failure: WeftError | OSError | None = None
        self._recovery: asyncio.Task[None] | None = None
        self._closed = False

    def prepare(self) -> None:
        """Starts a supervisor where there is none yet, to come to life while there is other work to do.

        This blocks for a moment, and is meant for before the loop runs; `open` does without it, too.
        """
        self._under_way = start(self._directory, self._program)

    async def open(self) -> KnownJobs:
        known = await self._connect()
        return {job.id: job for job in known.running or ()} | {end.id: end for end in known.ended}

    def start(self, job: Job) -> None:
        self._there[job.id] = job
        if self._link is not None:  # else it is handed over when there is one
            self._link.start(job)

    def stop(self, job: str, *, grace: float | None = None) -> None:
        if job in self._there:
            self._stops[job] = grace
            self._send({"stop": job, "grace": grace})

    def freeze(self, job: str) -> None:
        self._set_frozen(job, frozen=True)

    def thaw(self, job: str) -> None:
        self._set_frozen(job, frozen=False)

    def _set_frozen(self, job: str, *, frozen: bool) -> None:
        if job in self._there:
            self._frozen[job] = frozen
            self._send({"freeze": job, "frozen": frozen})

    def forget(self, jobs: Sequence[str]) -> None:
        self._send({"forget": jobs})

    async def ended(self) -> AsyncIterator[Sequence[JobEnded]]:
        while True:
            await self._news.wait()
            self._news.clear()
            if self._ends:
                ends, self._ends = self._ends, []
                yield ends
            if self._failure is not None:
                raise self._failure
            if self._closed:
                return

    async def close(self) -> None:
        self._closed = True
        self._news.set()
        if self._recovery is not None:
            self._recovery.cancel()
            await asyncio.wait([self._recovery])
        if self._link is not None:
            await self._link.close()

    # --- the connection ---

    async def _connect(self) -> HostMessages:
        """What is known there. From then on we hear of what ends."""
        for _ in range(_TRIES):
            connection = await run_sync(reach, self._directory, self._program, self._under_way)
            link = await SupervisorLink.over(connection, self._hear, self._lose)
            known = await link.ask()
            if known is not None:
                return known
            if self._failure is not None:
                raise self._failure
        raise WeftError("the supervisor dies again and again; why, its file supervisor.log may tell")

    def _send(self, message: dict[str, object]) -> None:
        if self._link is not None:  # else it is sent when there is one
            self._link.send(message)

    def _hear(self, link: SupervisorLink, heard: HostMessages) -> None:
        if heard.replaced:
            self._fail(WeftError("another coordinator has taken over the jobs of this run"))
        for end in heard.ended:
            self._take_end(end)
        if heard.running is not None:
            self._link = link
            self._compare(link, {job.id for job in heard.running})

    def _take_end(self, end: JobEnded) -> None:
        """Only of a job that is not over: what is known there may tell of ends that were heard of."""
        if end.id in self._there:
            del self._there[end.id]
            self._stops.pop(end.id, None)
            self._frozen.pop(end.id, None)
            self._ends.append(end)
            self._news.set()

    def _compare(self, link: SupervisorLink, running: set[str]) -> None:
        """With what is not over as far as we know."""
        for name, job in [*self._there.items()]:
            if name in running:
                continue
            if job is not None:
                link.start(job)
            else:
                self._take_end(
                    JobEnded(id=name, why=EndReason.LOST, message="the supervisor has no record of it")
                )
        self._there = dict.fromkeys(running) | self._there
        for name, frozen in self._frozen.items():
            self._send({"freeze": name, "frozen": frozen})
        for name, grace in self._stops.items():
            self._send({"stop": name, "grace": grace})

    # --- the death of a supervisor ---

    def _lose(self, link: SupervisorLink) -> None:
        if link is self._link:
            self._link = None
            if not self._closed and self._failure is None:
                self._recovery = asyncio.get_running_loop().create_task(self._recover())

    async def _recover(self) -> None:
        try:
            await self._connect()
        except (WeftError, OSError) as error:
            self._fail(error)

    def _fail(self, error: WeftError | OSError) -> None:
        self._failure = error
        self._news.set()
