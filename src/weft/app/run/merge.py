"""`weft merge`: what is held is tried again, by whoever runs the plan or, if nobody does, here and now.

One process at a time may work in a project, and who that is can change at any moment: a run ends while it is
asked, or begins just before we would. So we look again until all that is wanted has been tried. Whether anybody is
there the lock of the journal tells: a process that has ended its run may live on, as when it asks a person.

A request always gets an answer. What is not tried, because its subplan is paused or because nothing in the run
moves without a person, is not waited for; it stays held. A coordinator that takes up no requests is reported.
"""

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import anyio
from msgspec import Struct
from msgspec.structs import replace

from weft.app.control.control import PATIENCE as TAKEN_WITHIN
from weft.app.control.control import deaf_error
from weft.app.control.holds import MERGES, Holds, Key, ask, held, is_run, key_of, list_held, look
from weft.app.isolation.plan_repository import names_of, repository_of
from weft.app.project.step_limits import refuse_inside_step
from weft.app.record.journal import LOOKS_EVERY, RecordedRun
from weft.app.record.run_plan import plan_of
from weft.app.run.session import RunObserver, RunSession, cause
from weft.app.run.setup import resumed
from weft.app.run.workspaces import WorkspaceFactory
from weft.app.views.rows import HeldWork
from weft.engine.messages.events import Event, Recorded
from weft.engine.messages.facts import Resumed
from weft.engine.messages.run_status import RunState
from weft.errors import WeftError
from weft.plan.compile.compile import compile_plan
from weft.plan.model import Plan
from weft.store.errors import BusyError
from weft.store.lease import take_lock
from weft.store.lock import LOCK_FILE
from weft.store.sqlite import open_journal
from weft.workspaces.git.base.program import Git

PATIENCE = 25
"""So often we look who works in the project before we give up; one that has just begun may not say at once."""
_STANDS_STILL = frozenset({RunState.PAUSED, RunState.WAITING})
"""Nothing happens in such a run before a person does something."""
_PARTS = "@parts"
"""In place of a step: the completed parts of a subplan."""
_OPEN_BEFORE_THE_END = frozenset({"@workspace", "@verify", "@merge"})
"""What is not held any more once its subplan has ended."""
_IDLE = 10
"""After so many looks at a journal that does not change, we look whether anybody is there."""


def merge(
    book: RecordedRun,
    wanted: Sequence[HeldWork],
    audience: RunObserver,
    *,
    now: Sequence[str] = (),
    environ: Mapping[str, str] = os.environ,
    patience: int = PATIENCE,
) -> list[HeldWork]:
    """Has them tried again, and the completed parts of the subplans `now` landed; what of them is held then."""
    refuse_inside_step(book.places.project, "weft merge", environ)
    keys = {key_of(one) for one in wanted}
    for _ in range(patience):
        holds = look(book)
        left = [one for one in list_held(book, holds) if key_of(one) in keys]
        wish = MergeCommand(left, now)
        if not (left or now) or _tried(book, holds, wish, audience, environ):
            return [one for one in held(book) if key_of(one) in keys]
        time.sleep(LOOKS_EVERY)
    raise WeftError(f"another Weft works in {book.places.project}, at what cannot be told; try again later")


class MergeCommand(Struct, frozen=True):
    """What a person asks for."""

    held: Sequence[HeldWork]
    """To be tried again."""
    now: Sequence[str] = ()
    """Subplans whose completed parts are to land."""


def _tried(
    book: RecordedRun, holds: Holds, wish: MergeCommand, audience: RunObserver, environ: Mapping[str, str]
) -> bool:
    """False if that could not be, as somebody else works in the project just now, or did."""
    try:
        _merge_here(book, holds, wish, audience, environ)
    except BusyError:
        if is_run(book, holds):
            return _asked(book, holds, wish, audience)
        if _is_at_another(book, holds):
            raise
        return False
    return True


def _is_at_another(book: RecordedRun, holds: Holds) -> bool:
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


def _asked(book: RecordedRun, holds: Holds, wish: MergeCommand, audience: RunObserver) -> bool:
    """Whether the coordinator has answered; if not, it has left the run."""
    ask(book, wish.held, wish.now)
    waiting, idle = PendingMerges(wish.held, holds, wish.now), 0
    until = time.monotonic() + TAKEN_WITHIN
    for _ in book.looks(follow=True):
        # The state before the events: if there are no new ones, it is the state after the last of those heard.
        state, is_taken = book.state(), not _is_requested(book)
        news = list(book.journal.events(book.run.run, after=waiting.seq))
        audience.hears(news)
        for recorded in news:
            waiting.hear(recorded)
        if waiting.is_over or (is_taken and not news and state in _STANDS_STILL):
            return True
        if not is_taken and time.monotonic() > until:
            raise deaf_error(book)
        idle = 0 if news else idle + 1
        if idle == _IDLE:
            idle = 0
            if _is_free(book):
                return False
    return False


