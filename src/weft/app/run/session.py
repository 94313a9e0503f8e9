"""All that takes part in a run, put together; and how it hears of the people who look at it."""

import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, cast

import anyio
from msgspec import Struct

from weft.agents.adapters import adapter_of
from weft.app.isolation.step_isolation import isolation_of
from weft.app.isolation.watched_checkouts import outside_watch
from weft.app.notify.hook import notified
from weft.app.preflight.imports import python_imports
from weft.app.project.files import failure
from weft.app.project.places import Places
from weft.app.run.status_files import StatusMirror
from weft.engine.engine import Engine
from weft.engine.messages.events import Recorded
from weft.engine.messages.facts import AnyFact
from weft.engine.messages.orders import Launch
from weft.engine.messages.run_status import RunState
from weft.hosts.local import LocalHost
from weft.plan.model import Plan
from weft.ports.journal import Journal
from weft.ports.target import LandingTarget
from weft.ports.workspaces import Workspaces
from weft.runtime.coordinator import Coordinator
from weft.runtime.effects import Effects
from weft.runtime.inbox import Inbox
from weft.runtime.jobs import JobFactory
from weft.runtime.lineage import Lineage
from weft.runtime.status_files import StatusFiles
from weft.safe_files import touch

FRAME = 0.25
"""Seconds between looks of whoever shows the run."""
PATIENCE = 2
"""So many times one can ask the run to stop before we leave without waiting."""
LEFT = "left"
"""What a run is for us that we did not wait to see stopped."""
LONGEST_SLEEP = 60.0
"""Seconds after which a clock that was set back, or a machine that slept, is noticed."""


class RunSetup(Struct, frozen=True, kw_only=True):
    """A run that is about to go."""

    run: str
    plan: Plan
    places: Places
    host: LocalHost
    """Where its processes run."""
    workspaces: Workspaces
    """Where its slices work."""
    landing_target: LandingTarget | None = None
    """The branch that results land on; None without worktrees."""
    directory: Path
    """The plan's own."""
    resumed: bool = False
    """Whether it has been under way before."""
    settles: tuple[str, ...] = ()
    """The steps that it waits for before another run replaces it, as `store/model:code`; none otherwise."""
    done_by: str = ""
    """The run that has completed everything, if there is nothing to do."""
    given_up: str = ""
    """An unfinished run that will not go on."""
    given_up_for: tuple[str, ...] = ()
    """The subplans that it was for, if only for some."""
    chosen: tuple[str, ...] = ()
    """The subplans that this one is for, with what they need; none: for the whole plan."""
    changed: bool = False
    """Whether the plan is another than that of the last run."""
    carried: tuple[str, ...] = ()
    """What an earlier run has completed."""
    history: Iterable[Recorded] = ()
    """What has happened in it before."""
    result: Path | None = None
    """Where the files are that come out of it; None if they land on a branch, or lie in the plan's directory."""
    target: str = ""
    """The branch that results land on, if there is one."""
    notes: tuple[str, ...] = ()
    """What a person should know before anything starts."""


class RunObserver(Protocol):
    """Whoever shows a run to people."""

    def begins(self, begun: RunSetup) -> None: ...

    def hears(self, events: Sequence[Recorded]) -> None:
        """What has happened, after it is in the journal."""
        ...

    def looks(self) -> None:
        """Now and then, so that time can be seen to pass."""
        ...

    def stops(self, times: int) -> None:
        """A person wants the run to end, for the how-manieth time."""
        ...


class SystemClock:
    def now(self) -> float:
        return time.time()

    async def sleep_until(self, at: float) -> None:
        while (left := at - time.time()) > 0:  # noqa: ASYNC110 - nobody tells when a time has come
            await anyio.sleep(min(left, LONGEST_SLEEP))


