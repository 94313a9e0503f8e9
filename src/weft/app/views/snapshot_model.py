"""A run as `weft ui`, `weft top` and reports show it: what the strip, the rows and the needs say.

A snapshot has one column for each property of the subplans, because ten thousand records with the names of their
fields would be several times as large. Row 0 is the whole plan. The columns from `path` to `step_total` never
change during a run; a `RowChange` has all others. Times are seconds since 1970, money is in micro-dollars.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from weft.app.views.finish_forecast import FinishForecast
from weft.app.views.needs_model import Need
from weft.app.views.wording.signs import Sign

ShownState = Literal["pending", "running", "completed", "failed", "asking", "held", "conflict"]
"""The key of a sign: the state of a subplan, or why a person is needed."""


class RunCosts(Struct, frozen=True, kw_only=True):
    """The money and tokens of a run. An amount in dollars is in millionths."""

    spent: int
    """What counts against the ceiling: the spending of this run, and of earlier runs since the last reset."""
    earlier: int
    """The part of it that earlier runs have spent."""
    reserved: int
    """Reserved for running steps and for calls that did not report their cost."""
    ceiling: int | None
    unknown: int
    """Agent calls that did not report their cost."""
    tokens: int
    reserved_tokens: int
    token_ceiling: int | None


class Strip(Struct, frozen=True, kw_only=True):
    """The line above everything."""

    run: str
    plan: str
    goal: str
    state: str
    """`pending`, `running`, `stopping`, `stopped`, `completed`, `failed` or `abandoned`."""
    is_active: bool
    """Whether a coordinator runs it now."""
    is_paused: bool
    """Whether a person has paused all of it."""
    started_at: float
    ended_at: float | None
    seconds: float
    """The seconds that it has run, without the time in which it was stopped, at the time `at`."""
    at: float
    costs: RunCosts
    counts: Mapping[str, int]
    """Slices by shown state; of those that have failed, `blocked` and `cancelled` are counted apart."""
    slices: int
    target: str
    """The branch on which results land; empty without one."""
    needs: int
    """How many things need a person."""
    forecast: FinishForecast | None


class SubplanColumns(Struct, frozen=True, kw_only=True):
    """The subplans of a run; entry n of each column belongs to row n."""

    path: Sequence[str]
    parent: Sequence[int]
    """The row of the group around it; -1 for the whole plan."""
    leaf: Sequence[bool]
    """Whether it is a slice."""
    depends_on: Sequence[Sequence[int]]
    """It waits for those of these rows, and of those of the groups around it, that are not completed."""
    step_total: Sequence[int]
    """The steps of its pipeline; 0 for a group."""
    state: Sequence[ShownState]
    reason: Mapping[int, str]
    """Of a failure: `error`, `cancelled`, `blocked` or another one. By row; others have none."""
    step: Mapping[int, str]
    """The running step, by row."""
    step_number: Sequence[int]
    """How many steps of its pipeline have ended."""
    attempt: Mapping[int, int]
    """The attempt of the running step, by row."""
    attempt_limit: Mapping[int, int]
    """The largest number of attempts that the step may have, by row; absent if unknown."""
    since: Sequence[float | None]
    """The start of its step, or the last change of its state."""
    started_at: Sequence[float | None]
    ended_at: Sequence[float | None]
    cost: Sequence[int]
    """With that of its parts."""
    unknown_costs: Mapping[int, int]
    """Agent calls without a known cost, by row."""
    tokens: Sequence[int]
    landing: Mapping[int, str]
    """`unmerged`, `merged` (into its group), `held`, `conflict`, or a place as `landed bd7e5b6`. By row."""
    note: Mapping[int, str]
    """Why it failed, is held, asks or is paused, in one line. By row."""
    carried: Sequence[int]
    """The rows that an earlier run completed."""
    paused: Sequence[int]
    """The rows that a person has paused, frozen or stopped."""


class RowChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A row that has changed. A field that is absent has its default, as in a snapshot."""

    row: int
    state: ShownState = "pending"
    reason: str = ""
    step: str = ""
    step_number: int = 0
    attempt: int = 0
    attempt_limit: int = 0
    since: float | None = None
    started_at: float | None = None
    ended_at: float | None = None
    cost: int = 0
    unknown_costs: int = 0
    tokens: int = 0
    landing: str = ""
    note: str = ""
    carried: bool = False
    paused: bool = False


class Activity(Struct, frozen=True, kw_only=True):
    """What a running step does, as its output shows."""

    text: str
    """One readable line, as `edits src/store.py`."""
    at: float
    """When something was last heard of it."""


class Snapshot(Struct, frozen=True, kw_only=True):
    """A run at one moment."""

    seq: int
    """The last event in it; a stream continues from here."""
    strip: Strip
    needs: Sequence[Need]
    subplans: SubplanColumns
    activity: Mapping[int, Activity]
    """By row, for running steps."""
    signs: Mapping[ShownState, Sign]


class Increment(Struct, frozen=True, kw_only=True):
    """What has changed since the last increment, or since the snapshot."""

    seq: int
    strip: Strip
    rows: Sequence[RowChange]
    needs: Sequence[Need] | None = None
    """All needs; None if they are as before."""


class ActivityUpdate(Struct, frozen=True, kw_only=True):
    """What the running steps do now; it replaces what was known before."""

    activity: Mapping[int, Activity]
