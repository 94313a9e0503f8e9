"""Answers about runs, their events and forecasts. Times are seconds since 1970, money is in micro-dollars."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from weft.app.views.snapshot_model import RunCosts


class RunRow(Struct, frozen=True, kw_only=True):
    """A run in the list of runs."""

    run: str
    plan: str
    state: str
    is_active: bool
    """Whether a coordinator runs it now."""
    created_at: float
    ended_at: float | None
    seconds: float | None
    """How long it took; None if it has not ended."""
    slices: int
    counts: Mapping[str, int]
    """Slices by state."""
    cost: int
    unknown_costs: int
    tokens: int
    forecast: "RunForecast | None"
    """What was to be expected when it started; None if that is unknown."""


class RunForecast(Struct, frozen=True, kw_only=True):
    """The forecast with which a run started, as P50 and P90."""

    seconds: tuple[float, float]
    cost: tuple[int, int]


class RunList(Struct, frozen=True, kw_only=True):
    """The runs of a project, the newest first."""

    project: str
    """The name of its directory."""
    read_only: bool
    """Whether requests that change something are refused."""
    runs: Sequence[RunRow]
    more: int
    """How many older runs there are."""
    start_command: str
    """The command that starts a run here."""


class EventPage(Struct, frozen=True, kw_only=True):
    """Events of the journal, in order."""

    events: Sequence[Mapping[str, Any]]
    """As `weft events --json` prints them."""
    next: int | None
    """The `after` of the next page; None at the end."""
    kinds: Sequence[str]
    """All kinds of events that there are."""


class CostRow(Struct, frozen=True, kw_only=True):
    """The spending of an agent, a model, a group or a slice."""

    name: str
    cost: int
    tokens: int
    calls: int
    unknown: int
    """Calls that did not report their cost."""
    failed: int
    """The part of the cost that went into attempts that failed."""


class CostPoint(Struct, frozen=True, kw_only=True):
    """The spending at one time."""

    at: float
    spent: int
    reserved: int


class CostTables(Struct, frozen=True, kw_only=True):
    """The spending of a run over time, and by agent, model, group and slice."""

    costs: RunCosts
    points: Sequence[CostPoint]
    """At most 500, the last of them now. Spending changes in steps."""
    cone: Sequence[tuple[float, int, int]]
    """Beyond now: time, P50 and P90 of the spending; empty without a forecast."""
    agents: Sequence[CostRow]
    models: Sequence[CostRow]
    groups: Sequence[CostRow]
    slices: Sequence[CostRow]
    """The 200 that cost most."""


class PoolHolder(Struct, frozen=True, kw_only=True):
    """A step that holds something of a pool."""

    path: str
    step: str
    """Empty for a slice that has its slot and runs no step."""
    items: Sequence[str]
    since: float


class PoolWaiter(Struct, frozen=True, kw_only=True):
    """A slice or a step that waits for a pool."""

    path: str
    step: str
    """Empty for a slice that has not started."""
    since: float


class PoolTable(Struct, frozen=True, kw_only=True):
    """The use of a pool."""

    name: str
    """As in the plan: `max_parallel`, `GROUP.max_parallel`, `agents.NAME` or `pools.NAME`."""
    size: int
    in_use: int
    holders: Sequence[PoolHolder]
    """At most 100."""
    waiters: Sequence[PoolWaiter]
    """At most 100, the longest wait first."""
    waiting: int
    """The number of all that wait for it."""
    used: float
    """The share of its capacity that was in use since the start, from 0 to 1."""
    history: Sequence[tuple[float, int]]
    """From when on so many were in use; at most 500 changes."""


class Pools(Struct, frozen=True, kw_only=True):
    pools: Sequence[PoolTable]


class ConflictPair(Struct, frozen=True, kw_only=True):
    """Two subplans that have changed the same files differently, or are going to."""

    first: str
    second: str
    files: Sequence[str]
    state: Literal["ahead", "conflict"]
    """Whether it is expected, or holds the second subplan."""
    first_title: str
    second_title: str


class Conflicts(Struct, frozen=True, kw_only=True):
    pairs: Sequence[ConflictPair]


class WidthAnswer(Struct, frozen=True, kw_only=True):
    """The time that a plan takes with another `max_parallel`."""

    width: int
    seconds: float
    cost: int


class PoolAnswer(Struct, frozen=True, kw_only=True):
    """How busy a limit is, and what one more of it is worth."""

    name: str
    size: int
    used: float
    waiting: float
    """The seconds that work waits for it, in a mean run."""
    saving: float | None
    """Seconds, P50."""


class Forecast(Struct, frozen=True, kw_only=True):
    """A forecast of what is left of a plan or a run."""

    at: float
    """When it was computed; the finish is counted from here."""
    replications: int
    seconds: tuple[float, float, float]
    """P10, P50 and P90."""
    cost: tuple[int, int]
    """P50 and P90."""
    ceiling: int | None
    """What is left of the ceiling."""
    ceiling_share: float
    """The share of runs that the ceiling stops."""
    completed_share: float
    """The share of runs that complete everything."""
    widths: Sequence[WidthAnswer]
    enough: int | None
    """The `max_parallel` beyond which more buys little."""
    limits: Sequence[PoolAnswer]
    chains: Sequence[tuple[str, float]]
    """The chains of slices that end last, and the share of runs in which they do."""
    basis: str
    """What the forecast rests on, in a sentence."""
