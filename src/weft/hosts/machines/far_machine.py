"""One machine of a host: its session, the jobs that were submitted to it, and the copies of their outputs.

The end of a job is reported when its output is here. If the machine is lost before that, the job is lost.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.json import decode
from msgspec.structs import replace

from weft.errors import WeftError
from weft.hosts.far.frames import Header
from weft.hosts.link import HostMessages, SupervisorLink
from weft.hosts.machines.far_link import FarLink
from weft.hosts.machines.job_table import JobTable
from weft.hosts.machines.mirror import OutputMirror
from weft.hosts.machines.paths import FarPaths, LocalPaths
from weft.hosts.machines.session import FIRST_PAUSE, LONGEST_PAUSE, MachineSession, failure_to
from weft.hosts.submitted_jobs import SubmittedJobs
from weft.ports.host import EndReason, Job, JobEnded, KnownJobs
from weft.ports.machines import (
    FarError,
    MachineLostError,
    MachineStatus,
    Reply,
    UnreachableError,
)
from weft.terms import MachineState

_FOLLOW_EVERY = 0.5
_RETRY = 0.2


class MachineEvents(Struct, frozen=True, kw_only=True):
    """What a machine reports to its host, on the event loop."""

    on_ended: Callable[["FarMachine", Sequence[JobEnded]], None]
    on_known: Callable[["FarMachine", KnownJobs], None]
    """Its first answer."""
    on_status: Callable[["FarMachine"], None]
    on_failure: Callable[[BaseException], None]
    on_running: Callable[["FarMachine"], None]
    """The jobs that run, or the time of the last report, have changed."""


class FarMachine:
    def __init__(
        self,
        session: MachineSession,
        events: MachineEvents,
        *,
        table: JobTable,
        paths: LocalPaths,
        limits: Sequence[str],
    ) -> None:
        """`limits` are head, tail and linger of its supervisor."""
        self.session = session
        self.name = session.machine
        self._events = events
        self._table = table
        self._local = paths
        self._limits = tuple(limits)
        self._paths: FarPaths | None = None
        self._link: FarLink | None = None
        self._opened: FarLink | None = None
        """The link whose supervisor has not answered yet."""
        self._number = 0
        self._pause = FIRST_PAUSE
        self._jobs = SubmittedJobs(submit=self._submit, send=self._send, report=self._take_end)
        self._mirror = OutputMirror(Path(paths.logs), self._pull)
        self._ended: list[JobEnded] = []
        """Ends whose output is not here yet."""
        self._first: KnownJobs | None = None
        """Its first answer, while its outputs are not here yet."""
        self._has_answered = False
        self._early: dict[str, Callable[[], None]] = {}
        """Requests about jobs that an earlier coordinator has started, until the first answer."""
        self._news = asyncio.Event()
        self._tasks = set[asyncio.Task[None]]()
        self.pids: Mapping[str, int] = {}
        """The jobs that run there, according to the last report."""

    # --- its life ---

    def start(self) -> None:
        self.session.start()
        self._spawn(self._work())

    async def close(self) -> None:
        if self._link is not None:
            await self._link.flush()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self.session.close()

    def _spawn(self, work: Any) -> None:  # noqa: ANN401 - a coroutine
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(failure_to(self._events.on_failure))

    @property
    def load(self) -> int:
        """How many jobs it has."""
        return len(self._jobs.ids)

    def status(self) -> MachineStatus:
        return self.session.status(running=len(self.pids))

    def __contains__(self, job: str) -> bool:
        return job in self._jobs or any(end.id == job for end in self._ended)

    # --- jobs ---

    def hold(self, job: Job) -> None:
        """Takes a job that is submitted once it is recorded where it runs."""
        self._jobs.hold(job)

    def release(self, job: str) -> None:
        self._jobs.release(job)
        self._news.set()  # there is something to follow

    def stop(self, job: str, grace: float | None) -> None:
        if not self._has_answered and job not in self._jobs:  # it may be there
            self._early[job] = lambda: self._jobs.stop(job, grace)
        self._jobs.stop(job, grace)

    def set_frozen(self, job: str, *, frozen: bool) -> None:
        if not self._has_answered and job not in self._jobs and job not in self._early:
            self._early[job] = lambda: self._jobs.set_frozen(job, frozen=frozen)
        self._jobs.set_frozen(job, frozen=frozen)

    def forget(self, jobs: Sequence[str]) -> None:
        self._send({"forget": jobs})

    def _submit(self, job: Job) -> None:
        if self._link is not None and self._paths is not None:
            translated = self._paths.translate(job)
            self._link.start(translated, self._paths.folders(translated))

    def _send(self, message: dict[str, object]) -> None:
        if self._link is not None:
            self._link.send(message)

    # --- the connection ---

    def connected(self) -> None:
        """The session has a new connection."""
        facts = self.session.facts
        self._paths = FarPaths(self._local, facts["run_directory"])
        before = self._table.identity(self.name)
        if before not in {"", facts["identity"]}:
            # Its files have gone, and with them the record of what was started. Nothing may start a second time.
            self._lose_all(f"the files of the run on {self.name} have gone")
        self._table.set_identity(self.name, facts["identity"])
        self._open()

    def status_changed(self) -> None:
        if not self.session.is_reachable:
            self._disconnect()
        if self.session.state is MachineState.LOST:
            self._lose_all(f"{self.name} is lost: {self.session.message}")
        self._events.on_status(self)

    def _lose_all(self, message: str) -> None:
        lost = [*(end.id for end in self._ended), *self._jobs.ids]
        self._table.lose(self.name, lost)
        waiting, self._ended = self._ended, []
        self._jobs.end_all(message)
        late = [JobEnded(id=end.id, why=EndReason.LOST, message=message) for end in waiting]
        ends, self._ended = [*late, *self._ended], []
        if ends:
            self._events.on_ended(self, ends)

    def _disconnect(self) -> None:
        for link in (self._opened, self._link):
            if link is not None:
                link.lose()
        self._link = self._opened = None

    def _open(self) -> None:
        """Connects to the supervisor there."""
        self._disconnect()
        self._number += 1
        self._spawn(self._request({"open": self._number, "limits": self._limits}))

    async def _request(self, header: Header) -> None:
        with suppress(UnreachableError, MachineLostError):
            await self.session.send(header)

    def take_frame(self, header: Header, payload: bytes) -> None:
        match header:
            case {"opened": number} if number == self._number:
                self._pause = FIRST_PAUSE
                self._opened = FarLink(self.session, number, self._on_messages, lambda _: None)
            case {"lines": number} if number == self._number:
                link = self._link or self._opened
                if link is not None:
                    link.receive(payload)
            case {"gone": number, "message": message} if number == self._number:
                self._disconnect()
                self._spawn(self._reopen(message))
            case _:  # of an earlier connection
                pass

    async def _reopen(self, message: str) -> None:
        if message:
            self.session.note(f"the supervisor there cannot be started: {message}")
            await asyncio.sleep(self._pause)
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
        if self.session.is_reachable:
            self._open()

    def _on_messages(self, link: SupervisorLink, messages: HostMessages) -> None:  # noqa: ARG002 - there is one
        if messages.replaced:
            self._events.on_failure(WeftError("another coordinator has taken over the jobs of this run"))
            return
        if messages.running is None:
            for end in messages.ended:
                self._jobs.take_end(end)
            return
        self._link, self._opened = self._opened, None
        self.session.note("")
        self._take_list(messages)

    def _take_list(self, messages: HostMessages) -> None:
        assert messages.running is not None
        lost = self._table.lost_on(self.name)
        for end in messages.ended:
            self._jobs.take_end(end)
        running = {job.id: job for job in messages.running if job.id not in lost}
        for job in messages.running:
            if job.id in lost:  # it runs elsewhere by now, or has been given up
                self._send({"stop": job.id, "grace": 0.0})
        if not self._has_answered:
            own = {*self._jobs.ids, *(end.id for end in self._ended)}
            ended = {end.id: end for end in messages.ended if end.id not in lost | own}
            self._first = {**{name: job for name, job in running.items() if name not in own}, **ended}
        self._jobs.compare(running.keys())
        early, self._early = self._early, {}
        for request in early.values():
            request()
        self._news.set()

    # --- outputs and ends ---

    def _take_end(self, end: JobEnded) -> None:
        self._ended.append(end)
        self._news.set()

    async def _pull(self, arguments: Mapping[str, object]) -> Reply:
        return await self.session.call("pull", arguments)

    async def _work(self) -> None:
        """Follows the outputs of jobs, and reports ends."""
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), _FOLLOW_EVERY if self._jobs.ids else None)
            self._news.clear()
            if not self.session.is_reachable:
                continue  # the next connection is news
            try:
                await self._bring_outputs()
            except (UnreachableError, MachineLostError):
                continue
            except (FarError, OSError) as error:
                self.session.note(f"output cannot be fetched: {error}")
                await asyncio.sleep(_RETRY)
                self._news.set()

    async def _bring_outputs(self) -> None:
        if self._first is not None:
            first = self._first
            await self._mirror.finish(
                self._table.outputs(job for job in first if isinstance(first[job], JobEnded))
            )
            self._first, self._has_answered = None, True
            self._events.on_known(self, {name: self._here(job) for name, job in first.items()})
        ends = self._ended
        if ends:
            answer = await self._mirror.finish(self._table.outputs(end.id for end in ends))
            if ends is self._ended or self._ended[: len(ends)] == ends:  # else the machine is lost
                self._ended = self._ended[len(ends) :]
                self._note_running(answer)
                self._events.on_ended(self, [self._here(end) for end in ends])
        elif self._jobs.ids:
            self._note_running(await self._mirror.follow(self._table.outputs(self._jobs.ids)))

    def _note_running(self, answer: Mapping[str, Any]) -> None:
        pids: dict[str, int] = {}
        with suppress(ValueError, TypeError, LookupError):  # a damaged heartbeat counts as none
            pids = {job: int(pid) for job, pid in decode(answer["heartbeat"])["running"].items()}
        self.pids = {job: pid for job, pid in pids.items() if job in self._jobs and pid}
        self._events.on_running(self)

    def _here(self, job: Any) -> Any:  # noqa: ANN401 - a running or an ended job
        """Returns a job with its times by the clock here."""
        # In whole seconds, which hide the errors of its measurement: the same end has the same time each time.
        offset = round(self.session.clock_offset)
        if isinstance(job, JobEnded):
            return replace(job, started_at=job.started_at - offset, ended_at=job.ended_at - offset)
        return replace(job, started_at=job.started_at - offset)
