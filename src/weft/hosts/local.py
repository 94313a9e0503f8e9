"""This machine as a host: the coordinator's side of the supervisor.

If the supervisor dies, a new one is started, which ends the remaining processes and reports what was lost. Then
both sides are compared (`SubmittedJobs`).
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
from weft.hosts.submitted_jobs import SubmittedJobs
from weft.ports.host import Job, JobEnded, KnownJobs
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
        self._jobs = SubmittedJobs(submit=self._submit, send=self._send, report=self._report)
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
        self._jobs.start(
            replace(job, output=self.prefix(job.output))
        )  # the supervisor knows files, and no names

    def stop(self, job: str, *, grace: float | None = None) -> None:
        self._jobs.stop(job, grace)

    def freeze(self, job: str) -> None:
        self._jobs.set_frozen(job, frozen=True)

    def thaw(self, job: str) -> None:
        self._jobs.set_frozen(job, frozen=False)

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

    def _submit(self, job: Job) -> None:
        if self._link is not None:  # otherwise it is submitted once there is a connection
            self._link.start(job)

    def _send(self, message: dict[str, object]) -> None:
        if self._link is not None:  # otherwise it is repeated once there is a connection
            self._link.send(message)

    def _report(self, end: JobEnded) -> None:
        self._ends.append(end)
        self._news.set()

    def _on_messages(self, link: SupervisorLink, messages: HostMessages) -> None:
        if messages.replaced:
            self._fail(WeftError("another coordinator has taken over the jobs of this run"))
        for end in messages.ended:
            self._jobs.take_end(end)
        if messages.running is not None:
            self._link = link
            self._jobs.compare({job.id for job in messages.running})

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
