"""Assemble the parts of a run and drive it: coordinator, effects, status files, notifications and signals."""

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
from weft.app.notify.hook import make_hook
from weft.app.preflight.imports import python_imports
from weft.app.project.files import failure
from weft.app.project.places import Places
from weft.app.run.forecast_task import ForecastTask
from weft.app.run.status_files import StatusMirror
from weft.engine.engine import Engine
from weft.engine.messages.events import Recorded
from weft.engine.messages.facts import AnyFact
from weft.engine.messages.orders import Launch
from weft.plan.model import Plan
from weft.ports.host import Host
from weft.ports.journal import Journal
from weft.ports.machines import Machines
from weft.ports.target import LandingTarget
from weft.ports.workspaces import ResultMerges, WorkspaceCopies, Workspaces
from weft.runtime.coordinator import Coordinator
from weft.runtime.effects import Effects
from weft.runtime.inbox import Inbox
from weft.runtime.jobs import JobFactory
from weft.runtime.lineage import Lineage
from weft.runtime.status_files import StatusFiles
from weft.safe_files import touch
from weft.terms import RunState

REFRESH_INTERVAL = 0.25
"""Seconds between refreshes of the display."""
PATIENCE = 2
"""Number of stop signals that the run handles; the next one makes the coordinator leave without waiting."""
LEFT = "left"
"""The result of a session that did not wait for its run to stop."""
LONGEST_SLEEP = 60.0
"""Seconds between looks at the clock, so that a clock that was set, or a machine that slept, is noticed."""


class RunSetup(Struct, frozen=True, kw_only=True):
    """A run that is ready to start."""

    run: str
    plan: Plan
    places: Places
    host: Host
    """Runs its processes."""
    machines: Machines | None = None
    """Other machines; None if all steps run on this one."""
    copies: WorkspaceCopies | None = None
    """The workspaces of slices on other machines; None if there are none."""
    workspaces: Workspaces
    """Provides the directories of its slices."""
    landing_target: LandingTarget | None = None
    """The branch that results land on; None without worktrees."""
    directory: Path
    """The directory of the plan."""
    resumed: bool = False
    """Whether the run continues after an earlier coordinator."""
    settles: tuple[str, ...] = ()
    """The steps that the run waits for before another run replaces it, as `store/model:code`; otherwise empty."""
    done_by: str = ""
    """The run that has completed everything, if there is nothing to do."""
    given_up: str = ""
    """The unfinished run that this one replaces."""
    given_up_for: tuple[str, ...] = ()
    """The selected subplans of the replaced run; empty if it was for the whole plan."""
    chosen: tuple[str, ...] = ()
    """The selected subplans of this run; empty for the whole plan."""
    changed: bool = False
    """Whether the plan differs from the plan of the last run."""
    carried: tuple[str, ...] = ()
    """The subplans that earlier runs have completed."""
    history: Iterable[Recorded] = ()
    """The earlier events of a run that is resumed."""
    result: Path | None = None
    """The directory of the gathered results; None if they land on a branch or stay in the plan's directory."""
    target: str = ""
    """The branch that results land on, if there is one."""
    notes: tuple[str, ...] = ()
    """Notes for the user, shown before anything starts."""


class RunObserver(Protocol):
    """A display of a run."""

    def start(self, setup: RunSetup, /) -> None: ...

    def receive(self, events: Sequence[Recorded]) -> None:
        """Shows events. They are in the journal already."""
        ...

    def refresh(self) -> None:
        """Refreshes the display. The session calls this regularly."""
        ...

    def show_stop(self, times: int) -> None:
        """Shows that the user has asked the run to stop; `times` counts the requests."""
        ...


class SystemClock:
    def now(self) -> float:
        return time.time()

    # In short pieces: a sleep counts monotonic time, which stands still while a machine sleeps, and a usage limit
    # ends at a wall-clock time.
    async def sleep_until(self, at: float) -> None:
        while (seconds := at - time.time()) > 0:  # noqa: ASYNC110 - no event announces a wall-clock time
            await anyio.sleep(min(seconds, LONGEST_SLEEP))


