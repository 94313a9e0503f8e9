"""An unfinished run that another one replaces comes to rest first.

A run is replaced if the plan was edited, or other subplans are chosen. Steps of it may still run, or have ended
while no coordinator was there, and agents among them are paid for. So the run continues for a last time, with the
plan that it had: nothing begins in it, agents of subplans that are unchanged come to their end, and all else that
runs is ended. Ends are recorded with their commits and costs as in any run; the next run continues after them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
from msgspec import Struct, field
from msgspec.structs import replace

from weft.app.history.completed_work import changed_paths
from weft.app.project.places import Places
from weft.app.run.session import LEFT, RunObserver, RunSession, RunSetup
from weft.app.run.setup import resumed
from weft.app.run.workspaces import WorkspaceFactory
from weft.engine.engine import Engine
from weft.engine.messages.events import Recorded
from weft.engine.messages.facts import Resumed
from weft.engine.messages.orders import Launch
from weft.garbage import without_gc
from weft.hosts.local import LocalHost
from weft.plan.compile.compile import compile_plan
from weft.plan.loader.load import Surroundings, load_plan
from weft.plan.model import Plan
from weft.ports.host import KnownJobs, Running
from weft.ports.journal import RunRecord
from weft.store.sqlite import SqliteJournal


def settle(
    last: RunRecord,
    plan: Plan,
    *,
    places: Places,
    journal: SqliteJournal,
    audience: RunObserver,
    environ: Mapping[str, str],
) -> str:
    """Brings the run to rest; `plan` is that of the next run. Returns a state if a person stopped it meanwhile."""
    with without_gc():
        before = load_plan(last.text, last.file, surroundings=Surroundings(git=False))
        workplaces = WorkspaceFactory(before, places, Path(last.directory), environ)
        begun, engine, first = resumed(last, compile_plan(before), journal, workplaces)
        ends = changed_paths(before, plan)
    assert isinstance(first, Resumed)
    if not engine.in_flight:
        return ""
    steps = _running(engine, anyio.run(_known, LocalHost(places.host(last.run))), ends)
    begun = replace(begun, settles=steps)
    listener = _Listener(audience if steps else None)
    listener.begins(begun)
    stage = RunSession(begun, engine, journal, listener, environ)
    state = anyio.run(stage.play, replace(first, settles=True, ends=tuple(sorted(ends))), False)
    return state if listener.is_stopped or state == LEFT else ""


async def _known(host: LocalHost) -> KnownJobs:
    try:
        return await host.open()
    finally:
        await host.close()


def _running(engine: Engine, jobs: KnownJobs, ends: frozenset[str]) -> tuple[str, ...]:
    """The agents' steps that come to their end by themselves, as `store/model:code`."""
    running = {tuple(job.split(".")[1:]) for job, state in jobs.items() if isinstance(state, Running)}
    return tuple(
        f"{order.path}:{order.step}"
        for order in engine.in_flight
        if isinstance(order, Launch)
        and order.agent is not None
        and order.path not in ends
        and (str(order.firing), str(order.execution)) in running
    )


class _Listener(Struct):
    """Passes on what it hears, if there is an audience, and knows whether a person has stopped the run."""

    audience: RunObserver | None
    is_stopped: bool = field(default=False)

    def begins(self, begun: RunSetup) -> None:
        if self.audience is not None:
            self.audience.begins(begun)

    def hears(self, events: Sequence[Recorded]) -> None:
        self.is_stopped = self.is_stopped or any(recorded.event.kind == "stopping" for recorded in events)
        if self.audience is not None:
            self.audience.hears(events)

    def looks(self) -> None:
        if self.audience is not None:
            self.audience.looks()

    def stops(self, times: int) -> None:
        if self.audience is not None:
            self.audience.stops(times)
