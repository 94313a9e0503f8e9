"""`weft merge`: retry held work, in the coordinator of the run or, without one, in this process.

Only one process at a time works in a project, and it can change at any moment: a run ends after the request was
written, or starts just before this process takes the lock. The command therefore repeats until every requested
hold has been retried. The lock of the journal shows whether a coordinator works; its process can outlive its run.

The command always ends. It does not wait for a hold that cannot be retried, because its subplan is paused or the
run waits for a person; that hold stays. It reports a coordinator that does not take up requests.
"""

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import anyio
from msgspec import Struct
from msgspec.structs import replace

from weft.app.control.control import PATIENCE as TAKEN_WITHIN
from weft.app.control.control import unresponsive_error
from weft.app.control.holds import ask, fold_of, held, is_run, list_held
from weft.app.isolation.plan_repository import names_of, repository_of
from weft.app.project.step_limits import refuse_inside_step
from weft.app.record.journal import POLL_INTERVAL, RecordedRun
from weft.app.record.run_plan import plan_of
from weft.app.run.session import RunObserver, RunSession, first_cause
from weft.app.run.setup import resume_run
from weft.app.run.workspaces import WorkspaceFactory
from weft.app.views.holds import MERGES, OPEN_BEFORE_THE_END, Key, key_of
from weft.app.views.rows import HeldWork
from weft.app.views.run_fold import RunFold
from weft.engine.messages import events as kinds
from weft.engine.messages.events import PartsOutcome, Recorded, StepEnd
from weft.engine.messages.facts import Resumed
from weft.engine.messages.internal_steps import InternalStep
from weft.errors import WeftError
from weft.plan.compile.compile import compile_plan
from weft.plan.model import Plan
from weft.store.errors import BusyError
from weft.store.lease import take_lock
from weft.store.lock import LOCK_FILE
from weft.store.sqlite import open_journal
from weft.terms import RunState
from weft.workspaces.git.base.program import Git

PATIENCE = 25
"""Number of tries before the command gives up; a coordinator that has just started has no run for a moment."""
_STANDS_STILL = frozenset({RunState.PAUSED, RunState.WAITING})
"""States in which a run does nothing until a person acts."""
_PARTS = "@parts"
"""Takes the place of a step name and stands for the completed parts of a subplan."""
_IDLE = 10
"""Number of polls without news after which the command checks that the coordinator is still there."""


def merge(
    recorded_run: RecordedRun,
    wanted: Sequence[HeldWork],
    observer: RunObserver,
    *,
    now: Sequence[str] = (),
    environ: Mapping[str, str] = os.environ,
    patience: int = PATIENCE,
) -> list[HeldWork]:
    """Retries the holds `wanted`, lands the completed parts of the subplans `now`; returns what is still held."""
    refuse_inside_step(recorded_run.places.project, "weft merge", environ)
    keys = {key_of(hold) for hold in wanted}
    for _ in range(patience):
        fold = fold_of(recorded_run)
        remaining = [hold for hold in list_held(recorded_run, fold) if key_of(hold) in keys]
        command = MergeCommand(remaining, now)
        if not (remaining or now) or _try_alone(recorded_run, fold, command, observer, environ):
            return [hold for hold in held(recorded_run) if key_of(hold) in keys]
        time.sleep(POLL_INTERVAL)
    raise WeftError(f"another Weft process works in {recorded_run.places.project}; try again later")


class MergeCommand(Struct, frozen=True):
    """The request of a user."""

    held: Sequence[HeldWork]
    """The holds to retry."""
    now: Sequence[str] = ()
    """Subplans with completed parts that are to land."""


def _try_alone(
    recorded_run: RecordedRun,
    fold: RunFold,
    command: MergeCommand,
    observer: RunObserver,
    environ: Mapping[str, str],
) -> bool:
    """Executes the command and returns True; returns False if another process held the project meanwhile."""
    try:
        _merge_here(recorded_run, fold, command, observer, environ)
    except BusyError:
        if is_run(recorded_run, fold):
            return _ask_coordinator(recorded_run, fold, command, observer)
        if _is_at_another(recorded_run, fold):
            raise
        return False
    return True


