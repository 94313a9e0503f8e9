"""Obeys the engine's orders: processes by the host, workspaces in threads, times by the clock.

What is ordered is reported as ended exactly once. After the death of a coordinator, its successor comes here with
what was ordered and not reported: what the host knows is taken over, and all else is done again, as nothing of it
was begun, or as it can be done twice without harm.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from anyio.abc import TaskGroup
from anyio.to_thread import run_sync

from weft.engine.run.facts import Ended, How, Woke
from weft.engine.run.orders import AnyOrder, Halt, Land, Launch, Merge, Order, Ordered, Prepare, WakeAt
from weft.errors import WeftError
from weft.ports.clock import Clock
from weft.ports.host import Host, JobEnded, Known, Running
from weft.ports.workspaces import ConflictError, Workspaces
from weft.runtime.inbox import Inbox
from weft.runtime.jobs import SETUP, Jobs, could_not
from weft.runtime.lineage import Lineage


class Effects:
    def __init__(
        self,
        *,
        host: Host,
        workspaces: Workspaces,
        jobs: Jobs,
        lineage: Lineage,
        clock: Clock,
        inbox: Inbox,
    ) -> None:
        self._host = host
        self._workspaces = workspaces
        self._jobs = jobs
        self._lineage = lineage
        self._clock = clock
        self._report = inbox.put
        self._launched: dict[str, Launch] = {}
        """Jobs whose end has not been reported, by id."""
        self._halted: dict[str, How] = {}
        self._tasks: TaskGroup | None = None
        self._unsafe: list[str] = []
        """Jobs whose ends are reported, and not known to be in the journal yet."""

    def now(self) -> float:
        return self._clock.now()

    def work_in(self, tasks: TaskGroup) -> None:
        self._tasks = tasks

    # Orders

    def obey(self, order: AnyOrder) -> None:
        match order:
            case Launch():
                self._launch(order)
            case Halt():
                self._halt(order)
            case WakeAt():
                self._soon(self._wake, order.at)
            case Prepare():
                self._soon(self._prepare, order)
            case Merge():
                self._soon(self._in_thread, order, partial(self._merge, order))
            case Land():
                self._done(order)

    def take_over(self, orders: Sequence[Ordered], known: Known) -> None:
        """What was ordered before, by somebody else."""
        ordered = {self._jobs.id(order): order for order in orders}
        for job, order in ordered.items():
            if job in known:
                self._take_over(job, order, known[job])
            else:
                self.obey(order)
        self._host.forget([job for job in known if job not in ordered])

    def _take_over(self, job: str, order: Order, found: Running | JobEnded) -> None:
        self._launched[job] = order if isinstance(order, Launch) else self._setup_of(order)
        # Whoever was here before may have asked for its end; whether that was wanted is for the engine to say.
        self._halted[job] = How.STOPPED
        if isinstance(found, JobEnded):
            self.job_ended(found)

    def _setup_of(self, order: Order) -> Launch:
        assert isinstance(order, Prepare)
        launch = self._jobs.setup(order)
        assert launch is not None
        return launch

    def _soon(self, work: Callable[..., object], *arguments: object) -> None:
        assert self._tasks is not None
        self._tasks.start_soon(work, *arguments)  # type: ignore[arg-type]

    # Processes

    def _launch(self, launch: Launch) -> None:
        slices = self._lineage.gathered_for(launch)
        if slices is None:
            self._start(launch)
        else:
            self._soon(self._gather, launch, slices)

    def _start(self, launch: Launch) -> None:
        halted = self._halted.pop(self._jobs.id(launch), None)
        if halted is not None:  # before it could be started
            self._report(self._ended(launch, halted))
            return
        try:
            job = self._jobs.job(launch, self._cwd(launch))
        except (WeftError, OSError) as error:
            self._report(could_not(launch, error, at=self.now()))
            return
        self._launched[job.id] = launch
        self._host.start(job)

    def _cwd(self, launch: Launch) -> Path:
        return self._workspaces.place(launch.path)

    async def _gather(self, launch: Launch, slices: Sequence[str]) -> None:
        """A group's verify works on what all in it did."""
        settings = self._lineage.settings(launch.row)
        gather = partial(self._workspaces.gather, launch.path, slices, copy=settings.copy, link=settings.link)
        if await self._in_thread(launch, gather, done=False):
            self._start(launch)

    def _halt(self, order: Halt) -> None:
        job = self._jobs.id(order)
        self._halted[job] = How(order.how)
        if job in self._launched:
            self._host.stop(job, grace=0.0 if order.now else None)

    def job_ended(self, ended: JobEnded) -> None:
        launch = self._launched.pop(ended.id, None)
        if launch is None:
            return
        halted = self._halted.pop(ended.id, None)
        fact = self._jobs.fact(launch, ended, self._cwd(launch), at=self.now(), halted=halted)
        if launch.step == SETUP and fact.how is How.DONE:
            self._soon(self._accept, launch, ended.id)
        else:
            self._unsafe.append(ended.id)
            self._report(fact)

    def committed(self) -> None:
        """All that was reported is in the journal: the host need not keep it."""
        if self._unsafe:
            self._host.forget(self._unsafe)
            self._unsafe = []

    # Workspaces

    async def _prepare(self, order: Prepare) -> None:
        request = self._lineage.request(order)
        launch = self._jobs.setup(order)
        prepare = partial(self._workspaces.prepare, request)
        if await self._in_thread(order, prepare, done=launch is None) and launch is not None:
            self._start(launch)

    async def _accept(self, launch: Launch, job: str) -> None:
        """What was set up is no work of the slice."""
        await self._in_thread(launch, partial(self._workspaces.accept, launch.path))
        self._unsafe.append(job)

    def _merge(self, order: Merge) -> None:
        slices = self._lineage.merged_with(order)
        if self._lineage.is_slice(order.row):
            self._workspaces.keep(order.path)
        self._workspaces.check(slices)

    async def _in_thread(self, order: Order, work: Callable[[], object], *, done: bool = True) -> bool:
        """Whether it went well; that it did not is reported, and with `done` also that it did."""
        try:
            await run_sync(work)
        except ConflictError as error:
            self._report(self._ended(order, How.CONFLICT, str(error), error.files))
        except OSError as error:
            self._report(could_not(order, error, at=self.now()))
        except WeftError as error:
            self._report(self._ended(order, How.FAILED, str(error)))
        else:
            if done:
                self._done(order)
            return True
        return False

    def _done(self, order: Order) -> None:
        self._report(self._ended(order, How.DONE))

    def _ended(self, order: Order, how: How, message: str = "", files: Sequence[str] = ()) -> Ended:
        return Ended(
            at=self.now(),
            firing=order.firing,
            execution=order.execution,
            how=how,
            message=message,
            files=tuple(files),
        )

    # Time

    async def _wake(self, at: float) -> None:
        await self._clock.sleep_until(at)
        self._report(Woke(at=self.now()))
