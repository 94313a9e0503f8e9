"""The list of runs of a project."""

import os
from collections.abc import Mapping
from pathlib import Path

from weft.app.inspect.overview import overview
from weft.app.project.places import PLAN_NAMES, absolute, find_used_project, project_of
from weft.app.read_model.run_forecast import run_forecast
from weft.app.read_model.run_shapes import RunForecast, RunList, RunRow
from weft.app.record.journal import RecordedRun, open_book
from weft.app.record.subplan_journal import SubplanJournal
from weft.engine.messages.event_codec import kinds_of
from weft.engine.messages.events import RunFinishedEvent
from weft.errors import InputError
from weft.terms import AT_REST

MOST_RUNS = 100
_ENDS = kinds_of(RunFinishedEvent)


class RunLister:
    """Lists runs, and remembers those that are over: their rows do not change."""

    def __init__(self, directory: Path, *, read_only: bool = False) -> None:
        self._directory = directory
        self._read_only = read_only
        self._rows: dict[str, RunRow] = {}

    def newest(self, environ: Mapping[str, str] = os.environ) -> RunList:
        """Returns the newest runs of the project."""
        try:
            with open_book(self._directory, environ=environ) as last:
                records = last.journal.runs()
                rows = [
                    self._row(RecordedRun(last.places, last.journal, record))
                    for record in records[:MOST_RUNS]
                ]
                return self._answer(last.places.project, rows, len(records) - len(rows))
        except InputError:
            if _has_journal(self._directory):
                raise
            return self._answer(project_of(absolute(self._directory)).project, [], 0)

    def _answer(self, project: Path, rows: list[RunRow], more: int) -> RunList:
        has_plan = any((self._directory / name).exists() for name in PLAN_NAMES)
        return RunList(
            project=project.name,
            read_only=self._read_only,
            runs=rows,
            more=more,
            start_command="weft start" if has_plan or rows else "weft init",
        )

    def _row(self, recorded_run: RecordedRun) -> RunRow:
        record = recorded_run.run
        row = self._rows.get(record.run)
        if row is None or row.state != record.state:
            row = run_row(recorded_run, run_forecast(recorded_run.places, record.run))
            if record.state in AT_REST:
                self._rows[record.run] = row
        return row


def _has_journal(directory: Path) -> bool:
    try:
        return find_used_project(absolute(directory)).journal.exists()
    except InputError:
        return False


def run_row(recorded_run: RecordedRun, forecast: RunForecast | None = None) -> RunRow:
    """Returns the row of a run."""
    record = recorded_run.run
    now = overview(recorded_run)
    ended_at = _ended_at(recorded_run) if record.state in AT_REST else None
    return RunRow(
        run=record.run,
        plan=record.plan,
        state=now.state,
        is_active=now.coordinator is not None
        and now.coordinator.alive
        and now.state not in AT_REST
        and now.is_last,
        created_at=record.created_at,
        ended_at=ended_at,
        seconds=None if ended_at is None else ended_at - record.created_at,
        slices=sum(now.counts.values()),
        counts=now.counts,
        cost=now.cost,
        unknown_costs=now.unknown,
        tokens=now.tokens,
        forecast=forecast,
    )


def _ended_at(recorded_run: RecordedRun) -> float | None:
    assert not isinstance(recorded_run.journal, SubplanJournal), "a step has no page"
    ends = [
        glimpse.at
        for glimpse in recorded_run.journal.notable_events(recorded_run.run.run)
        if glimpse.kind in _ENDS
    ]
    return ends[-1] if ends else None
