"""The timeline of a run: what each subplan did when, and what it waited for."""

from bisect import bisect_right
from collections.abc import Iterator

from msgspec import Struct, field

from weft.app.read_model.chart_shapes import Bars, ChromeTrace, Timeline, TimelineLane, Tone
from weft.app.read_model.execution_table import ExecutionRecord
from weft.app.read_model.history import ready_at
from weft.app.read_model.live_run import LiveRun
from weft.app.views.run_view import RunView
from weft.engine.messages.internal_steps import MERGES
from weft.terms import AT_REST

TONES: tuple[Tone, ...] = ("dependency", "pool", "person", "running", "landing")
_LEAST = 0.05
"""Seconds; a shorter wait is no wait."""


class _Columns(Struct):
    """The bars so far."""

    start: float
    """The start of the run."""
    labels: dict[str, int] = field(default_factory=dict[str, int])
    row: list[int] = field(default_factory=list[int])
    begin: list[float] = field(default_factory=list[float])
    end: list[float] = field(default_factory=list[float])
    tone: list[int] = field(default_factory=list[int])
    label: list[int] = field(default_factory=list[int])
    attempt: list[int] = field(default_factory=list[int])
    bad: list[int] = field(default_factory=list[int])

    def add(self, row: int, begin: float, end: float, tone: Tone) -> None:
        """Adds a wait, if it is long enough to be one."""
        if end - begin > _LEAST:
            self._add(row, begin, end, tone, -1, 0)

    def add_execution(self, record: ExecutionRecord, begin: float, end: float) -> None:
        label = self.labels.setdefault(record.step, len(self.labels))
        if record.is_bad:
            self.bad.append(len(self.row))
        self._add(
            record.row, begin, end, "landing" if record.step in MERGES else "running", label, record.attempt
        )

    def _add(self, row: int, begin: float, end: float, tone: Tone, label: int, attempt: int) -> None:
        self.row.append(row)
        self.begin.append(round(begin - self.start, 1))
        self.end.append(round(end - self.start, 1))
        self.tone.append(TONES.index(tone))
        self.label.append(label)
        self.attempt.append(attempt)


def timeline(live: LiveRun, *, by_pool: bool = False) -> Timeline:
    """Returns the timeline of a run."""
    context = live.context()
    is_over = live.state in AT_REST
    # Without a coordinator no time passes for the run.
    now = context.now if context.is_active else max(live.view.at, context.created_at)
    columns = _Columns(start=context.created_at)
    for row in range(len(live.view.rows)):
        _add_bars(live, row, now, columns)
    return Timeline(
        seq=live.view.seq,
        started_at=context.created_at,
        now=round(now - context.created_at, 1),
        is_over=is_over,
        tones=TONES,
        labels=list(columns.labels),
        bars=Bars(
            row=columns.row,
            start=columns.begin,
            end=columns.end,
            tone=columns.tone,
            label=columns.label,
            attempt=columns.attempt,
            is_bad=columns.bad,
        ),
        landed={row: round(at - context.created_at, 1) for row, at in live.history.landed_at.items()},
        critical=critical_chain(live),
        lanes=list(_lanes(live, now)) if by_pool else (),
        forecast=context.forecast,
    )


def _add_bars(live: LiveRun, row: int, now: float, columns: _Columns) -> None:
    view, row_view = live.view, live.view.rows[row]
    records = live.history.of(row)
    is_leaf = view.outline.leaves[row]
    if row_view.carried or (not is_leaf and not records):
        return
    cursor = ready_at(view, row, columns.start, now) if is_leaf else records[0].started_at
    if is_leaf:
        columns.add(row, columns.start, cursor, "dependency")
    for record in records:
        _add_wait(live, row, cursor, record.started_at, columns)
        end = now if record.ended_at is None else record.ended_at
        if end > cursor:
            # Steps that run at once share one row, one after the other.
            columns.add_execution(record, max(cursor, record.started_at), end)
            cursor = end
    if is_leaf and not row_view.state.terminal and cursor < now:
        _add_wait(live, row, cursor, now, columns)


