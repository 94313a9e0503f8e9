"""`weft merge`: what is held is tried again, by whoever runs the plan or, if nobody does, here and now.

One process at a time may work in a project, and who that is can change at any moment: a run ends while it is
asked, or begins just before we would. So we look again until all that is wanted has been tried. Whether anybody is
there the lock of the journal tells: a process that has ended its run may live on, as when it asks a person.
"""

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import anyio
from msgspec.structs import replace

from weft.app.journals import LOOKS_EVERY, Book
from weft.app.run_beginning import resumed
from weft.app.run_holds import Holds, Key, ask, held, is_run, key_of, list_held, look
from weft.app.run_plans import plan_of
from weft.app.run_repository import names_of, repository_of
from weft.app.run_rows import Held
from weft.app.run_stage import Audience, Stage, cause
from weft.app.run_workspaces import Workplaces
from weft.app.step_limits import refuse_inside_step
from weft.engine.run.events import Event, Recorded
from weft.engine.run.facts import Resumed
from weft.errors import WeftError
from weft.plan.compile.compile import compile_plan
from weft.plan.model import Plan
from weft.store.errors import BusyError
from weft.store.lease import take_lock
from weft.store.lock import LOCK_FILE
from weft.store.sqlite import open_journal
from weft.workspaces.git.program import Git

PATIENCE = 25
"""So often we look who works in the project before we give up; one that has just begun may not say at once."""


_IDLE = 10
"""After so many looks at a journal that does not change, we look whether anybody is there."""


def merge(
    book: Book,
    wanted: Sequence[Held],
    audience: Audience,
    *,
    environ: Mapping[str, str] = os.environ,
    patience: int = PATIENCE,
) -> list[Held]:
    """Has them tried again; what of them is held then."""
    refuse_inside_step(book.places.project, "weft merge", environ)
    keys = {key_of(one) for one in wanted}
    for _ in range(patience):
        holds = look(book)
        left = [one for one in list_held(book, holds) if key_of(one) in keys]
        if not left or _tried(book, holds, left, audience, environ):
            return [one for one in held(book) if key_of(one) in keys]
        time.sleep(LOOKS_EVERY)
    raise WeftError(f"another Weft works in {book.places.project}, at what cannot be told; try again later")


def _tried(
    book: Book, holds: Holds, wanted: Sequence[Held], audience: Audience, environ: Mapping[str, str]
) -> bool:
    """False if that could not be, as somebody else works in the project just now, or did."""
    try:
        _merge_here(book, wanted, audience, environ)
    except BusyError:
        if is_run(book, holds):
            return _asked(book, holds.seq, wanted, audience)
        if _is_at_another(book, holds):
            raise
        return False
    return True


def _is_at_another(book: Book, holds: Holds) -> bool:
    """Whether whoever works in the project has written to another run than this."""
    holder = book.journal.holder()
    others = (one.run for one in book.journal.runs() if one.run != book.run.run)
    newer = (one for run in others for one in book.journal.events(run, after=holds.seq))
    return holder is not None and any(one.at >= holder.since for one in newer)


def changed_files(
    plan: Plan, folder: Path, paths: Iterable[str], *, environ: Mapping[str, str] = os.environ
) -> dict[str, int]:
    """How many files each subplan has changed; of none if git does not say."""
    try:
        git, names = repository_of(plan, folder, environ).git, names_of(plan)
        return {path: _changed(git, names.start(path), names.head(path)) for path in paths}
    except WeftError:
        return {}


def _changed(git: Git, start: str, head: str) -> int:
    return len(git.fields("diff-tree", "-r", "-z", "--name-only", "--no-renames", start, head))


# By whoever runs the plan


def _asked(book: Book, after: int, wanted: Sequence[Held], audience: Audience) -> bool:
    """Whether all of it has been tried; if not, whoever ran the plan does not any more."""
    ask(book, wanted)
    waiting, idle = Waiting(wanted), 0
    for is_news in book.looks(follow=True):
        idle = 0 if is_news else idle + 1
        for one in book.journal.events(book.run.run, after=after) if is_news else ():
            after = one.seq
            audience.hears([one])
            waiting.hear(one.event)
        if not waiting.keys:
            return True
        if idle == _IDLE:
            idle = 0
            if _is_free(book):
                return False
    return False


def _is_free(book: Book) -> bool:
    """Whether nobody works in the project; whoever has may live on."""
    lock = take_lock(book.places.journal.parent / LOCK_FILE)
    if lock is not None:
        os.close(lock)
    return lock is not None


class Waiting:
    """Which of the things that were asked for have not been tried yet."""

    def __init__(self, wanted: Iterable[Held]) -> None:
        self.keys = {key_of(one) for one in wanted}
        self._asked: set[str] = set()
        self._later: dict[Key, Sequence[str]] = {}
        """What was tried, and is tried again as soon as others have landed."""

    def hear(self, event: Event) -> None:
        key = (event.subplan, event.step)
        if event.kind == "merge_asked":
            self._asked.add(event.data["subplan"])
        elif event.kind == "step_finished" and key in self.keys:
            self._finished(key, event)

    def _finished(self, key: Key, event: Event) -> None:
        if event.outcome == "held" and event.subplan not in self._asked:
            return  # somebody had asked for it before us
        self.keys.discard(key)
        if event.outcome == "held":
            self._later[key] = event.data.get("waits_for", ())
        elif event.step == "@land" and event.outcome == "done":
            again = [other for other, waits_for in self._later.items() if event.subplan in waits_for]
            for other in again:
                del self._later[other]
            self.keys.update(again)


# Here


class _Listener:
    """Passes on what it hears, and knows when all that was wanted has been tried."""

    def __init__(self, wanted: Iterable[Held], audience: Audience) -> None:
        self._waiting = Waiting(wanted)
        self._audience = audience
        self.begins = audience.begins
        self.looks = audience.looks
        self.stops = audience.stops

    def hears(self, events: Sequence[Recorded]) -> None:
        for one in events:
            self._waiting.hear(one.event)
        self._audience.hears(events)

    def has_heard_all(self) -> bool:
        return not self._waiting.keys


def _merge_here(book: Book, wanted: Sequence[Held], audience: Audience, environ: Mapping[str, str]) -> None:
    journal = open_journal(book.places.journal, now=time.time(), command="weft merge")
    try:
        compiled = compile_plan(plan_of(book))
        workplaces = Workplaces(compiled.plan, book.places, Path(book.run.directory), environ)
        ask(book, wanted)
        begun, engine, first = resumed(book.run, compiled, journal, workplaces)
        assert isinstance(first, Resumed)
        listener = _Listener(wanted, audience)
        listener.begins(begun)
        stage = Stage(begun, engine, journal, listener, environ, enough=listener.has_heard_all)
        anyio.run(stage.play, replace(first, merges_only=True), False)
    except BaseExceptionGroup as group:
        raise cause(group) from None
    finally:
        journal.close()
