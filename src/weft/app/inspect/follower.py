"""A run that is followed from its journal: its view is kept up to date by any process, at any time.

A follower never disturbs the coordinator, and needs none: it shows a run whose coordinator was killed as well as
one that has ended. Each update reads only the events after the last one, and stops after a given time, so that a
program with a keyboard answers keys while it reads a long history.
"""

import time
from collections.abc import Iterator
from math import inf
from pathlib import Path

from msgspec import Struct

from weft.app.forecast.forecast_notes import ForecastNotes
from weft.app.project.hosts import records_of
from weft.app.record.activity import AgentOutputs
from weft.app.record.journal import RecordedRun
from weft.app.record.run_plan import plan_of
from weft.app.views.run_view import RunView
from weft.app.views.running_activities import RunningActivities
from weft.engine.messages.events import Recorded
from weft.store.lease import is_alive
from weft.terms import AT_REST, NEEDS_COORDINATOR, RunState

_BATCH = 64
"""Events between two looks at the clock."""


class Attendance(Struct, frozen=True):
    """Whether a coordinator works on a run."""

    pid: int | None = None
    """Of a coordinator that is alive and works on this run."""
    died: int | None = None
    """Of the coordinator that has died without ending the run."""


class RunFollower:
    def __init__(self, recorded_run: RecordedRun) -> None:
        self.recorded_run = recorded_run
        self.view = RunView(plan_of(recorded_run))
        records = records_of(recorded_run.places, recorded_run.run.run)
        self.state: str = recorded_run.run.state
        """A `RunState`, as the journal has it."""
        self.attendance = Attendance()
        self._forecasts = ForecastNotes(recorded_run.places, recorded_run.run.run)
        self._activities = RunningActivities(self.view.plan, recorded_run.places, records)
        self._unread: Iterator[Recorded] | None = self._events()

    @property
    def run(self) -> str:
        return self.recorded_run.run.run

    @property
    def agents(self) -> AgentOutputs:
        return self._activities.outputs

    @property
    def is_reading(self) -> bool:
        """Whether events of the journal have not been applied yet."""
        return self._unread is not None

    @property
    def is_over(self) -> bool:
        return not self.is_reading and self.state in AT_REST

    def now(self) -> float:
        """Returns the time that clocks of the run show: of a run at rest, that of its last event."""
        return self.view.at if self.state in AT_REST else time.time()

    def results(self) -> Path | None:
        """Returns the directory of the combined results; None if there is none."""
        directory = self.recorded_run.places.work(self.view.plan.id) / "_plan"
        return directory if directory.is_dir() else None

    def update(self, seconds: float = inf) -> list[Recorded]:
        """Applies new events for at most so many seconds, and returns those."""
        if self._unread is None and self.recorded_run.journal.changed():
            self._unread = self._events()
        applied: list[Recorded] = []
        if self._unread is not None:
            # Before the events: an event that arrives in between is read with the next change.
            self.state = self.recorded_run.state()
            applied = self._apply(self._unread, time.monotonic() + seconds)
        return applied

    def look_around(self) -> None:
        """Looks at what no event announces: the coordinator, forecasts, and the output of steps."""
        self.attendance = self._attendance()
        self._activities.update(self.view, time.time())
        self._forecasts.update(self.view, time.time())

    def _events(self) -> Iterator[Recorded]:
        return self.recorded_run.journal.events(self.run, after=self.view.seq)

    def _apply(self, unread: Iterator[Recorded], until: float) -> list[Recorded]:
        applied: list[Recorded] = []
        for recorded in unread:
            self.view.apply(recorded.event, recorded.at, recorded.seq)
            applied.append(recorded)
            if len(applied) % _BATCH == 0 and time.monotonic() > until:
                return applied
        self._unread = None
        return applied

    def _attendance(self) -> Attendance:
        if self.state in AT_REST:
            return Attendance()
        holder = self.recorded_run.journal.holder()
        # The lease is one for the whole project. A coordinator writes to its run as soon as it starts, so a lease
        # that is younger than the last event of this run belongs to another run.
        if holder is not None and is_alive(holder):
            return Attendance(pid=holder.pid) if self.view.at >= holder.since else Attendance()
        needs_one = self.state in NEEDS_COORDINATOR
        return Attendance(died=holder.pid) if holder is not None and needs_one else Attendance()


def state_word(follower: RunFollower) -> str:
    """Returns the state of the run in a word or two."""
    view_state = follower.view.state
    if view_state == "stopping" and follower.state == RunState.RUNNING:
        return "stopping"
    return follower.state
