"""This machine as a host: the coordinator's side of the supervisor.

It keeps the jobs that were submitted and have not ended. If the supervisor dies, a new one is started, which ends
the remaining processes and reports what was lost. Then both sides are compared: known ends are reported, and jobs
that the new supervisor has never received are submitted again. Messages therefore need no acknowledgement.
"""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from weft.errors import WeftError
from weft.hosts.link import HostMessages, SupervisorLink
from weft.hosts.reach import PROGRAM, Start, reach, start
from weft.hosts.records import LocalRecords
from weft.ports.host import EndReason, Job, JobEnded, KnownJobs
from weft.safe_files import open_file
from weft.threads import run_sync

_TRIES = 5


class LocalHost(LocalRecords):
    """This machine."""

    def __init__(
        self,
        directory: Path,
        outputs: Path,
        *,
        head: int = 8 << 20,
        tail: int = 1 << 20,
        linger: float = 3.0,
        program: Sequence[str] = PROGRAM,
    ) -> None:
        """The supervisor keeps its files in `directory`, which no other program uses; output goes below `outputs`.

        Of each output, the first `head` bytes and the last `tail` bytes are stored. An idle supervisor without a
        client ends after `linger` seconds.
        """
        super().__init__(directory, outputs)
        self._program = (*program, str(self._directory), str(head), str(tail), str(linger))
        self._under_way: Start | None = None
        self._link: SupervisorLink | None = None
        self._unfinished: dict[str, Job | None] = {}
        """Jobs that have not ended; None for those that an earlier coordinator submitted."""
        self._stops: dict[str, float | None] = {}
        self._frozen: dict[str, bool] = {}
        """The jobs that were frozen (True) or thawed (False)."""
        self._ends: list[JobEnded] = []
        self._news = asyncio.Event()
        self._failure: WeftError | OSError | None = None
        self._recovery: asyncio.Task[None] | None = None
        self._closed = False

    def prepare(self) -> None:
        self._under_way = start(self._directory, self._program)

    async def open(self) -> KnownJobs:
        messages = await self._connect()
        return {job.id: job for job in messages.running or ()} | {end.id: end for end in messages.ended}

    def start(self, job: Job) -> None:
        job = replace(job, output=self.prefix(job.output))  # the supervisor knows files, and no names
        # Remembered before it is sent: if the connection breaks, `_compare` sends it again. The supervisor
        # starts an id at most once, so a job that it has received twice runs once.
        self._unfinished[job.id] = job
        if self._link is not None:  # otherwise it is submitted once there is a connection
            self._link.start(job)

    def stop(self, job: str, *, grace: float | None = None) -> None:
        if job in self._unfinished:
            self._stops[job] = grace
            self._send({"stop": job, "grace": grace})

    def freeze(self, job: str) -> None:
        self._set_frozen(job, frozen=True)

    def thaw(self, job: str) -> None:
        self._set_frozen(job, frozen=False)

    def _set_frozen(self, job: str, *, frozen: bool) -> None:
        if job in self._unfinished:
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

    def wait_until_gone(self) -> None:
        # A supervisor holds this lock as long as it lives.
        lock = open_file(self._directory / "lock", os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
        finally:
            os.close(lock)

    # --- the connection ---

    async def _connect(self) -> HostMessages:
        """Connects and returns all known jobs; later ends arrive as messages."""
        for _ in range(_TRIES):
            # In a thread, because starting a supervisor waits for a process, up to a minute.
            connection = await run_sync(reach, self._directory, self._program, self._under_way)
            link = await SupervisorLink.over(connection, self._on_messages, self._on_lost)
            messages = await link.ask()
            if messages is not None:
                return messages
            if self._failure is not None:
                raise self._failure
        raise WeftError("the supervisor keeps dying; its file supervisor.log may show the reason")

    def _send(self, message: dict[str, object]) -> None:
        if self._link is not None:  # otherwise `_compare` sends it once there is a connection
            self._link.send(message)

    def _on_messages(self, link: SupervisorLink, messages: HostMessages) -> None:
        if messages.replaced:
            self._fail(WeftError("another coordinator has taken over the jobs of this run"))
        for end in messages.ended:
            self._take_end(end)
        if messages.running is not None:
            self._link = link
            self._compare(link, {job.id for job in messages.running})

    def _take_end(self, end: JobEnded) -> None:
        """Reports the end of a job, unless it was reported before."""
        # After a reconnection the supervisor repeats the ends that were not forgotten.
        if end.id in self._unfinished:
            del self._unfinished[end.id]
            self._stops.pop(end.id, None)
            self._frozen.pop(end.id, None)
            self._ends.append(end)
            self._news.set()

    def _compare(self, link: SupervisorLink, running: set[str]) -> None:
        """Compares the supervisor's running jobs with ours: submits missing ones and repeats requests."""
        for name, job in [*self._unfinished.items()]:
            if name in running:
                continue
            # The supervisor does not know it: it died before it wrote the start to its log, so nothing has been
            # started.
            if job is not None:
                link.start(job)
            else:
                self._take_end(
                    JobEnded(id=name, why=EndReason.LOST, message="the supervisor has no record of it")
                )
        # Jobs of an earlier coordinator come first, with None: their requests are not known here, and need not
        # be.
        self._unfinished = dict.fromkeys(running) | self._unfinished
        # A new supervisor knows nothing about requests to the old one. All are idempotent.
        for name, frozen in self._frozen.items():
            self._send({"freeze": name, "frozen": frozen})
        for name, grace in self._stops.items():
            self._send({"stop": name, "grace": grace})

    # --- the death of a supervisor ---

    def _on_lost(self, link: SupervisorLink) -> None:
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
