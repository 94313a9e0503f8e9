"""A run that is read from its journal while it runs: its snapshot, and increments as events arrive.

It only reads, so it costs the coordinator nothing. A poll without news is one look at a counter of the database.
The view is folded once; after that an event costs as much as the rows that it changes.
"""

import time
from array import array
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from weft.app.project.hosts import records_of
from weft.app.read_model.history import RunHistory
from weft.app.record.journal import RecordedRun, open_book
from weft.app.record.run_plan import plan_of
from weft.app.views.finish_forecast import FinishForecast
from weft.app.views.needs import needs_of
from weft.app.views.needs_model import Need
from weft.app.views.rows import RunningStep
from weft.app.views.run_view import RunView
from weft.app.views.running_activities import RunningActivities
from weft.app.views.snapshot import RunContext, changed_rows, changes_of, strip_of, take_snapshot
from weft.app.views.snapshot_model import Activity, Increment, Snapshot
from weft.engine.messages.step_refs import ExecutionKey, StepRef
from weft.garbage import without_gc
from weft.ports.host import JobRecords, OutputPart
from weft.runtime.job_ids import output_name
from weft.store.lease import is_alive
from weft.terms import AT_REST

# Most servers are never asked for what waits, and the engine is 3 MB of memory.
if TYPE_CHECKING:
    from weft.app.read_model.engine_copy import EngineCopy, ReadableEngine
    from weft.plan.compile.plan_net import CompiledPlan

TOO_MANY = 5_000
"""A reader that lacks more rows than this reads a snapshot instead."""
_MOST_ACTIVITY = 200
"""Running steps whose output is read at most; no plan should run more at once."""
_NANO = 1e-9


class LiveRun:
    """One run. Any thread may use it, one at a time."""

    def __init__(self, directory: Path, run: str | None, *, environ: Mapping[str, str] | None = None) -> None:
        """Opens the run with that id, or the last one. Raises `InputError` if there is none."""
        self._resources = ExitStack()
        book = open_book(directory, run) if environ is None else open_book(directory, run, environ=environ)
        self.recorded: RecordedRun = self._resources.enter_context(book)
        try:
            with without_gc():
                self.view = RunView(plan_of(self.recorded))
                self.history = RunHistory(self.view)
                self.forecast: FinishForecast | None = None
                self._records: JobRecords = records_of(self.recorded.places, self.id)
                self._activities = RunningActivities(self.view.plan, self.recorded.places, self._records)
                self._changed = array("q", bytes(8 * len(self.view.rows)))
                """The last event that changed each row."""
                self._state = self.recorded.run.state
                self._engine: EngineCopy | None = None
                self.catch_up()
        except BaseException:
            self.close()
            raise

    @property
    def id(self) -> str:
        return self.recorded.run.run

    @property
    def state(self) -> str:
        """The state of the run in the journal."""
        return self._state

    @cached_property
    def compiled(self) -> "CompiledPlan":
        """The net of the plan."""
        from weft.plan.compile.compile import compile_plan  # noqa: PLC0415

        return compile_plan(self.view.plan)

    def engine(self) -> "ReadableEngine | None":
        """Returns the engine in its present state; None if this version cannot derive it from the journal.

        It decides as the coordinator's does, so that it knows what waits. It exists once somebody asks for it.
        """
        from weft.app.read_model.engine_copy import EngineCopy  # noqa: PLC0415

        if self._engine is None:
            self._engine = EngineCopy(self.compiled)
        return self._engine.at(self.recorded.journal.events(self.id, after=self._engine.seq))

    def drop_text(self) -> None:
        """Drops the text of the plan, which can be megabytes. Its plan cannot be read again from `recorded`."""
        self.recorded = replace(self.recorded, run=replace(self.recorded.run, text=""))

    def close(self) -> None:
        self._resources.close()

    # Reading

    def catch_up(self) -> None:
        """Applies new events."""
        for recorded in self.recorded.journal.events(self.id, after=self.view.seq):
            self.view.apply(recorded.event, recorded.at, recorded.seq)
            self.history.apply(recorded.event, recorded.at)
            for row in changed_rows(self.view, recorded.event):
                self._changed[row] = recorded.seq
        self._state = self.recorded.state()

    def is_changed(self) -> bool:
        """Returns whether the journal has changed since the last call."""
        return self.recorded.journal.changed()

    def is_active(self) -> bool:
        """Returns whether a coordinator works on this run."""
        holder = self.recorded.journal.holder()
        # The lease is one for the whole project. A coordinator that holds it works on this run if it has taken the
        # run up after it got the lease, and has not left it.
        return holder is not None and self.history.is_taken_since(holder.since) and is_alive(holder)

    # Answers

    def context(self) -> RunContext:
        """Returns what the view does not know."""
        return RunContext(
            run=self.id,
            state=self._state,
            is_active=self.is_active(),
            created_at=self.recorded.run.created_at,
            now=time.time(),
            forecast=self.forecast if self._state not in AT_REST else None,
        )

    def needs(self, context: RunContext) -> list[Need]:
        return needs_of(self.view, context.now, is_active=context.is_active, state=context.state)

    def snapshot(self) -> Snapshot:
        self.catch_up()
        context = self.context()
        return take_snapshot(self.view, context, self.needs(context), self.activity())

    def increment_since(self, seq: int, last_needs: Sequence[Need] | None = None) -> Increment | None:
        """Returns what has changed after an event; None if that is too much, or there is no such event.

        The needs are left out if they equal `last_needs`.
        """
        self.catch_up()
        rows = self._rows_since(seq)
        if seq > self.view.seq or rows is None:
            return None
        context = self.context()
        needs = self.needs(context)
        return Increment(
            seq=self.view.seq,
            strip=strip_of(self.view, context, needs),
            rows=changes_of(self.view, rows),
            needs=None if needs == last_needs else needs,
        )

    def _rows_since(self, seq: int) -> list[int] | None:
        rows = [row for row, changed in enumerate(self._changed) if changed > seq]
        return None if len(rows) > TOO_MANY else rows

    def activity(self) -> dict[int, Activity]:
        """Returns what each running step does, by row."""
        activity: dict[int, Activity] = {}
        self._activities.update(self.view, time.time())
        for path, step in self.view.under_way():
            row = self.view.row(path).number
            if row in activity or not (step.agent or step.command):
                continue
            activity[row] = self._activity_of(path, step)
            if len(activity) == _MOST_ACTIVITY:
                break
        return activity

    def _activity_of(self, path: str, step: RunningStep) -> Activity:
        key = ExecutionKey(step.firing, step.execution)
        output = output_name(StepRef(path, step.step, step.attempt, key))
        states = [self._records.state(output, part) for part in OutputPart]
        heard = max((state.changed_at * _NANO for state in states if state is not None), default=0.0)
        return Activity(text=step.output, at=round(max(heard, step.started_at), 1))