def cause(error: BaseException) -> BaseException:
    """What went wrong first; a group is only how tasks hand it on."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


class RunSession:
    """All that takes part in a run, put together."""

    def __init__(
        self,
        begun: RunSetup,
        engine: Engine,
        journal: Journal,
        audience: RunObserver,
        environ: Mapping[str, str],
        *,
        enough: Callable[[], bool] = lambda: False,
    ) -> None:
        """`enough`: whether to leave once nothing but steps, or frozen work, is under way, without us."""
        self._begun = begun
        self._engine = engine
        self._journal = journal
        self._audience = audience
        self._environ = environ
        self._enough = enough
        self._clock = SystemClock()
        self._left = False
        self._scope: anyio.CancelScope | None = None
        self._isolation = isolation_of(begun.plan, begun.places, begun.run, begun.directory, environ)
        self._mirror = StatusMirror(StatusFiles(begun.places.status), begun.run, begun.plan)
        self._notified = notified(
            begun.plan, begun.run, places=begun.places, journal=journal, audience=audience, environ=environ
        )

    async def play(self, first: AnyFact, waits: bool) -> str:  # noqa: FBT001 - as anyio hands it over
        begun, plan = self._begun, self._begun.plan
        lineage = Lineage(plan, self._engine.tracker)
        plan_dir = begun.directory
        inbox = Inbox()
        jobs = JobFactory(
            run=begun.run,
            plan=plan,
            plan_dir=plan_dir,
            logs=begun.places.logs(begun.run),
            adapter_of=adapter_of,
            environ=self._environ,
            isolation=self._isolation,
            import_roots=python_imports(plan, plan_dir, self._environ).roots,
        )
        effects = Effects(
            host=begun.host,
            workspaces=begun.workspaces,
            jobs=jobs,
            lineage=lineage,
            clock=self._clock,
            inbox=inbox,
            outside=outside_watch(plan, plan_dir, begun.workspaces, self._environ),
        )
        if begun.landing_target is not None:
            effects.land_on(begun.landing_target, plan, self._engine)
        coordinator = Coordinator(
            begun.run,
            self._engine,
            journal=self._journal,
            host=begun.host,
            effects=effects,
            inbox=inbox,
        )
        async with anyio.create_task_group() as tasks:
            self._scope = tasks.cancel_scope
            tasks.start_soon(self._hear_signals, coordinator)
            tasks.start_soon(self._show)
            try:
                await coordinator.run(first, listener=self._hears, waits=waits)
            finally:
                self._mirror.close()
                await self._notified.finish()
            tasks.cancel_scope.cancel()
        state = LEFT if self._left else self._engine.state
        if begun.result is not None and state in {"completed", "failed"}:
            self._bring_together(begun.workspaces, lineage)
        return state

    def _bring_together(self, workspaces: Workspaces, lineage: Lineage) -> None:
        """The results. If that fails or we die meanwhile, the next run of the plan does it."""
        try:
            workspaces.gather(lineage.whole())
            touch(self._begun.places.gathered(self._begun.run))
        except OSError as error:
            raise failure(f"cannot bring the results together in {self._begun.result}", error) from None

    def _hears(self, events: Sequence[Recorded]) -> None:
        self._audience.hears(events)
        self._mirror.hears(events)
        self._notified.hears(events)
        if self._enough():
            left = self._engine.in_flight
            stands_still = self._engine.state == RunState.PAUSED
            if left and (stands_still or all(isinstance(order, Launch) for order in left)):
                self._leave()

    def _leave(self) -> None:
        assert self._scope is not None
        self._left = True
        self._scope.cancel()

    async def _show(self) -> None:
        while True:
            self._audience.looks()
            self._mirror.looks(self._clock.now())
            await anyio.sleep(FRAME)

    async def _hear_signals(self, coordinator: Coordinator) -> None:
        """Once is gracefully, twice is now; the third time we leave, and what still dies does so alone."""
        times = 0
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for _ in signals:
                times += 1
                self._audience.stops(times)
                if times > PATIENCE:
                    self._leave()
                    return
                coordinator.stop(now=times > 1)