def _is_at_another(recorded_run: RecordedRun, fold: RunFold) -> bool:
    """Returns whether the process that works in the project has written to a different run."""
    holder = recorded_run.journal.holder()
    # Sequence numbers are shared by all runs of a journal, so events after those of our fold are new whichever run
    # they belong to. One that is not older than the holder's lease was written by the holder.
    other_runs = (record.run for record in recorded_run.journal.runs() if record.run != recorded_run.run.run)
    newer = (recorded for run in other_runs for recorded in recorded_run.journal.events(run, after=fold.seq))
    return holder is not None and any(recorded.at >= holder.since for recorded in newer)


def changed_files(
    plan: Plan, folder: Path, paths: Iterable[str], *, environ: Mapping[str, str] = os.environ
) -> dict[str, int]:
    """Returns the number of files that each subplan has changed; an empty mapping if git cannot count them."""
    try:
        git, names = repository_of(plan, folder, environ).git, names_of(plan)
        # The refs of a slice that was cleaned are gone. The count is only a help for the reader, never a reason to
        # fail.
        return {path: _count_changed(git, names.start(path), names.head(path)) for path in paths}
    except WeftError:
        return {}


def _count_changed(git: Git, start: str, head: str) -> int:
    return len(git.fields("diff-tree", "-r", "-z", "--name-only", "--no-renames", start, head))


# In the coordinator of the run


def _ask_coordinator(
    recorded_run: RecordedRun, fold: RunFold, command: MergeCommand, observer: RunObserver
) -> bool:
    """Sends the command to the coordinator and returns whether it has handled it; if not, it has left the run."""
    ask(recorded_run, command.held, command.now)
    # `fold` is from before the request, so every event that answers the request comes after `waiting.seq`.
    waiting, idle = PendingMerges(command.held, fold, command.now), 0
    until = time.monotonic() + TAKEN_WITHIN
    for _ in recorded_run.poll(follow=True):
        # Read the state before the events: without new events, it is the state after the last event read.
        state, is_taken = recorded_run.state(), not _is_requested(recorded_run)
        news = list(recorded_run.journal.events(recorded_run.run.run, after=waiting.seq))
        observer.receive(news)
        for recorded in news:
            waiting.apply(recorded)
        # A run that stands still does not retry anything before a person acts, so waiting for it would never end.
        if waiting.is_over or (is_taken and not news and state in _STANDS_STILL):
            return True
        if not is_taken and time.monotonic() > until:
            raise unresponsive_error(recorded_run)
        # Taking the lock for a moment could make a coordinator that starts right now fail, so it is tried rarely,
        # and only in silence.
        idle = 0 if news else idle + 1
        if idle == _IDLE:
            idle = 0
            if _is_free(recorded_run):
                return False
    return False


def _is_requested(recorded_run: RecordedRun) -> bool:
    """Returns whether a merge request still waits for the coordinator."""
    return any(request.kind == "merge" for request in recorded_run.journal.requests(recorded_run.run.run))


def _is_free(recorded_run: RecordedRun) -> bool:
    """Returns whether no process holds the project's lock. A former coordinator may still be alive."""
    lock = take_lock(recorded_run.places.journal.parent / LOCK_FILE)
    if lock is not None:
        os.close(lock)
    return lock is not None