def _add_wait(live: LiveRun, row: int, begin: float, end: float, columns: _Columns) -> None:
    waits = live.history.waits.get(row, ())
    for_person = any(start < end and (stop is None or stop > begin) for start, stop in waits)
    columns.add(row, begin, end, "person" if for_person else "pool")


# The critical chain


def critical_chain(live: LiveRun) -> list[int]:
    """Returns the slices that decided when the run ended, in order: each let the next one start.

    A slice starts when the last of its dependencies has ended, or when another slice has left a place free.
    """
    view, executions = live.view, live.history.executions
    spans = {
        row: (start, live.view.at if end is None else end)
        for row in executions.rows()
        if view.outline.leaves[row]
        for start, end in [executions.span(row)]
    }
    if not spans:
        return []
    ends = sorted((end, row) for row, (_, end) in spans.items())
    chain = [ends[-1][1]]
    while len(chain) < len(spans):
        before = _predecessor(view, chain[-1], spans, ends)
        if before is None or before in chain:
            break
        chain.append(before)
    return chain[::-1]


def _predecessor(
    view: RunView, row: int, spans: dict[int, tuple[float, float]], ends: list[tuple[float, int]]
) -> int | None:
    start = spans[row][0]
    others = [
        leaf
        for group in (row, *view.groups_around(row))
        for other in view.outline.depends_on[group]
        for leaf in range(other, other + view.outline.sizes[other])
        if leaf in spans
    ]
    by_dependency = max(others, key=lambda leaf: spans[leaf][1], default=None)
    position = bisect_right(ends, (start + _LEAST, len(view.rows)))
    by_place = ends[position - 1][1] if position else None
    if by_place == row:
        by_place = None
    if by_dependency is None:
        # A slice that could start at once was not held up by another one.
        return by_place if start - view_start(spans) > 1.0 else None
    if by_place is not None and spans[by_place][1] > spans[by_dependency][1] + 1.0:
        return by_place
    return by_dependency


def view_start(spans: dict[int, tuple[float, float]]) -> float:
    """Returns when the first slice started."""
    return min(start for start, _ in spans.values())


# Pools and traces


def _lanes(live: LiveRun, now: float) -> Iterator[TimelineLane]:
    """Yields what each agent, and each thing of a pool, did."""
    start = live.recorded.run.created_at
    lanes: dict[tuple[str, str], list[tuple[int, float, float]]] = {}
    free: dict[str, list[float]] = {}
    for record in live.history.executions:
        end = now if record.ended_at is None else record.ended_at
        bar = record.row, round(record.started_at - start, 1), round(end - start, 1)
        for pool, items in record.pools.items():
            for item in items:
                lanes.setdefault((pool, item), []).append(bar)
        if record.agent:
            # Calls of an agent have no number, so each takes the first lane that is free.
            ends = free.setdefault(record.agent, [])
            lane = next(
                (number for number, until in enumerate(ends) if until <= record.started_at), len(ends)
            )
            ends[lane : lane + 1] = [end]
            lanes.setdefault((f"agents.{record.agent}", str(lane + 1)), []).append(bar)
    for (pool, token), bars in sorted(lanes.items()):
        yield TimelineLane(pool=pool, token=token, bars=bars)


def chrome_trace(live: LiveRun) -> ChromeTrace:
    """Returns the run for viewers of traces, as Perfetto: a thread for each subplan, a slice for each step."""
    live.catch_up()
    start, paths = live.recorded.run.created_at, live.view.outline.paths
    events: list[dict[str, object]] = [
        {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": live.view.plan.id}}
    ]
    threads: list[dict[str, object]] = [
        {
            "ph": "M",
            "name": "thread_name",
            "pid": 1,
            "tid": row,
            "args": {"name": paths[row] or live.view.plan.id},
        }
        for row in sorted(live.history.executions.rows())
    ]
    events += threads
    for record in live.history.executions:
        end = live.view.at if record.ended_at is None else record.ended_at
        events.append({
            "ph": "X", "name": record.step, "cat": record.action, "pid": 1, "tid": record.row,
            "ts": round((record.started_at - start) * 1e6), "dur": max(0, round((end - record.started_at) * 1e6)),
            "args": {"attempt": record.attempt, "outcome": record.outcome, "agent": record.agent},
        })  # fmt: skip
    return ChromeTrace(traceEvents=events)