def first_cause(error: BaseException) -> BaseException:
    """Returns the first error inside an exception group, which is only the wrapper that task groups add."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


class RunSession:
    """One coordinator's work on a run, from its first fact until the coordinator leaves."""

    def __init__(  # noqa: PLR0913 - the parts of a session
        self,
        setup: RunSetup,
        engine: Engine,
        journal: Journal,
        observer: RunObserver,
        environ: Mapping[str, str],
        *,
        enough: Callable[[], bool] = lambda: False,
        leaves: Callable[[], bool] = lambda: False,
    ) -> None:
        """`enough` returns whether the session may leave as soon as only steps or frozen work are in flight.

        `leaves` returns whether the user wants to leave the run to another coordinator.
        """
        self._setup = setup
        self._engine = engine
        self._journal = journal
        self._observer = observer
        self._environ = environ
        self._enough = enough
        self._leaves = leaves
        self._clock = SystemClock()
        self._left = False
        self._scope: anyio.CancelScope | None = None
        self._isolation = isolation_of(setup.plan, setup.places, setup.run, setup.directory, environ)
        self._mirror = StatusMirror(StatusFiles(setup.places.status), setup.run, setup.plan)
        self._forecasts = ForecastTask(setup.places.project, setup.run, environ)
        self._notified = make_hook(
            setup.plan, setup.run, places=setup.places, journal=journal, observer=observer, environ=environ
        )

    async def run(self, first: AnyFact, waits: bool) -> str:  # noqa: FBT001 - as anyio hands it over
        setup, plan = self._setup, self._setup.plan
        lineage = Lineage(plan, self._engine.tracker)
        plan_dir = setup.directory
        inbox = Inbox()
        jobs = JobFactory(
            run=setup.run,
            plan=plan,
            plan_dir=plan_dir,
            logs=setup.places.logs(setup.run),
            records=setup.host,
            adapter_of=adapter_of,
            environ=self._environ,
            isolation=self._isolation,
            import_roots=python_imports(plan, plan_dir, self._environ).roots,
        )
        effects = Effects(
            host=setup.host,
            workspaces=setup.workspaces,
            jobs=jobs,
            lineage=lineage,
            clock=self._clock,
            inbox=inbox,
            outside=outside_watch(plan, plan_dir, setup.workspaces, self._environ),
            copies=setup.copies,
        )
        # Only now, since the landing queue needs the effects to run verifies, and the effects need everything
        # above.
        if setup.landing_target is not None:
            effects.land_on(setup.landing_target, plan, self._engine)
        coordinator = Coordinator(
            setup.run,
            self._engine,
            journal=self._journal,
            host=setup.host,
            effects=effects,
            inbox=inbox,
            machines=setup.machines,
        )
        async with anyio.create_task_group() as tasks:
            self._scope = tasks.cancel_scope
            tasks.start_soon(self._handle_signals, coordinator)
            tasks.start_soon(self._show)
            tasks.start_soon(self._forecasts.run)
            try:
                # The helper tasks never end by themselves; the cancellation after this block ends them.
                await coordinator.run(first, listener=self._receive, waits=waits)
            finally:
                self._mirror.close()
                # Notifications are sent in the background. Leaving without this wait would lose the one that
                # matters most: the end.
                await self._notified.finish()
            tasks.cancel_scope.cancel()
        state = LEFT if self._left else self._engine.state
        # After a failure too: the results of the slices that did complete are worth having.
        if setup.result is not None and state in {"completed", "failed"}:
            self._gather_results(setup.workspaces, lineage)
        return state

    def _gather_results(self, workspaces: ResultMerges, lineage: Lineage) -> None:
        """Gathers the results in one directory. If this fails or the process dies, the next run repeats it."""
        try:
            workspaces.gather(lineage.whole())
            # The mark comes after the copy. A crash in between makes the next run gather again, never trust half a
            # directory.
            touch(self._setup.places.gathered(self._setup.run))
        except OSError as error:
            raise failure(f"cannot combine the results in {self._setup.result}", error) from None

    def _receive(self, events: Sequence[Recorded]) -> None:
        # The events are in the journal already, so an observer that fails cannot lose any.
        self._observer.receive(events)
        self._mirror.receive(events)
        self._notified.receive(events)
        self._forecasts.note_events()
        if self._enough():
            in_flight = self._engine.in_flight
            stands_still = self._engine.state == RunState.PAUSED
            # Steps survive without a coordinator; merges and landings do not.
            if in_flight and (stands_still or all(isinstance(order, Launch) for order in in_flight)):
                self._leave()

    def _leave(self) -> None:
        assert self._scope is not None
        self._left = True
        self._scope.cancel()

    async def _show(self) -> None:
        while True:
            self._observer.refresh()
            self._mirror.refresh(self._clock.now())
            if self._leaves():
                # As if this process had been killed: steps continue under the supervisor, and the next coordinator
                # repeats merges and landings that were in progress.
                self._leave()
                return
            await anyio.sleep(REFRESH_INTERVAL)

    async def _handle_signals(self, coordinator: Coordinator) -> None:
        """Handles stop signals: the first stops gracefully, the second at once, the third does not wait."""
        times = 0
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for _ in signals:
                times += 1
                self._observer.show_stop(times)
                # Steps keep running under the supervisor and the next `weft run` takes them over, so leaving loses
                # nothing.
                if times > PATIENCE:
                    self._leave()
                    return
                coordinator.stop(now=times > 1)
