"""Answers that are drawn: the timeline, the graph and the net."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from weft.app.read_model.run_shapes import Forecast
from weft.app.views.finish_forecast import FinishForecast
from weft.app.views.snapshot_model import ShownState

Tone = Literal["dependency", "pool", "person", "running", "landing"]
"""The use of a time: waiting for others, a pool or a person; a step that runs; the way to the target."""


class Bars(Struct, frozen=True, kw_only=True):
    """Bars as columns; entry n of each belongs to bar n. The bars of a row are in order, and do not overlap."""

    row: Sequence[int]
    start: Sequence[float]
    """Seconds since the start of the run."""
    end: Sequence[float]
    """The same; `now` for a bar that has not ended."""
    tone: Sequence[int]
    """An index into `tones`."""
    label: Sequence[int]
    """An index into `labels`: the step; -1 without one."""
    attempt: Sequence[int]
    """Of a step; 0 without one. A bar with 2 or more is a retry."""
    is_bad: Sequence[int]
    """The numbers of the bars whose step failed."""


class TimelineLane(Struct, frozen=True, kw_only=True):
    """What a token of a pool or an agent did: a row of the timeline by pools."""

    pool: str
    token: str
    bars: Sequence[tuple[int, float, float]]
    """Row of the subplan, start and end in seconds since the start of the run."""


class Timeline(Struct, frozen=True, kw_only=True):
    """What happened when."""

    seq: int
    started_at: float
    now: float
    """Seconds since the start, as are all times of bars."""
    is_over: bool
    tones: Sequence[Tone]
    labels: Sequence[str]
    bars: Bars
    landed: Mapping[int, float]
    """When each row has landed on the target."""
    critical: Sequence[int]
    """The rows of the chain that ended last, or will, in order."""
    lanes: Sequence[TimelineLane]
    """With `by=pool`; otherwise empty."""
    forecast: FinishForecast | None


class GraphNode(Struct, frozen=True, kw_only=True):
    """A box of the graph, at a place that the server has chosen."""

    id: str
    kind: Literal["slice", "folded", "frame"]
    """A slice; a box that the slices of a group or of some siblings share; or the frame around a group."""
    path: str
    """The subplan; of siblings that share a box, the first path and the id of the last."""
    label: str
    """As much of the name as has room."""
    note: str
    x: float
    y: float
    width: float
    height: float
    span: tuple[int, int]
    """The first and the last row of the plan that it stands for; their states give its state."""


class GraphEdge(Struct, frozen=True, kw_only=True):
    """An arrow: the second waits for the first."""

    source: str
    target: str
    line: str
    """As the path data of SVG."""
    is_order: bool = False
    """Whether it is for the sake of order only: both change the same files."""
    is_claim: bool = False
    """Of a net: whether a pool gets back what the transition takes."""
    label: str = ""


class Graph(Struct, frozen=True, kw_only=True):
    """What depends on what, with places."""

    width: float
    height: float
    nodes: Sequence[GraphNode]
    edges: Sequence[GraphEdge]
    is_folded: bool
    """Whether several slices share a box."""
    of: str
    """The group that is drawn; empty for the whole plan."""


class NetPlace(Struct, frozen=True, kw_only=True):
    id: str
    label: str
    """As much of the name as has room."""
    x: float
    y: float
    tokens: int
    kind: Literal["place", "pool", "end"]


class NetTransition(Struct, frozen=True, kw_only=True):
    id: str
    label: str
    action: str
    """`agent`, `run`, `merge` and so on; empty for a transition that takes no time."""
    x: float
    y: float
    firing: int
    """How many firings are under way."""


class NetGraph(Struct, frozen=True, kw_only=True):
    """The net of one subplan with its tokens."""

    of: str
    width: float
    height: float
    is_live: bool
    """Whether the tokens are known; otherwise there are none."""
    places: Sequence[NetPlace]
    transitions: Sequence[NetTransition]
    edges: Sequence[GraphEdge]


class CheckSection(Struct, frozen=True, kw_only=True):
    """Lines of `weft check` under one heading."""

    title: str
    lines: Sequence[str]


class PlanAnswer(Struct, frozen=True, kw_only=True):
    """The plan before its start."""

    plan: str
    file: str
    problems: Sequence[str]
    """Why it cannot run; empty if it can."""
    sections: Sequence[CheckSection]
    graph: Graph | None
    forecast: Forecast | None
    """With `simulate=1`."""
    states: Mapping[str, ShownState]
    """Slices that earlier runs have completed, by path."""
    start_command: str


class ChromeTrace(Struct, frozen=True, kw_only=True):
    """A run for Perfetto and other viewers of traces."""

    traceEvents: Sequence[Mapping[str, Any]]  # noqa: N815 - the name in that format
    displayTimeUnit: Literal["ms"] = "ms"  # noqa: N815
