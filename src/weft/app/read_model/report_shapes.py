"""The contents of an HTML file that `weft report` or `weft simulate --html` writes.

The page finds it in `<script type="application/json" id="weft-report">`, or, if it is large, as gzip in base64 in
`<script type="application/gzip" id="weft-report">`.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from weft.app.read_model.chart_shapes import Graph, PlanAnswer, Timeline
from weft.app.read_model.run_shapes import Conflicts, CostTables, Pools, RunRow
from weft.app.read_model.subplan_shapes import SubplanDetail
from weft.app.views.snapshot_model import Snapshot


class DiffStat(Struct, frozen=True, kw_only=True):
    """How much a subplan has changed."""

    path: str
    files: int
    added: int
    removed: int
    commit: str
    """Where it has landed; empty if it has not."""


class RunReport(Struct, frozen=True, kw_only=True):
    """Everything about a run that a report shows."""

    run: RunRow
    snapshot: Snapshot
    timeline: Timeline
    costs: CostTables
    pools: Pools
    conflicts: Conflicts
    graph: Graph
    """Of the whole plan, folded if that is large."""
    details: Mapping[str, SubplanDetail]
    """The subplans that failed or need a person, with the ends of their logs; at most 200."""
    diffs: Sequence[DiffStat]
    """Of subplans that have landed or have work that has not; at most 1,000."""


class ReportFile(Struct, frozen=True, kw_only=True):
    """The contents of the file."""

    weft: Literal[1] = 1
    version: str
    """Of Weft."""
    made_at: float
    run: RunReport | None = None
    plan: PlanAnswer | None = None
    """A simulation."""
