"""Continue an unfinished run with the plan that it was started with, whatever its file says now.

A user who leaves a run to the background expects that run to continue, also if the plan has been edited since or
came from standard input.
"""

import os
import time
from collections.abc import Mapping
from pathlib import Path

import anyio

from weft.app.isolation.sandboxes import refuse_without
from weft.app.project.places import absolute, find_used_project
from weft.app.project.step_limits import refuse_inside_step
from weft.app.run.session import RunObserver, RunSession, first_cause
from weft.app.run.setup import resume_run
from weft.app.run.workspaces import WorkspaceFactory
from weft.errors import InputError
from weft.garbage import without_gc
from weft.hosts.supervisor.spawn import close_memory
from weft.plan.compile.compile import compile_plan
from weft.plan.loader.load import Surroundings, load_plan
from weft.store.sqlite import open_journal
from weft.terms import UNFINISHED


def continue_run(
    run: str, directory: Path, observer: RunObserver, *, environ: Mapping[str, str] = os.environ
) -> str:
    """Continues the run with that id and returns its final state, as `run_plan` does."""
    places = find_used_project(absolute(directory))
    refuse_inside_step(places.project, "weft run", environ)
    close_memory()  # its environment holds all keys of the user, and steps run as the same user
    journal = open_journal(places.journal, now=time.time(), command="weft run")
    try:
        record = journal.record(run)
        if record is None or record.state not in UNFINISHED:
            raise InputError(f"there is no unfinished run {run}; to see the last one, type: weft status")
        with without_gc():
            plan = load_plan(record.text, record.file, surroundings=Surroundings(git=False))
            refuse_without(plan, environ)
            workplaces = WorkspaceFactory(plan, places, Path(record.directory), environ)
            setup, engine, first = resume_run(record, compile_plan(plan), journal, workplaces)
        observer.start(setup)
        return anyio.run(RunSession(setup, engine, journal, observer, environ).run, first, True)
    except BaseExceptionGroup as group:
        raise first_cause(group) from None
    finally:
        journal.close()