def _is_requested(book: RecordedRun) -> bool:
    """Whether the coordinator has not taken up a merge that was asked for."""
    return any(request.kind == "merge" for request in book.journal.requests(book.run.run))


def _is_free(book: RecordedRun) -> bool:
    """Whether nobody works in the project; whoever has may live on."""
    lock = take_lock(book.places.journal.parent / LOCK_FILE)
    if lock is not None:
        os.close(lock)
    return lock is not None


class PendingMerges:
    """Which of the things that were asked for are to be tried, and have not been yet."""

    def __init__(self, wanted: Iterable[HeldWork], holds: Holds, now: Iterable[str] = ()) -> None:
        """`holds` is what was held before; it is kept up to date with the events."""
        self._now = set(now)
        """Subplans whose completed parts are to land, and the request has not been taken up."""
        self.keys = {key_of(one) for one in wanted}
        self._holds = holds
        self._asked: set[str] = set()
        self._later: dict[Key, Sequence[str]] = {}
        """What was tried, and is tried again as soon as others have landed."""

    @property
    def seq(self) -> int:
        """The number of the last event."""
        return self._holds.seq

    @property
    def is_over(self) -> bool:
        return not self._now and all(self._holds.is_paused(key) for key in self.keys)

    def hear(self, recorded: Recorded) -> None:
        self._holds.hear(recorded)
        event = recorded.event
        key = (event.subplan, event.step)
        if event.kind == "merge_asked":
            self._taken_up(event)
        elif event.kind == "parts" and event.outcome != "started":
            self.keys.discard((event.subplan, _PARTS))
        elif event.kind == "step_finished" and key in self.keys:
            self._finished(key, event)
        elif event.kind == "step_started" and key in self._later:  # with others that hold its work
            del self._later[key]
            self.keys.add(key)
        elif event.kind == "step_cancelled":
            self.keys.discard(key)
        elif event.kind == "subplan_state":  # of what has ended, only a landing is held
            gone = {key for key in self.keys if key[0] == event.subplan and key[1] in _OPEN_BEFORE_THE_END}
            self.keys -= gone - self._holds.found.keys()

    def _taken_up(self, event: Event) -> None:
        path = event.data["subplan"]
        self._asked.add(path)
        if "parts" in event.data and path in self._now:
            self._now.remove(path)
            self.keys.update((part, _PARTS) for part in event.data["parts"])
            self.keys.update((result, "@land") for result in event.data["joins"])

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
    """Passes on what it hears, and knows when all that was wanted has been tried.

    Without a coordinator only merges and landings are tried.
    """

    def __init__(self, wish: MergeCommand, holds: Holds, audience: RunObserver) -> None:
        self._waiting = PendingMerges((one for one in wish.held if one.step in MERGES), holds, wish.now)
        self._audience = audience
        self.begins = audience.begins
        self.looks = audience.looks
        self.stops = audience.stops

    def hears(self, events: Sequence[Recorded]) -> None:
        for one in events:
            self._waiting.hear(one)
        self._audience.hears(events)

    def has_heard_all(self) -> bool:
        return self._waiting.is_over


def _merge_here(
    book: RecordedRun, holds: Holds, wish: MergeCommand, audience: RunObserver, environ: Mapping[str, str]
) -> None:
    journal = open_journal(book.places.journal, now=time.time(), command="weft merge")
    try:
        compiled = compile_plan(plan_of(book))
        workplaces = WorkspaceFactory(compiled.plan, book.places, Path(book.run.directory), environ)
        ask(book, wish.held, wish.now)
        begun, engine, first = resumed(book.run, compiled, journal, workplaces)
        assert isinstance(first, Resumed)
        listener = _Listener(wish, holds, audience)
        listener.begins(begun)

        def is_enough() -> bool:
            stands_still = engine.state in _STANDS_STILL and not _is_requested(book)
            return listener.has_heard_all() or stands_still

        stage = RunSession(begun, engine, journal, listener, environ, enough=is_enough)
        anyio.run(stage.play, replace(first, merges_only=True), False)
    except BaseExceptionGroup as group:
        raise cause(group) from None
    finally:
        journal.close()
