"""A run as a report shows it: what the page would ask the server for, made at one moment.

The details of subplans take most of the room, so only those that failed or need a person have them, and only as
many as the file has room for.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import msgspec

from weft import __version__
from weft.app.forecast.forecast_files import read_outlook
from weft.app.read_model.charts import timeline
from weft.app.read_model.graph import plan_graph
from weft.app.read_model.live_run import LiveRun
from weft.app.read_model.report_shapes import DiffStat, ReportFile, RunReport
from weft.app.read_model.run_forecast import run_forecast
from weft.app.read_model.run_list import run_row
from weft.app.read_model.subplan_detail import subplan_detail
from weft.app.read_model.subplan_shapes import SubplanDetail
from weft.app.read_model.tables import conflict_pairs, cost_tables, pool_tables
from weft.app.report.recorded_changes import count_recorded_changes
from weft.app.views.run_view import RunView
from weft.app.views.snapshot_model import Snapshot
from weft.errors import WeftError
from weft.garbage import without_gc
from weft.plan.order.outline import ROOT

MOST_DETAILS = 200
MOST_DIFFS = 1_000
_MOST_BYTES = 2_500_000
"""Bytes of all details. Logs that cannot be compressed take four thirds of that in the file."""
_LONGEST_PROMPT = 20_000
"""Characters."""


def run_report(directory: Path, run: str | None, *, environ: Mapping[str, str] = os.environ) -> ReportFile:
    """Returns the report of the run with that id, or of the last one. Raises `InputError` if there is none."""
    with without_gc(), closing(LiveRun(directory, run, environ=environ)) as live:
        places = live.recorded.places
        live.forecast = read_outlook(places, live.id)
        snapshot = live.snapshot()
        return ReportFile(
            version=__version__,
            made_at=time.time(),
            run=RunReport(
                run=run_row(live.recorded, run_forecast(places, live.id)),
                snapshot=snapshot,
                timeline=timeline(live, by_pool=True),
                costs=cost_tables(live),
                pools=pool_tables(live),
                conflicts=conflict_pairs(live),
                graph=plan_graph(live.compiled),
                details=dict(_details(live, snapshot)),
                diffs=list(_diffs(live, environ)),
            ),
        )


def _details(live: LiveRun, snapshot: Snapshot) -> Iterator[tuple[str, SubplanDetail]]:
    """Yields subplans with their details: first those that need a person, then those that failed by themselves."""
    needing = [need.row for need in snapshot.needs]
    failed = [
        row for row, reason in snapshot.subplans.reason.items() if reason not in {"blocked", "cancelled"}
    ]
    room = _MOST_BYTES
    rows = [row for row in dict.fromkeys([*needing, *failed]) if row != ROOT]
    for row in rows[:MOST_DETAILS]:
        detail = subplan_detail(live, row)
        prompt = detail.prompt
        if len(prompt) > _LONGEST_PROMPT:
            detail = msgspec.structs.replace(detail, prompt=f"{prompt[:_LONGEST_PROMPT]} …")
        room -= len(msgspec.json.encode(detail))
        if room < 0:
            return
        yield detail.path, detail


def _diffs(live: LiveRun, environ: Mapping[str, str]) -> Iterator[DiffStat]:
    try:
        sizes = count_recorded_changes(live.recorded, live.view.plan, MOST_DIFFS, environ=environ)
    except (WeftError, OSError):
        # Such as a repository that has been removed, or a machine without git. The rest is in the journal.
        return
    for path, size in sizes.items():
        if size.files:
            yield DiffStat(
                path=path,
                files=size.files,
                added=size.added,
                removed=size.removed,
                commit=landed_commit(live.view, path),
            )


def landed_commit(view: RunView, path: str) -> str:
    """Returns the commit with which a subplan, or a group around it, has landed; empty if none has."""
    row = view.row(path).number
    for number in (row, *view.groups_around(row)):
        landed = view.landings_by_path.landed.get(view.outline.paths[number])
        if landed is not None:
            return landed.commit
    return ""
