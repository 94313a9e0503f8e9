"""Data that all checks share: the project, and the facts of its journal and supervisors, read once."""

import os
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TypeVar, cast

from msgspec import Struct

from weft.app.control.holds import held
from weft.app.control.questions import open_questions
from weft.app.project.files import InputSource
from weft.app.project.places import PLAN_NAMES, Places, absolute, find_used_project, project_of
from weft.app.project.plans import load
from weft.app.record.journal import RecordedRun
from weft.app.views.landing import move_of
from weft.app.views.rows import HeldWork
from weft.engine.messages.events import MergeEvent, StepFinishedEvent
from weft.engine.messages.facts import RunStarted
from weft.engine.messages.internal_steps import InternalStep
from weft.errors import InputError
from weft.hosts.leftovers import SupervisorRemains, find_supervisors
from weft.plan.model import Plan
from weft.ports.journal import ControlRequest, Holder, RunRecord
from weft.store.health import HealthReader, open_to_examine
from weft.store.lease import busy, is_alive, take_lock
from weft.store.lock import LOCK_FILE
from weft.terms import FINISHED

Value = TypeVar("Value")

SETTLING = 60.0
"""Seconds in which a new coordinator may not have written to its run yet."""


class Bounds(Struct, frozen=True, kw_only=True):
    """The limits at which a check reports something. Sizes are in bytes."""

    space_problem: int = 100 << 20
    space_warning: int = 1 << 30
    inodes_problem: int = 1_000
    inodes_warning: int = 10_000
    logs: int = 5 << 30
    silence: float = 60.0
    """Seconds without a heartbeat, or with a request that is not applied."""
    lock_age: float = 10.0
    """Seconds; a younger lock of git may be in use."""
    files_problem: int = 256
    files_warning: int = 1_024
    processes: int = 256
    patience: float = 10.0
    """Seconds for a program to print its version, and for the check of the journal."""


class KnownRun(Struct, frozen=True, kw_only=True):
    """A run in the journal."""

    record: RunRecord
    command: str
    """The command that resumes it; empty if it has ended."""
    started: RunStarted | None
    """Its first fact; None if nothing has happened in it."""
    is_led: bool
    """Whether a live coordinator runs it."""
    waiting: tuple[ControlRequest, ...] = ()
    """Requests of people that no coordinator has applied."""

    is_replaced: bool = False
    """Whether a newer run of the same plan has started, so that no command continues this one."""

    @property
    def has_ended(self) -> bool:
        return self.record.state in FINISHED


class JournalFacts(Struct, frozen=True, kw_only=True):
    """The runs in the journal and the process that holds it."""

    holder: Holder | None = None
    holder_lives: bool = False
    runs: tuple[KnownRun, ...] = ()
    """The newest first."""


