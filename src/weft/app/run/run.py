"""`weft run`: run a plan from its file to its end, or resume an earlier run of it.

A run that was stopped, or that lost its coordinator, resumes if the plan is unchanged. After a finished run, or
with an edited plan, a new run starts; subplans that an earlier run completed and that have not changed since count
as completed.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence

import anyio

from weft.app.history.completed_work import kept_of
from weft.app.history.earlier_runs import earlier_runs
from weft.app.project import plans
from weft.app.project.files import InputSource
from weft.app.project.places import Places, project_of
from weft.app.project.step_limits import refuse_inside_step
from weft.app.run.selection import SubplanChoice, choose
from weft.app.run.session import RunObserver, RunSession, first_cause
from weft.app.run.setup import RunRequest, begin, refuse, replaced_run
from weft.garbage import without_gc
from weft.hosts.supervisor.spawn import close_memory
from weft.plan.compile.compile import compile_plan
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.model import Plan
from weft.store.sqlite import SqliteJournal, open_journal


def run_plan(
    request: RunRequest,
    observer: RunObserver,
    *,
    environ: Mapping[str, str] = os.environ,
    leaves: Callable[[], bool] = lambda: False,
) -> str:
    """Runs a plan; returns its final state: completed, failed, stopped, waiting, or left if the user detached.

    `leaves` returns whether the user wants to leave the run to another coordinator; it is called regularly.
    """
    refuse_inside_step(plans.folder_of(request.source), "weft run", environ)
    with without_gc():
        whole = plans.load(request.source, flags=request.flags, environ=environ)
        # Everything that can be wrong with the plan itself is reported before anything is created on disk.
        checked = _compile_checked(request, whole)
    places = project_of(plans.folder_of(request.source))
    # Before `make` and before the journal: a project that the user does not trust must not even leave a directory
    # behind.
    _require_approval(whole, request.source, places, environ)
    places.make()
    close_memory()  # its environment holds all keys of the user, and steps run as the same user
    journal = open_journal(places.journal, now=time.time(), command="weft run")
    try:
        with without_gc():
            # The selection depends on completed work, so it needs the journal and is computed under its lock.
            plan, choice = _select(request, whole, journal)
            last = replaced_run(request, plan, journal, environ, choice)
        if last is not None:
            from weft.app.run.replacement import settle  # noqa: PLC0415 - rarely needed

            state = settle(last, whole, places=places, journal=journal, observer=observer, environ=environ)
            # The user stopped the old run while it was settled; starting the new one would be the opposite of that
            # wish.
            if state:
                return state
            # Settling may have completed slices that the selection counts.
            plan, choice = _select(request, whole, journal)
        with without_gc():
            compiled = checked if checked.plan is plan else compile_plan(plan)
            setup, engine, first = begin(request, compiled, places, journal, environ, choice)
        observer.start(setup)
        # Earlier runs have completed everything. The observer shows that; no session starts.
        if first is None:
            return "completed"
        session = RunSession(setup, engine, journal, observer, environ, leaves=leaves)
        return anyio.run(session.run, first, request.waits)
    except BaseExceptionGroup as group:
        # Task groups wrap even a single error. The commands know the plain error classes and map them to exit
        # codes.
        raise first_cause(group) from None
    finally:
        journal.close()


def _compile_checked(request: RunRequest, whole: Plan) -> CompiledPlan:
    """Compiles the selected part of a plan. Raises `InputError` if it cannot run."""
    compiled = compile_plan(choose(whole, request.ids)[0])
    refuse(compiled)
    return compiled


def _select(request: RunRequest, whole: Plan, journal: SqliteJournal) -> tuple[Plan, SubplanChoice]:
    """Returns the part of the plan that the user selected, with the completed slices of the groups in it."""
    completed: Sequence[str] = ()
    if request.ids and not request.fresh:
        completed = kept_of(whole, journal, earlier_runs(journal, whole.id)).paths
    # The work may be built on other results that have not landed. They land only in a run that has them.
    names = [*request.ids, *completed] if request.feedback else request.ids
    return choose(whole, names, completed)


def _require_approval(plan: Plan, source: InputSource, places: Places, environ: Mapping[str, str]) -> None:
    """Raises `NotApprovedError` if the project's configuration or the plan needs an approval of the user."""
    layer = plans.project_layer(plan)
    if layer is not None or plan.hosts:
        from weft.app.project import approval  # noqa: PLC0415 - most projects have neither

        approval.require(layer, places.project, environ, user=plans.user_layer(plan))
        approval.require_hosts(plan, source.path, places.project, environ)
