"""`weft run`: a plan from its file to its end, or on from where an earlier run of it got to.

A run that was stopped, or whose coordinator died, goes on if the plan still says the same. After one that ended,
or if the plan was changed, a new run begins; what an earlier one completed, and the plan has not changed since,
counts as completed.
"""

import os
import time
from collections.abc import Mapping, Sequence

import anyio

from weft.app.history.completed_work import kept_of
from weft.app.history.earlier_runs import earlier_runs
from weft.app.project import plans
from weft.app.project.places import Places, project_of
from weft.app.project.step_limits import refuse_inside_step
from weft.app.run.replacement import settle
from weft.app.run.selection import SubplanChoice, choose
from weft.app.run.session import RunObserver, RunSession, cause
from weft.app.run.setup import RunRequest, begin, refuse, replaced_run
from weft.garbage import without_gc
from weft.hosts.supervisor.spawn import close_memory
from weft.plan.compile.compile import compile_plan
from weft.plan.model import Plan
from weft.store.sqlite import SqliteJournal, open_journal


def run_plan(wish: RunRequest, audience: RunObserver, *, environ: Mapping[str, str] = os.environ) -> str:
    """Runs a plan; how it ended: completed, failed, stopped, waiting or, if a person would not wait, left."""
    refuse_inside_step(plans.folder_of(wish.source), "weft run", environ)
    with without_gc():
        whole = plans.load(wish.source, flags=wish.flags, environ=environ)
        refuse(compile_plan(choose(whole, wish.ids)[0]))
    places = project_of(plans.folder_of(wish.source))
    _approved(whole, places, environ)
    places.make()
    close_memory()  # its environment holds all keys of the user, and steps run as the same user
    journal = open_journal(places.journal, now=time.time(), command="weft run")
    try:
        with without_gc():
            plan, choice = _chosen(wish, whole, journal)
            last = replaced_run(wish, plan, journal, environ, choice)
        if last is not None:
            state = settle(last, whole, places=places, journal=journal, audience=audience, environ=environ)
            if state:
                return state
            plan, choice = _chosen(wish, whole, journal)
        with without_gc():
            compiled = compile_plan(plan)
            begun, engine, first = begin(wish, compiled, places, journal, environ, choice)
        audience.begins(begun)
        if first is None:
            return "completed"
        stage = RunSession(begun, engine, journal, audience, environ)
        return anyio.run(stage.play, first, wish.waits)
    except BaseExceptionGroup as group:
        raise cause(group) from None
    finally:
        journal.close()


def _chosen(wish: RunRequest, whole: Plan, journal: SqliteJournal) -> tuple[Plan, SubplanChoice]:
    """What is wanted of the plan, with what is complete in groups of which something is wanted."""
    completed: Sequence[str] = ()
    if wish.ids and not wish.fresh:
        completed = kept_of(whole, journal, earlier_runs(journal, whole.id)).paths
    return choose(whole, wish.ids, completed)


def _approved(plan: Plan, places: Places, environ: Mapping[str, str]) -> None:
    """Raises `NotApprovedError` if the project's configuration has something that the user has to approve."""
    layer = plans.project_layer(plan)
    if layer is not None:
        from weft.app.project import approval  # noqa: PLC0415 - most projects have no configuration

        approval.require(layer, places.project, environ, user=plans.user_layer(plan))