class DoctorContext:
    """The project under examination."""

    def __init__(
        self,
        directory: Path,
        *,
        environ: Mapping[str, str] = os.environ,
        bounds: Bounds = Bounds(),  # noqa: B008 - frozen
    ) -> None:
        self.directory = absolute(directory)
        self.environ = environ
        self.bounds = bounds
        self.now = time.time()
        self._values: dict[object, object] = {}

    def once(self, make: Callable[["DoctorContext"], Value]) -> Value:
        """Returns `make(self)`, computed once for all checks."""
        # Several checks need the same slow facts; the function itself is the key.
        if make not in self._values:
            self._values[make] = make(self)
        return cast("Value", self._values[make])

    # --- the project ---

    @cached_property
    def places(self) -> Places:
        """The nearest project with runs. In a worktree, that is the project of its repository."""
        try:
            return find_used_project(self.directory)
        except InputError:
            return project_of(self.directory)

    @property
    def is_used(self) -> bool:
        """Whether the project has a journal."""
        return os.path.lexists(self.places.journal)

    @property
    def runs_folder(self) -> Path:
        return self.places.weft / "runs"

    # --- the journal and the supervisors ---

    @cached_property
    def journal_facts(self) -> JournalFacts:
        """The facts in the journal. Raises `WeftError` if it cannot be read."""
        if not self.is_used:
            return JournalFacts()
        with closing(open_to_examine(self.places.journal)) as journal:
            return _FactReader(self, journal).read()

    @cached_property
    def runs(self) -> Mapping[str, KnownRun]:
        return {run.record.run: run for run in self.journal_facts.runs}

    @cached_property
    def supervisors(self) -> list[SupervisorRemains]:
        """The supervisors that are alive, or died without cleaning up."""
        return find_supervisors(sorted(self.runs_folder.glob("*/host")))

    def is_led(self, run: str) -> bool:
        """Returns whether a live coordinator runs it."""
        return run in self.runs and self.runs[run].is_led

    def is_at_work(self, run: str) -> bool:
        """Returns whether a coordinator runs it, or steps of it run without a coordinator."""
        alone = (remains.directory.parent.name for remains in self.supervisors if remains.is_at_work)
        return self.is_led(run) or run in alone

    def held(self, run: KnownRun) -> list[HeldWork]:
        """Returns the work that a run holds for a person."""
        with self._open_run(run) as recorded_run:
            return held(recorded_run)

    def asks(self, run: KnownRun) -> bool:
        """Returns whether a run has an unanswered question."""
        with self._open_run(run) as recorded_run:
            return any(not question.answer for question in open_questions(recorded_run))

    def last_landing(self, run: KnownRun) -> str:
        """Returns the commit of the target after the run's last landing, or at its start; empty if unknown."""
        with self._open_run(run) as recorded_run:
            ends = (recorded.event for recorded in recorded_run.events())
            landings = [
                move
                for event in ends
                if isinstance(event, StepFinishedEvent | MergeEvent) and event.step == InternalStep.LAND
                if (move := move_of(event.moves))
            ]
        if landings:
            return landings[-1].commit
        return run.started.base if run.started is not None else ""

    @contextmanager
    def _open_run(self, run: KnownRun) -> Generator[RecordedRun]:
        with closing(open_to_examine(self.places.journal)) as journal:
            yield RecordedRun(self.places, journal, run.record)

    # --- the plan ---

    @cached_property
    def plan_file(self) -> InputSource | None:
        """The plan with a default name, here or at the project's root. A plan in a worktree is only a copy."""
        project = self.places.project
        is_inside = self.directory.is_relative_to(project) and not self.directory.is_relative_to(
            self.places.weft
        )
        for folder in dict.fromkeys((self.directory if is_inside else project, project)):
            for name in PLAN_NAMES:
                if os.path.lexists(folder / name):
                    return InputSource(
                        name=name, directory=folder, holds="plan", label=self.shown(folder / name)
                    )
        return None

    @cached_property
    def plan(self) -> Plan | None:
        """The plan; None if there is none. Raises `PlanError` if it cannot be read."""
        return None if self.plan_file is None else load(self.plan_file, environ=self.environ)

    def shown(self, path: Path) -> str:
        """Returns the path as the user would type it here."""
        return str(path.relative_to(self.directory) if path.is_relative_to(self.directory) else path)

    # --- fixes ---

    @contextmanager
    def alone(self) -> Generator[None]:
        """Holds the coordinator's lock, so that no coordinator runs or starts meanwhile."""
        lock = take_lock(self.places.weft / LOCK_FILE)
        if lock is None:
            raise busy(self.places.project, self.journal_facts.holder)
        try:
            yield
        finally:
            os.close(lock)


class _FactReader(Struct, frozen=True):
    context: DoctorContext
    journal: HealthReader

    def read(self) -> JournalFacts:
        holder = self.journal.holder()
        # A fix takes the lease for a moment, too, and this process is no coordinator.
        lives = holder is not None and holder.pid != os.getpid() and is_alive(holder)
        leader = holder if lives else None
        runs: list[KnownRun] = []
        started: set[str] = set()
        for record in self.journal.runs():
            runs.append(self._run(record, leader, is_replaced=record.plan in started))
            started |= {record.plan} if runs[-1].started is not None else set()
        return JournalFacts(holder=holder, holder_lives=lives, runs=tuple(runs))

    def _run(self, record: RunRecord, leader: Holder | None, *, is_replaced: bool) -> KnownRun:
        has_ended = record.state in FINISHED
        is_led = leader is not None and not has_ended and not is_replaced and self._leads(leader, record)
        recorded_run = RecordedRun(self.context.places, self.journal, record)
        return KnownRun(
            record=record,
            command="" if has_ended or is_replaced else recorded_run.run_command(),
            started=self._start_of(record.run),
            is_led=is_led,
            is_replaced=is_replaced,
            waiting=tuple(self.journal.requests(record.run)) if is_led else (),
        )

    def _start_of(self, run: str) -> RunStarted | None:
        first = self.journal.first_fact(run)
        return first if isinstance(first, RunStarted) else None

    def _leads(self, leader: Holder, record: RunRecord) -> bool:
        """Returns whether the leader runs this run: it has written to it, or has only just started."""
        # A coordinator takes the lease before it writes to its run, so for a moment nothing shows which run it
        # leads. Taking its run for an orphan would offer a fix that destroys it.
        if self.context.now - leader.since < SETTLING:
            return True
        last = self.journal.last_event_at(record.run)
        return max(record.created_at, last or 0.0) >= leader.since
