"""`weft merge` where nobody runs the plan: what is held is tried again here, and nothing else begins."""

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
from msgspec.structs import replace

from weft.app.journals import Book
from weft.app.run_beginning import resumed
from weft.app.run_holds import Held, ask
from weft.app.run_stage import Audience, Stage
from weft.app.run_workspaces import Workplaces
from weft.engine.run.facts import Resumed
from weft.errors import InputError
from weft.plan.compile.compile import compile_plan
from weft.runtime.environment import inside_step
from weft.store.sqlite import open_journal


def merge(
    book: Book, wanted: Sequence[Held], audience: Audience, *, environ: Mapping[str, str] = os.environ
) -> str:
    """Tries them again, here and now; the state of the run then."""
    inside = inside_step(environ)
    if inside is not None:
        raise InputError(f"this is a step of the run of {inside or 'a plan'}, which merges by itself")
    compiled = compile_plan(book.plan())
    workplaces = Workplaces(compiled.plan, book.places, Path(book.run.directory), environ)
    journal = open_journal(book.places.journal, now=time.time(), command="weft merge")
    try:
        ask(book, wanted)
        begun, engine, first = resumed(book.run, compiled, journal, workplaces)
        assert isinstance(first, Resumed)
        audience.begins(begun)
        stage = Stage(begun, engine, journal, audience, environ)
        return anyio.run(stage.play, replace(first, merges_only=True), False)
    finally:
        journal.close()
