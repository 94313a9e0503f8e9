"""Settle an unfinished run before another run replaces it.

A run is replaced if the plan was edited or the user selects other subplans. Its steps may still run, or have ended
without a coordinator, and its agents have cost money. The old run therefore continues one last time with its own
plan: no step starts, agents of unchanged subplans finish, and all other steps are stopped. The journal records
commits and costs as in any run, and the next run builds on them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
from msgspec import Struct, field
from msgspec.structs import replace

from weft.app.history.completed_work import changed_paths
from weft.app.project.places import Places
from weft.app.run.recorded_hosts import hosts_of_record
from weft.app.run.session import LEFT, RunObserver, RunSession, RunSetup
from weft.app.run.setup import resume_run
from weft.app.run.workspaces import WorkspaceFactory
from weft.engine.engine import Engine
from weft.engine.messages.events import Recorded, StoppingEvent
from weft.engine.messages.facts import Resumed
from weft.engine.messages.orders import Launch
from weft.garbage import without_gc
from weft.plan.compile.compile import compile_plan
from weft.plan.loader.load import Surroundings, load_plan
from weft.plan.model import Plan
from weft.ports.host import Host, KnownJobs, Running
from weft.ports.journal import RunRecord
from weft.ports.machines import Machines
from weft.runtime.job_ids import parse_job_id
from weft.runtime.machines.known_jobs import open_all
from weft.store.sqlite import SqliteJournal


def settle(
    last: RunRecord,
    plan: Plan,
    *,
    places: Places,
    journal: SqliteJournal,
    observer: RunObserver,
    environ: Mapping[str, str],
) -> str:
    """Settles the run `last` before a run of `plan`.

    Returns an empty string, or the state of the run if the user stopped it meanwhile.
    """
    with without_gc():
        # The facts of the old run only make sense for the net of the old plan.
        before = load_plan(last.text, last.file, surroundings=Surroundings(git=False))
        workplaces = WorkspaceFactory(before, places, Path(last.directory), environ)
        setup, engine, first = resume_run(last, compile_plan(before), journal, workplaces)
        # An agent that works on an outdated task would only cost money, so its subplan ends at once.
        ends = changed_paths(before, plan)
    assert isinstance(first, Resumed)
    # Nothing is running or half done, so no session and no supervisor need to start.
    if not engine.in_flight:
        return ""
    steps = _finishing_steps(engine, anyio.run(_open_jobs, *hosts_of_record(places, last)), ends)
    setup = replace(setup, settles=steps)
    # Without a step to wait for, settling takes a moment and would only confuse the display.
    listener = _Listener(observer if steps else None)
    listener.start(setup)
    session = RunSession(setup, engine, journal, listener, environ)
    state = anyio.run(session.run, replace(first, settles=True, ends=tuple(sorted(ends))), False)
    # The session also ends as `stopped` when everything is settled, so the state alone does not say whether the
    # user wants the next run.
    return state if listener.is_stopped or state == LEFT else ""


async def _open_jobs(host: Host, machines: Machines | None) -> KnownJobs:
    try:
        return await open_all(host, machines)
    finally:
        await host.close()


def _finishing_steps(engine: Engine, jobs: KnownJobs, ends: frozenset[str]) -> tuple[str, ...]:
    """Returns the running agent steps that the run waits for, as `store/model:code`."""
    running = {
        parts.key
        for job, state in jobs.items()
        if isinstance(state, Running) and (parts := parse_job_id(job)) is not None and not parts.round
    }
    return tuple(
        f"{order.path}:{order.step}"
        for order in engine.in_flight
        if isinstance(order, Launch)
        and order.agent is not None
        and order.path not in ends
        and order.key in running
    )


class _Listener(Struct):
    """An observer that forwards events to another observer, if any, and knows whether the user stopped the run."""

    observer: RunObserver | None
    is_stopped: bool = field(default=False)

    def start(self, setup: RunSetup) -> None:
        if self.observer is not None:
            self.observer.start(setup)

    def receive(self, events: Sequence[Recorded]) -> None:
        self.is_stopped = self.is_stopped or any(
            isinstance(recorded.event, StoppingEvent) for recorded in events
        )
        if self.observer is not None:
            self.observer.receive(events)

    def refresh(self) -> None:
        if self.observer is not None:
            self.observer.refresh()

    def show_stop(self, times: int) -> None:
        if self.observer is not None:
            self.observer.show_stop(times)
