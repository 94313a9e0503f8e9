"""What all checks share: where the project is, and what its journal and its supervisors tell, read once."""

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
from weft.app.project.places import PLAN_NAMES, Places, absolute, project_of, used_project
from weft.app.project.plans import load
from weft.app.record.journal import RecordedRun
from weft.app.views.landing import move_of
from weft.app.views.rows import HeldWork
from weft.engine.messages.facts import RunStarted
from weft.engine.messages.run_status import FINISHED
from weft.errors import InputError
from weft.hosts.leftovers import SupervisorRemains, find_supervisors
from weft.plan.model import Plan
from weft.ports.journal import ControlRequest, Holder, RunRecord
from weft.store.health import HealthReader, open_to_examine
from weft.store.lease import busy, is_alive, take_lock
from weft.store.lock import LOCK_FILE

Made = TypeVar("Made")

SETTLING = 60.0
"""Seconds that a coordinator may take until what it goes on with can be told from what it writes."""


class Bounds(Struct, frozen=True, kw_only=True):
    """From where on something is worth a word. Sizes are bytes."""

    space_problem: int = 100 << 20
    space_warning: int = 1 << 30
    inodes_problem: int = 1_000
    inodes_warning: int = 10_000
    logs: int = 5 << 30
    silence: float = 60.0
    """Seconds without a heartbeat, or with something asked and not taken up."""
    lock_age: float = 10.0
    """Seconds: a lock of git's that is younger may be about to go."""
    files_problem: int = 256
    files_warning: int = 1_024
    processes: int = 256
    patience: float = 10.0
    """Seconds for a program to tell its version, and for the journal to be checked."""


class KnownRun(Struct, frozen=True, kw_only=True):
    """A run that the journal knows."""

    record: RunRecord
    command: str
    """What to type to have it go on; empty if it has ended."""
    started: RunStarted | None
    """None: nothing has happened in it."""
    is_led: bool
    """Whether a living coordinator has it."""
    waiting: tuple[ControlRequest, ...] = ()
    """What people have asked for, and nobody has taken up."""

    is_replaced: bool = False
    """Whether a newer run of the same plan has started, so that no command continues this one."""

    @property
    def has_ended(self) -> bool:
        return self.record.state in FINISHED


class JournalFacts(Struct, frozen=True, kw_only=True):
    """What the journal tells."""

    holder: Holder | None = None
    holder_lives: bool = False
    runs: tuple[KnownRun, ...] = ()
    """The newest first."""


class DoctorContext:
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
        self._made: dict[object, object] = {}

    def once(self, make: Callable[["DoctorContext"], Made]) -> Made:
        """What this makes of us, made once for all who ask."""
        if make not in self._made:
            self._made[make] = make(self)
        return cast("Made", self._made[make])

    # --- where it is ---

    @cached_property
    def places(self) -> Places:
        """The nearest project in which something was run; that of the repository if we are in a worktree of it."""
        try:
            return used_project(self.directory)
        except InputError:
            return project_of(self.directory)

    @property
    def is_used(self) -> bool:
        """Whether something was ever run."""
        return os.path.lexists(self.places.journal)

    @property
    def runs_folder(self) -> Path:
        return self.places.weft / "runs"

    # --- what is told ---

    @cached_property
    def told(self) -> JournalFacts:
        """Raises `WeftError` if the journal cannot be read."""
        if not self.is_used:
            return JournalFacts()
        with closing(open_to_examine(self.places.journal)) as journal:
            return _Reading(self, journal).told()

    @cached_property
    def runs(self) -> Mapping[str, KnownRun]:
        return {run.record.run: run for run in self.told.runs}

    @cached_property
    def supervisors(self) -> list[SupervisorRemains]:
        """Those that live, or died without tidying up."""
        return find_supervisors(sorted(self.runs_folder.glob("*/host")))

    def is_led(self, run: str) -> bool:
        """Whether a living coordinator has it."""
        return run in self.runs and self.runs[run].is_led

    def is_at_work(self, run: str) -> bool:
        """Whether something of it may be under way: it is led, or steps of it go on without a coordinator."""
        alone = (one.directory.parent.name for one in self.supervisors if one.is_at_work)
        return self.is_led(run) or run in alone

    def held(self, run: KnownRun) -> list[HeldWork]:
        """What a run holds until a person helps."""
        with self._opened(run) as book:
            return held(book)

    def asks(self, run: KnownRun) -> bool:
        """Whether a run has a question that nobody has answered."""
        with self._opened(run) as book:
            return any(not question.answer for question in open_questions(book))

    def last_landing(self, run: KnownRun) -> str:
        """The commit at which the run last left the target, or found it; empty if that is unknown."""
        with self._opened(run) as book:
            landings = [
                move
                for recorded in book.events()
                if recorded.event.step == "@land" and (move := move_of(recorded.event))
            ]
        if landings:
            return landings[-1].commit
        return run.started.base if run.started is not None else ""

    @contextmanager
    def _opened(self, run: KnownRun) -> Generator[RecordedRun]:
        with closing(open_to_examine(self.places.journal)) as journal:
            yield RecordedRun(self.places, journal, run.record)

    # --- the plan ---

    @cached_property
    def plan_file(self) -> InputSource | None:
        """The plan of a usual name, where we are or at the root of the project; what a worktree has is a copy."""
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
        """Raises `PlanError` if there is one that cannot be read."""
        return None if self.plan_file is None else load(self.plan_file, environ=self.environ)

    def shown(self, path: Path) -> str:
        """As one would type it here."""
        return str(path.relative_to(self.directory) if path.is_relative_to(self.directory) else path)

    # --- mending ---

    @contextmanager
    def alone(self) -> Generator[None]:
        """While no coordinator runs, and none begins."""
        lock = take_lock(self.places.weft / LOCK_FILE)
        if lock is None:
            raise busy(self.places.project, self.told.holder)
        try:
            yield
        finally:
            os.close(lock)


class _Reading(Struct, frozen=True):
    ground: DoctorContext
    journal: HealthReader

    def told(self) -> JournalFacts:
        holder = self.journal.holder()
        # One who mends takes the lease for a moment, too; that is no coordinator.
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
        book = RecordedRun(self.ground.places, self.journal, record)
        return KnownRun(
            record=record,
            command="" if has_ended or is_replaced else book.run_command(),
            started=self._started(record.run),
            is_led=is_led,
            is_replaced=is_replaced,
            waiting=tuple(self.journal.requests(record.run)) if is_led else (),
        )

    def _started(self, run: str) -> RunStarted | None:
        first = self.journal.first_fact(run)
        return first if isinstance(first, RunStarted) else None

    def _leads(self, leader: Holder, record: RunRecord) -> bool:
        """Whoever leads a run has written to it since; or has only just begun, with whichever it is."""
        if self.ground.now - leader.since < SETTLING:
            return True
        last = self.journal.last_event_at(record.run)
        return max(record.created_at, last or 0.0) >= leader.since
