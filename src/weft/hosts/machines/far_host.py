"""A host that is other machines, with the semantics of a host on this one.

A job goes to one machine: that of its slice, or else the one with the fewest jobs. Which one is recorded in a file
before the job is submitted. Jobs for which there is no machine yet wait.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from anyio import CapacityLimiter

from weft.hosts.far.frames import Header
from weft.hosts.machines.far_machine import FarMachine, MachineEvents
from weft.hosts.machines.job_table import JobTable
from weft.hosts.machines.paths import LocalPaths, report_of
from weft.hosts.machines.session import MachineSession, SessionEvents, failure_to, wait_for
from weft.hosts.machines.settings import FarSettings
from weft.hosts.records import LocalRecords
from weft.ports.host import EndReason, Job, JobEnded, KnownJobs, Running
from weft.ports.machines import (
    Carrier,
    FarError,
    FarProgram,
    MachineJobs,
    MachineNews,
    MachineStatus,
    Reply,
    UnreachableError,
)
from weft.safe_files import remove_file, replace_file
from weft.terms import MachineState
from weft.threads import run_sync

_LOOK_EVERY = 10.0
"""Seconds between looks at which machines there are."""
_RETRY = 1.0


class FarHost(LocalRecords):
    """Other machines. Their records are copies here."""

    def __init__(
        self,
        carrier: Carrier,
        program: FarProgram,
        *,
        run: str,
        settings: FarSettings,
        directory: Path,
        paths: LocalPaths,
    ) -> None:
        """`directory`: for files about this host and run on this machine."""
        super().__init__(directory, Path(paths.logs))
        self.name = settings.name
        self._carrier = carrier
        self._program = program
        self._run = run
        self._settings = settings
        self._paths = paths
        self._table = JobTable(directory / "jobs.json")
        self._machines: dict[str, FarMachine] = {}
        self._unplaced: dict[str, tuple[Job, bool]] = {}
        """Jobs for which there is no machine yet, and whether they are frozen."""
        self._to_release: list[tuple[FarMachine, str]] = []
        """Jobs that are submitted when the table has been written."""
        self._ends: list[JobEnded] = []
        self._machine_news: list[MachineNews] = []
        self._end_event = asyncio.Event()
        self._news_event = asyncio.Event()
        self._writing = asyncio.Event()
        self._failure: BaseException | None = None
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._disk = CapacityLimiter(1)
        self._tasks: list[asyncio.Task[None]] = []
        self._look_again = asyncio.Event()
        self.message = ""
        """Why the machines are unknown, in the words of the carrier."""

    # --- its life ---

    def prepare(self) -> None:
        """Nothing starts before there is an event loop."""

    async def begin(self) -> None:
        """Starts to connect in the background; `news` reports what becomes of it."""
        await run_sync(self._make, limiter=self._disk)
        self._loop = loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self._look_for_machines()), loop.create_task(self._write_table())]
        for task in self._tasks:
            task.add_done_callback(failure_to(self._fail))

    def _make(self) -> None:
        replace_file(self._directory / "made", b"")
        self._table.load()

    async def open(self) -> KnownJobs:
        await self.begin()
        known: dict[str, Running | JobEnded] = {}
        answered: set[str] = set()
        async for news in self.news():
            if isinstance(news, MachineJobs):
                known |= news.jobs
                answered.add(news.machine)
            if self._machines and answered >= self._machines.keys():
                break
        return known

    async def close(self) -> None:
        self._closed = True
        self._end_event.set()
        self._news_event.set()
        if self._to_release or self._table.has_changed:
            await self._save()
        await _cancel(self._tasks)
        for machine in self._machines.values():
            await machine.close()
        if not any(machine.load for machine in self._machines.values()):
            await run_sync(remove_file, self._directory / "heartbeat.json", limiter=self._disk)
        await self._carrier.close()

    def wait_until_gone(self) -> None:
        """Returns at once: no process of another machine uses files of this one."""

    # --- jobs ---

    def start(self, job: Job) -> None:
        machine = self._machine_for(job)
        if machine is None:
            self._unplaced[job.id] = (job, False)
        else:
            self._take(machine, job)

    def _take(self, machine: FarMachine, job: Job) -> None:
        self._table.add(job.id, machine.name, job.output, report_of(job, self._paths.logs))
        machine.hold(job)
        self._to_release.append((machine, job.id))
        self._writing.set()

    def stop(self, job: str, *, grace: float | None = None) -> None:
        if self._unplaced.pop(job, None) is not None:
            self._report([JobEnded(id=job, why=EndReason.STOPPED)])
        for machine in self._having(job):
            machine.stop(job, grace)

    def freeze(self, job: str) -> None:
        self._set_frozen(job, frozen=True)

    def thaw(self, job: str) -> None:
        self._set_frozen(job, frozen=False)

    def _set_frozen(self, job: str, *, frozen: bool) -> None:
        if job in self._unplaced:
            self._unplaced[job] = (self._unplaced[job][0], frozen)
        for machine in self._having(job):
            machine.set_frozen(job, frozen=frozen)

    def _having(self, job: str) -> Sequence[FarMachine]:
        """Returns the machine of a job, or all if it is unknown."""
        name = self._table.machine_of(job)
        return [machine for machine in self._machines.values() if name in {machine.name, None}]

    def forget(self, jobs: Sequence[str]) -> None:
        for machine in self._machines.values():
            machine.forget([job for job in jobs if self._table.machine_of(job) in {machine.name, None}])
        self._table.forget(jobs)
        self._writing.set()

    async def ended(self) -> AsyncIterator[Sequence[JobEnded]]:
        while True:
            await self._end_event.wait()
            self._end_event.clear()
            if self._ends:
                ends, self._ends = self._ends, []
                yield ends
            if self._failure is not None:
                raise self._failure
            if self._closed:
                return

    async def news(self) -> AsyncIterator[MachineNews]:
        """Yields changes of the states of machines, and the jobs of each when it has answered."""
        while True:
            await self._news_event.wait()
            self._news_event.clear()
            news, self._machine_news = self._machine_news, []
            for each in news:
                yield each
            if self._failure is not None:
                raise self._failure
            if self._closed:
                return

    def statuses(self) -> Sequence[MachineStatus]:
        return [machine.status() for machine in self._machines.values()]

    def call(
        self,
        subplan: str,
        operation: str,
        arguments: Mapping[str, object],
        payload: Path | bytes = b"",
        *,
        into: Path | None = None,
        machine: str = "",
    ) -> Reply:
        """Calls the machine of a slice, from a thread; see `MachineCalls`."""
        if self._loop is None or self._closed:
            raise UnreachableError(f"the connection to {self.name} has been closed")
        if machine:
            session = self._machines[machine].session
        else:
            session = wait_for(self._session_of(subplan), self._loop, lambda: self._closed)
        return session.call_from_thread(operation, arguments, payload, into=into)

    async def _session_of(self, subplan: str) -> MachineSession:
        """Places a slice, unless it is placed; what is called there has to be found again after a crash."""
        machine = self._placed(subplan)
        if machine is None:
            reason = self.message or "none has answered yet"
            raise UnreachableError(f"no machine of {self.name} can be reached: {reason}")
        if self._table.has_changed:
            await self._save()
        return machine.session

    # --- machines ---

    def _machine_for(self, job: Job) -> FarMachine | None:
        return self._placed(job.subplan) if job.subplan else self._least_loaded()

    def _placed(self, subplan: str) -> FarMachine | None:
        name = self._table.placement(subplan)
        if name is not None and name in self._machines:
            return self._machines[name]
        if name is not None:  # it has not appeared yet, or is gone without a trace
            return None
        machine = self._least_loaded()
        if machine is not None:
            self._table.place(subplan, machine.name)
            self._writing.set()
        return machine

    def _least_loaded(self) -> FarMachine | None:
        if len(self._machines) == 1:  # the only one, in whatever state
            return next(iter(self._machines.values()))
        reachable = [machine for machine in self._machines.values() if machine.session.is_reachable]
        return min(
            reachable,
            key=lambda each: (each.load + self._table.placed_on(each.name), each.name),
            default=None,
        )

    async def _look_for_machines(self) -> None:
        while True:
            try:
                names = await self._carrier.machines()
                self.message = ""
            except (UnreachableError, FarError) as error:
                self.message = str(error)
                self._note_host()
                names = ()
            for name in names:
                if name not in self._machines:
                    self._add(name)
            self._place_waiting()
            self._look_again.clear()
            try:
                await asyncio.wait_for(self._look_again.wait(), _LOOK_EVERY if self._machines else _RETRY)
            except TimeoutError:
                continue

    def _note_host(self) -> None:
        """Reports that not even the machines are known."""
        self._tell(
            MachineStatus(
                host=self.name,
                machine="",
                state=MachineState.UNREACHABLE,
                since=time.time(),
                message=self.message,
            )
        )

    def _add(self, name: str) -> None:
        session = self._session(name)
        events = MachineEvents(
            on_ended=self._on_ended,
            on_known=self._on_known,
            on_status=self._on_status,
            on_failure=self._fail,
            on_running=self._on_running,
        )
        limits = [str(self._settings.head), str(self._settings.tail), str(self._settings.linger)]
        self._machines[name] = machine = FarMachine(
            session, events, table=self._table, paths=self._paths, limits=limits
        )
        self._tell(machine.status())
        machine.start()

    def _session(self, name: str) -> MachineSession:
        events = SessionEvents(
            on_connected=lambda _: self._on_connected(name),
            on_frame=lambda _, header, payload: self._on_frame(name, header, payload),
            on_status=lambda _: self._machines[name].status_changed(),
            on_failure=self._fail,
        )
        return MachineSession(
            self._carrier,
            self._program,
            host=self.name,
            machine=name,
            run=self._run,
            events=events,
            lost_after=self._settings.lost_after,
            programs=self._settings.programs,
        )

    def _on_connected(self, name: str) -> None:
        self._machines[name].connected()
        self._writing.set()
        self._place_waiting()

    def _on_frame(self, name: str, header: Header, payload: bytes) -> None:
        self._machines[name].take_frame(header, payload)

    def _place_waiting(self) -> None:
        waiting, self._unplaced = self._unplaced, {}
        for job, is_frozen in waiting.values():
            self.start(job)
            if is_frozen:
                self.freeze(job.id)

    def _on_status(self, machine: FarMachine) -> None:
        self._tell(machine.status())
        self._writing.set()

    def _on_known(self, machine: FarMachine, jobs: KnownJobs) -> None:
        self._tell(MachineJobs(host=self.name, machine=machine.name, jobs=jobs))

    def _on_ended(self, _: FarMachine, ends: Sequence[JobEnded]) -> None:
        self._report(ends)

    def _report(self, ends: Sequence[JobEnded]) -> None:
        self._ends.extend(ends)
        self._end_event.set()

    def _tell(self, news: MachineNews) -> None:
        self._machine_news.append(news)
        self._news_event.set()

    def _fail(self, error: BaseException) -> None:
        self._failure = error
        self._end_event.set()
        self._news_event.set()

    # --- files ---

    async def _write_table(self) -> None:
        while True:
            await self._writing.wait()
            self._writing.clear()
            try:
                await self._save()
            except OSError as error:  # a full disk; jobs wait, as their records would have no room either
                self.message = str(error)
                await asyncio.sleep(_RETRY)
                self._writing.set()

    async def _save(self) -> None:
        released = [*self._to_release]
        if self._table.has_changed:
            await run_sync(self._table.save, self._table.content(), limiter=self._disk)
        self._to_release = self._to_release[len(released) :]
        for machine, job in released:
            machine.release(job)

    def _on_running(self, machine: FarMachine) -> None:  # noqa: ARG002 - the file is about all
        pids: dict[str, int] = {}
        for each in self._machines.values():
            pids |= each.pids
        content = json.dumps({"at": time.time(), "running": pids}).encode()
        task = asyncio.get_running_loop().create_task(self._beat(content))
        self._tasks = [*(each for each in self._tasks if not each.done()), task]

    async def _beat(self, content: bytes) -> None:
        try:
            await run_sync(replace_file, self._directory / "heartbeat.json", content, limiter=self._disk)
        except OSError:  # the disk is full; the file is only for readers
            return


async def _cancel(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