class PendingMerges:
    """The requested holds that have not been retried yet."""

    def __init__(self, wanted: Iterable[HeldWork], fold: RunFold, now: Iterable[str] = ()) -> None:
        """`fold` is the state before the request; `apply` keeps it up to date."""
        self._now = set(now)
        """Subplans with completed parts that are to land, until the coordinator takes up the request."""
        self.keys = {key_of(hold) for hold in wanted}
        self._fold = fold
        self._asked: set[str] = set()
        self._later: dict[Key, Sequence[str]] = {}
        """Holds that were retried and wait for these other subplans to land."""

    @property
    def seq(self) -> int:
        """The number of the last event."""
        return self._fold.seq

    @property
    def is_over(self) -> bool:
        holds, control_requests = self._fold.holds, self._fold.control_requests
        # A result that lands at this moment may be the only one that a requested result still waits for. Without
        # waiting for it here, the answer would depend on which of the two events comes first.
        if any(not holds.landing.isdisjoint(waits_for) for waits_for in self._later.values()):
            return False
        return not self._now and all(holds.is_paused(key, control_requests) for key in self.keys)

    def apply(self, recorded: Recorded) -> None:  # noqa: C901 - one case for each class
        event = recorded.event
        self._fold.apply(event, recorded.at, recorded.seq)
        key = (event.subplan, event.step)
        match event:
            case kinds.MergeAskedEvent():
                self._taken_up(event)
            case kinds.PartsEvent():
                if event.outcome is not PartsOutcome.STARTED:
                    self.keys.discard((event.subplan, _PARTS))
            case kinds.StepFinishedEvent():
                if key in self.keys:
                    self._apply_end(key, event)
                if event.step == InternalStep.LAND and event.outcome is StepEnd.DONE:
                    self._unblock(event.subplan)
            case kinds.StepStartedEvent():
                # The queue lands entries that contain each other's work as a unit, so a hold that waited can be
                # retried unasked.
                if key in self._later:  # with others that hold its work
                    del self._later[key]
                    self.keys.add(key)
            case kinds.StepCancelledEvent():
                self.keys.discard(key)
            case kinds.SubplanStateEvent():
                # The end of a subplan settles its holds before the landing, although no step of them ends.
                gone = {key for key in self.keys if key[0] == event.subplan and key[1] in OPEN_BEFORE_THE_END}
                self.keys -= gone - self._fold.holds.known.keys()
            case _:
                kinds.overlook(event)

    def _taken_up(self, event: kinds.MergeAskedEvent) -> None:
        self._asked.add(event.about)
        if event.parts is not None and event.about in self._now:
            self._now.remove(event.about)
            self.keys.update((part, _PARTS) for part in event.parts)
            self.keys.update((result, InternalStep.LAND) for result in event.joins or ())

    def _apply_end(self, key: Key, event: kinds.StepFinishedEvent) -> None:
        # The coordinator was in the middle of a retry when our request arrived; it tries again for us.
        if event.outcome is StepEnd.HELD and event.subplan not in self._asked:
            return  # the retry belongs to an earlier request
        self.keys.discard(key)
        if event.outcome is StepEnd.HELD:
            self._later[key] = event.waits_for

    def _unblock(self, landed: str) -> None:
        """The engine retries what waits for a result that has landed, even if that was not requested here."""
        unblocked = [key for key, waits_for in self._later.items() if landed in waits_for]
        for unblocked_key in unblocked:
            del self._later[unblocked_key]
        self.keys.update(unblocked)


# In this process


class _Listener:
    """An observer that forwards events and knows when every requested hold has been retried.

    Without a coordinator only merges and landings are retried.
    """

    def __init__(self, command: MergeCommand, fold: RunFold, observer: RunObserver) -> None:
        # A hold before the merge ends with steps of the run, which `weft merge` does not start; it stays for `weft
        # run`.
        merges = (hold for hold in command.held if hold.step in MERGES)
        self._waiting = PendingMerges(merges, fold, command.now)
        self._observer = observer
        self.start = observer.start
        self.refresh = observer.refresh
        self.show_stop = observer.show_stop

    def receive(self, events: Sequence[Recorded]) -> None:
        for recorded in events:
            self._waiting.apply(recorded)
        self._observer.receive(events)

    def is_done(self) -> bool:
        return self._waiting.is_over


def _merge_here(
    recorded_run: RecordedRun,
    fold: RunFold,
    command: MergeCommand,
    observer: RunObserver,
    environ: Mapping[str, str],
) -> None:
    journal = open_journal(recorded_run.places.journal, now=time.time(), command="weft merge")
    try:
        # The recorded plan, not the file: the user may have edited the file since the run, and the net must be the
        # one that the recorded facts belong to.
        compiled = compile_plan(plan_of(recorded_run))
        workplaces = WorkspaceFactory(
            compiled.plan, recorded_run.places, Path(recorded_run.run.directory), environ
        )
        ask(recorded_run, command.held, command.now)
        # The request is in the journal before the engine starts, so the coordinator in this process takes it up
        # like any other.
        setup, engine, first = resume_run(recorded_run.run, compiled, journal, workplaces)
        assert isinstance(first, Resumed)
        listener = _Listener(command, fold, observer)
        listener.start(setup)

        def is_enough() -> bool:
            stands_still = engine.state in _STANDS_STILL and not _is_requested(recorded_run)
            return listener.is_done() or stands_still

        session = RunSession(setup, engine, journal, listener, environ, enough=is_enough)
        # `merges_only` keeps the engine from starting steps: the user asked to land what is done, not to resume
        # the run.
        anyio.run(session.run, replace(first, merges_only=True), False)
    except BaseExceptionGroup as group:
        raise first_cause(group) from None
    finally:
        journal.close()
