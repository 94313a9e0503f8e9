"""Carries out the engine's orders: processes on the host, work on workspaces in threads, timers on the clock.

Each order is reported as ended exactly once. After the death of a coordinator, its successor takes over the orders
without a reported end: it adopts the jobs that the host knows and repeats all other orders, which is harmless.

Some orders without a step have processes as well: the commands that set up a workspace, and the verify of a merge.
They run as jobs of their order. A merge that is repeated because its branch moved has another round of jobs.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from anyio.abc import TaskGroup
from msgspec.structs import replace

from weft.engine.engine import Engine
from weft.engine.messages.facts import Ended, StepOutcome, Woke
from weft.engine.messages.orders import (
    AnyOrder,
    Freeze,
    Halt,
    Land,
    Launch,
    LaunchKind,
    Merge,
    Ordered,
    Prepare,
    WakeAt,
)
from weft.errors import WeftError
from weft.plan.model import Plan
from weft.ports.clock import Clock
from weft.ports.host import Host, JobEnded, KnownJobs, Running
from weft.ports.machines import MachineJobs, MachineStatus
from weft.ports.target import LandingTarget
from weft.ports.workspaces import InfraError, MergeRequest, WorkspaceCopies, Workspaces
from weft.runtime.bisection import Bisection
from weft.runtime.conflict_resolution import ConflictResolution
from weft.runtime.inbox import Inbox
from weft.runtime.job_ids import round_of, without_round
from weft.runtime.jobs import JobFactory, not_started
from weft.runtime.landing_queue.assembly import LandingAssembly
from weft.runtime.lineage import Lineage
from weft.runtime.machines.far_steps import stale_jobs
from weft.runtime.meter import Meter
from weft.runtime.outside_watch import OutsideWatch
from weft.runtime.step_effects import StepEffects


class Effects(StepEffects):
    def __init__(  # noqa: PLR0913 - all that it works with
        self,
        *,
        host: Host,
        workspaces: Workspaces,
        jobs: JobFactory,
        lineage: Lineage,
        clock: Clock,
        inbox: Inbox,
        outside: OutsideWatch | None = None,
        copies: WorkspaceCopies | None = None,
    ) -> None:
        """`copies` has the workspaces of steps on other machines; None without such steps."""
        super().__init__(
            workspaces=workspaces,
            jobs=jobs,
            lineage=lineage,
            clock=clock,
            inbox=inbox,
            outside=outside or OutsideWatch(),
            copies=copies,
        )
        self._host = host
        self._halted: dict[str, StepOutcome] = {}
        """The outcomes to report for halted orders, by the id of the order."""
        self._frozen: set[str] = set()
        """The frozen orders, by id."""
        self._bisection = Bisection(workspaces, lineage, jobs)
        self._resolution = ConflictResolution(workspaces, lineage, self._patience)
        self._tasks: TaskGroup | None = None
        self._landing: LandingAssembly | None = None

    def work_in(self, tasks: TaskGroup) -> None:
        self._tasks = tasks
        tasks.start_soon(self._changes.watch_commits)
        if self._landing is not None:
            self._landing.work_in(tasks)

    def land_on(self, target: LandingTarget, plan: Plan, engine: Engine) -> None:
        """Sets the target on which results with a history land."""
        self._landing = LandingAssembly(
            plan=plan,
            target=target,
            engine=engine,
            host=self._host,
            jobs=self._jobs,
            lineage=self._lineage,
            inbox=self._inbox,
            now=self.now,
            report=self._report,
        )

    async def finish(self, *, stops: bool = False) -> None:
        """Finishes work outside the run after its end. With `stops`, the user does not wait for it."""
        if self._landing is not None:
            await self._landing.finish(stops=stops)
        await self._upkeep.sweep()

    def meter(self, engine: Engine) -> Meter:
        def launches() -> list[tuple[Launch, Path]]:
            agents = (launch for launch in self._launched.values() if launch.agent is not None)
            return [(launch, self._cwd(launch)) for launch in agents]

        return Meter(engine, self._jobs, self._inbox, launches=launches, now=self.now)

    # Orders

    def carry_out(self, order: AnyOrder) -> None:
        self._outside.ordered(order)
        match order:
            case Launch():
                self._launch(order)
            case Halt():
                self._halt(order)
            case Freeze():
                self._freeze(order)
            case WakeAt():
                self._soon(self._wake, order.at)
            case Prepare() | Merge() | Land():
                self._note_start(order)
                self._act(order)

    def _act(self, order: Prepare | Merge | Land) -> None:
        match order:
            case Prepare():
                self._soon(self._prepare, order)
            case Merge():
                self._soon(self._merge, order, 0)
            case Land():
                self._land(order)

    def take_over(self, orders: Sequence[Ordered], known: KnownJobs) -> None:
        """Takes over the orders of the previous coordinator."""
        jobs: defaultdict[str, list[str]] = defaultdict(list)
        for job in sorted(known, key=round_of):
            jobs[without_round(job)].append(job)
        taken = set[str]() if self._landing is None else self._landing.take_over(known)
        for order in orders:
            rounds = jobs.get(self._jobs.id(order))
            # A landing starts over: its jobs belong to the queue.
            if rounds is None or isinstance(order, Land):
                self.carry_out(order)
            else:
                # A bisection needs all its earlier rounds; of a merge only the last one counts.
                taken.update(rounds if isinstance(order, Launch) else rounds[-1:])
                self._take_over(order, {round_of(job): known[job] for job in rounds})
        # The ends of all other jobs are in the journal; the last coordinator did not have them forgotten.
        self._host.forget([job for job in known if job not in taken])

    def machine_answered(self, news: MachineJobs, orders: Sequence[Ordered]) -> None:
        """Stops the jobs of another machine that belong to no order: their attempts count as lost."""
        setups = (self._jobs.far_setup_id(order) for order in orders if isinstance(order, Launch))
        running, ended = stale_jobs(news.jobs, {*map(self._jobs.id, orders), *setups})
        for job in running:
            self._host.stop(job, grace=0.0)
        self._host.forget(ended)

    def machine_returned(self, status: MachineStatus, placements: Mapping[str, str]) -> None:
        self._soon(self._far.keep_stale_work, status.host, status.machine, placements)

    def take_over_work(self, orders: Sequence[Ordered], jobs: KnownJobs) -> None:
        """Takes over only running steps of an earlier coordinator; orders without a process end as stopped."""
        for order in orders:
            if isinstance(order, Launch) and order.is_work and (job := self._jobs.id(order)) in jobs:
                self._take_over(order, {0: jobs[job]})
            else:
                self._report(self._ended(order, StepOutcome.STOPPED))

    def _take_over(self, order: Ordered, rounds: Mapping[int, Running | JobEnded]) -> None:
        """Adopts the last job of the order."""
        self._outside.ordered(order)
        last = rounds[max(rounds)]
        self._launched[self._jobs.id(order)] = self._launch_of(order, last.id, rounds)
        self._adopted[last.id] = last
        if isinstance(last, JobEnded):
            self.job_ended(last)

    def _launch_of(self, order: Ordered, job: str, rounds: Mapping[int, Running | JobEnded]) -> Launch:
        """Returns the launch of the job that the order has reached."""
        match order:
            case Launch():
                self._changes.register(order)
                return self._bisection.restore(order, rounds, at=self.now())
            case Prepare():
                launch = self._jobs.setup(order)
                assert launch is not None
                return launch
            case Merge():
                self._merges[job] = order
                return self._jobs.verify(order, self._lineage.verify_of(order.row), round_of(job))
            case Land():  # its jobs are those of the queue
                raise AssertionError(order)

    def _soon(self, work: Callable[..., object], *arguments: object) -> None:
        assert self._tasks is not None
        self._tasks.start_soon(work, *arguments)  # type: ignore[arg-type]

    # Processes

    def _launch(self, launch: Launch) -> None:
        request = self._lineage.gathered_for(launch)
        if self._resolution.concerns(launch):
            self._soon(self._open_conflict, launch)
        elif request is not None:
            self._soon(self._gather, launch, request)
        elif self._changes.register(launch) or launch.host:
            self._soon(self._prove, launch)
        else:
            self._start(launch)

    def _start(self, launch: Launch) -> None:
        order = without_round(self._jobs.id(launch))
        halted = self._halted.get(order)
        if halted is not None:  # it was halted before it started
            self._not_started(launch, self._ended(launch, halted))
            return
        try:
            job = self._jobs.job(launch, self._cwd(launch))
        except (WeftError, OSError) as error:
            self._not_started(launch, not_started(launch, error, at=self.now()))
            return
        self._launched[order] = launch
        self._host.start(job)
        if order in self._frozen:
            self._host.freeze(job.id)

    def _not_started(self, launch: Launch, fact: Ended) -> None:
        self._far.abandon(launch, self._jobs.id(launch))
        if self._resolution.concerns(launch):
            self._soon(self._close_conflict, launch, fact)
        else:
            self._report(fact)

    def _cwd(self, launch: Launch) -> Path:
        place = self._workspaces.scratch if launch.kind is LaunchKind.MERGE else self._workspaces.place
        return place(launch.path)

    def _halt(self, order: Halt) -> None:
        halted = self._jobs.id(order)
        self._halted[halted] = StepOutcome(order.how)
        if self._landing is not None:
            self._landing.halt(order)
        launch = self._launched.get(halted) or self._far_setup_of(halted)
        if launch is not None:
            self._host.stop(self._jobs.id(launch), grace=0.0 if order.now else None)

    def _freeze(self, order: Freeze) -> None:
        """Freezes or thaws an order. An order without a process is frozen as soon as it has one."""
        name = self._jobs.id(order)
        if order.thaw:
            self._frozen.discard(name)
        else:
            self._frozen.add(name)
        launch = self._launched.get(name)
        if launch is not None:
            (self._host.thaw if order.thaw else self._host.freeze)(self._jobs.id(launch))

    def job_ended(self, ended: JobEnded) -> None:
        if self._landing is not None and self._landing.job_ended(ended):
            return
        order = without_round(ended.id)
        launch = self._launched.get(order)
        if launch is None or self._jobs.id(launch) != ended.id:
            return
        del self._launched[order]
        # The earlier coordinator may have halted this job. The engine decides whether the halt still counts.
        halted = self._halted.get(order, StepOutcome.STOPPED if ended.id in self._adopted else None)
        fact = self._jobs.fact(launch, ended, self._cwd(launch), at=self.now(), halted=halted)
        if not self._ends_far_setup(fact, ended.id):
            self._follow(launch, fact, ended.id)

    def _follow(self, launch: Launch, fact: Ended, job: str) -> None:
        """Does what comes after the processes of a launch, and then reports its end."""
        if launch.kind is LaunchKind.WORKSPACE and fact.how is StepOutcome.DONE:
            self._soon(self._accept, launch, job)
        elif launch.kind is LaunchKind.MERGE:
            self._soon(self._verified, launch, fact, job)
        elif self._resolution.concerns(launch):
            self._soon(self._close_conflict, launch, fact, job)
        elif self._bisection.concerns(launch, fact):
            self._soon(self._bisect, launch, fact, job)
        elif self._changes.are_relevant(launch):
            self._soon(self._record, launch, fact, job)
        else:
            self._report_end(fact, job)

    def _report(self, fact: Ended) -> None:
        self._changes.reported(fact)
        self._outside.reported(fact)
        super()._report(fact)

    def committed(self) -> None:
        """Called when all reported ends are in the journal. The host may now forget their jobs."""
        self._changes.committed()
        if self._landing is not None:
            self._to_forget += self._landing.committed()
        if self._to_forget:
            self._host.forget(self._to_forget)
            self._to_forget = []

    # Workspaces

    async def _prepare(self, order: Prepare) -> None:
        request = self._lineage.request(order)
        if order.continues is not None:
            work = partial(self._workspaces.continue_after, request, order.continues)
            continued = await self._in_thread(order, work)
            if continued is None or continued.is_kept:
                if continued is not None:
                    self._has_moved(order, continued.moves)
                    self._report(replace(self._ended(order, StepOutcome.DONE), kept=True))
                return
        moves = await self._in_thread(order, partial(self._workspaces.prepare, request))
        if moves is None:
            return
        self._has_moved(order, moves)
        # On another machine, the set-up runs there before the first step.
        launch = None if order.host else self._jobs.setup(order)
        if launch is None:
            self._report(self._ended(order, StepOutcome.DONE))
        else:
            self._start(launch)

    async def _accept(self, launch: Launch, job: str) -> None:
        """Records the state after setup as the base, so that files of the setup do not count as work."""
        if await self._in_thread(launch, partial(self._accepted, launch.path)):
            self._report(self._ended(launch, StepOutcome.DONE))
        self._to_forget.append(job)

    def _accepted(self, path: str) -> bool:
        self._workspaces.accept(path)
        return True

    async def _gather(self, launch: Launch, request: MergeRequest) -> None:
        """Merges the parts of a group for its verify, then starts the verify."""
        moves = await self._in_thread(launch, partial(self._workspaces.gather, request))
        if moves is not None:
            self._has_moved(launch, moves)
            self._start(launch)

    async def _bisect(self, launch: Launch, fact: Ended, job: str) -> None:
        """Continues the bisection after a failed verify of a group, which runs the verify on fewer parts."""
        following = await self._bisection.next(launch, fact, job)
        if isinstance(following, Launch):
            halted = self._halted.get(without_round(job))
            if halted is None:
                self._start(following)
                return
            following = self._ended(launch, halted)
        self._to_forget += self._bisection.forget(launch) or [job]
        self._report(following)

    # Conflicts

    async def _open_conflict(self, launch: Launch) -> None:
        """Opens the conflict in the workspace, then starts the agent that resolves it."""
        try:
            following = await self._resolution.open(launch)
        except (WeftError, OSError) as error:
            infra = isinstance(error, OSError | InfraError)
            fact = not_started(launch, error, at=self.now())
            self._report(fact if infra else replace(fact, how=StepOutcome.FAILED))
            return
        if following is None:
            self._report(self._ended(launch, StepOutcome.DONE, "nothing is in conflict any more"))
        else:
            await self._outside.step_starts(following)
            self._start(following)

    async def _close_conflict(self, launch: Launch, fact: Ended, job: str = "") -> None:
        fact = await self._outside.ended(launch, await self._resolution.close(launch, fact))
        self._to_forget += [job] if job else []
        self._report(fact)
        if fact.moves:
            await self._forecast(launch.path)

    # Landing

    def _land(self, order: Land) -> None:
        """Adds the order to the landing queue. A result without history is already in place."""
        if self._landing is None or not self._workspaces.has_history(order.path):
            self._report(self._ended(order, StepOutcome.DONE))
        else:
            self._landing.add(order)

    async def _wake(self, at: float) -> None:
        await self._clock.sleep_until(at)
        self._inbox.put(Woke(at=self.now()))
