"""The spending of a run by agent, model, group and slice; the use of its pools; its conflicts."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from weft.app.read_model.execution_table import ExecutionRecord
from weft.app.read_model.live_run import LiveRun
from weft.app.read_model.pool_uses import PoolUses
from weft.app.read_model.run_shapes import (
    ConflictPair,
    Conflicts,
    CostPoint,
    CostRow,
    CostTables,
    Pools,
    PoolTable,
)
from weft.app.views.run_view import RunView
from weft.app.views.snapshot import run_costs
from weft.engine.messages.internal_steps import MERGES
from weft.plan.order.outline import ROOT

_MOST_POINTS = 500
_MOST_SLICES = 200


def cost_tables(live: LiveRun) -> CostTables:
    """Returns the spending of a run."""
    live.catch_up()
    # Most executions are of commands and of Weft's own steps, which cost nothing.
    view = live.view
    records = [
        record
        for record in live.history.executions
        if record.agent or record.cost or record.tokens or record.reserved
    ]
    paths = view.outline.paths
    slices = _rows_by(records, lambda record: (paths[record.row] or view.plan.id,))
    return CostTables(
        costs=run_costs(view),
        points=list(_points(live, records)),
        cone=list(_cone(live)),
        agents=_rows_by(records, lambda record: (record.agent,)),
        models=_rows_by(records, lambda record: (record.model,)),
        groups=_rows_by(records, lambda record: _groups_of(view, record.row)),
        slices=slices[:_MOST_SLICES],
    )


def _groups_of(view: RunView, row: int) -> list[str]:
    """Returns the groups in which a subplan is; a group is in itself."""
    outline = view.outline
    groups = [row, *view.groups_around(row)]
    return [outline.paths[group] for group in groups if group != ROOT and not outline.leaves[group]]


def _rows_by(
    records: list[ExecutionRecord], names_of: Callable[[ExecutionRecord], Sequence[str]]
) -> list[CostRow]:
    """Returns the sums by name, the largest first; steps without a name or a cost are left out."""
    chosen: dict[str, list[ExecutionRecord]] = {}
    for record in records:
        if record.agent or record.cost or record.tokens:
            for name in filter(None, names_of(record)):
                chosen.setdefault(name, []).append(record)
    rows = [
        CostRow(
            name=name,
            cost=sum(record.cost or 0 for record in group),
            tokens=sum(record.tokens or 0 for record in group),
            calls=len(group),
            unknown=sum(record.cost is None and record.ended_at is not None for record in group),
            failed=sum(record.cost or 0 for record in group if record.is_bad),
        )
        for name, group in chosen.items()
    ]
    return sorted(rows, key=lambda row: (-row.cost, row.name))


def _points(live: LiveRun, records: list[ExecutionRecord]) -> Iterator[CostPoint]:
    """Yields the spending over time: at the start, whenever it changes, and now."""
    spent = live.view.charges.earlier.cost
    changes = [(record.started_at, 0, record.reserved) for record in records if record.reserved]
    changes += [
        (record.ended_at, record.cost or 0, -record.reserved)
        for record in records
        if record.ended_at is not None
    ]
    points = [CostPoint(at=live.recorded.run.created_at, spent=spent, reserved=0)]
    reserved = 0
    for at, cost, change in sorted(changes):
        if cost or change:
            spent, reserved = spent + cost, reserved + change
            points.append(CostPoint(at=round(at, 1), spent=spent, reserved=max(0, reserved)))
    step = max(1, -(-len(points) // (_MOST_POINTS - 1)))
    yield from points[:-1:step]
    costs = run_costs(live.view)
    last = max(points[-1].at, live.context().now if live.is_active() else live.view.at)
    yield CostPoint(at=last, spent=costs.spent, reserved=costs.reserved)


def _cone(live: LiveRun) -> Iterator[tuple[float, int, int]]:
    forecast = live.forecast
    if forecast is not None and any(forecast.cost):
        spent = run_costs(live.view).spent
        yield forecast.at, spent, spent
        yield forecast.finish[0], *forecast.cost


def pool_tables(live: LiveRun) -> Pools:
    """Returns the use of each `max_parallel`, of each agent with a limit and of each pool."""
    live.catch_up()
    plan, present = live.view.plan, PoolUses(live)
    tables = [
        _table(live, present, f"{path}.max_parallel".lstrip("."), size, uses)
        for path, size, uses in _slots(live)
    ]
    agents: dict[str, list[Use]] = {
        agent.name: [] for agent in plan.agents.values() if agent.pool is not None
    }
    pools: dict[str, list[Use]] = {pool: [] for pool in plan.pools}
    for record in live.history.executions:
        if record.agent in agents:
            agents[record.agent].append(Use(record.started_at, record.ended_at))
        for pool, items in record.pools.items():
            if pool in pools:
                pools[pool].append(Use(record.started_at, record.ended_at, len(items)))
    for name, calls in agents.items():
        tables.append(_table(live, present, f"agents.{name}", plan.agents[name].pool or 0, calls))
    for name, uses in pools.items():
        tables.append(_table(live, present, f"pools.{name}", plan.pools[name].size, uses))
    return Pools(pools=tables)


class Use(NamedTuple):
    """A time during which something of a pool is in use."""

    start: float
    end: float | None
    """None if it has not ended."""
    amount: int = 1


def _slots(live: LiveRun) -> Iterator[tuple[str, int, list[Use]]]:
    """Yields the limits on slices: the path of the group, the size, and the times in which slices worked."""
    plan, outline = live.view.plan, live.view.outline
    uses: dict[int, list[Use]] = {
        row: []
        for row, subplan in enumerate(plan.subplans)
        if row == ROOT or ("max_parallel" in subplan.settings and not outline.leaves[row])
    }
    for row in live.history.executions.rows():
        if outline.leaves[row]:
            times = list(_times_at_work(live.history.of(row)))
            for group in live.view.groups_around(row):
                if group in uses:
                    uses[group] += times
    for row, times in uses.items():
        yield outline.paths[row], plan.scopes[row].settings.max_parallel or 0, times


def _times_at_work(records: list[ExecutionRecord]) -> Iterator[Use]:
    """Yields the times in which a slice held its slot: while steps of it ran, one or several at once."""
    start: float | None = None
    end: float | None = 0.0
    for record in records:
        # A slice returns its slot before it is merged.
        if record.step in MERGES:
            continue
        if start is not None and end is not None and record.started_at > end:
            yield Use(start, end)
            start = None
        if start is None:
            start, end = record.started_at, record.ended_at
        elif end is not None:
            end = None if record.ended_at is None else max(end, record.ended_at)
    if start is not None:
        yield Use(start, end)


def _table(live: LiveRun, present: PoolUses, name: str, size: int, uses: list[Use]) -> PoolTable:
    start = live.recorded.run.created_at
    now = live.context().now if live.is_active() else max(live.view.at, start)
    busy = sum(use.amount * ((now if use.end is None else use.end) - use.start) for use in uses)
    return PoolTable(
        name=name,
        size=size,
        in_use=present.in_use(name),
        holders=present.holders(name),
        waiters=present.waiters(name),
        waiting=present.waiting(name),
        used=min(1.0, busy / (size * (now - start))) if size and now > start else 0.0,
        history=_history(uses),
    )


def _history(uses: list[Use]) -> list[tuple[float, int]]:
    """Returns how many were in use from when on."""
    changes: dict[float, int] = {}
    for use in uses:
        changes[use.start] = changes.get(use.start, 0) + use.amount
        if use.end is not None:
            changes[use.end] = changes.get(use.end, 0) - use.amount
    in_use = 0
    history: list[tuple[float, int]] = []
    for at in sorted(changes):
        in_use += changes[at]
        history.append((round(at, 1), in_use))
    step = max(1, -(-len(history) // _MOST_POINTS))
    return history[::step]


def conflict_pairs(live: LiveRun) -> Conflicts:
    """Returns the pairs of subplans that have changed the same files, or are going to."""
    live.catch_up()
    view = live.view
    paths, subplans = view.outline.paths, view.plan.subplans
    pairs = [
        ConflictPair(
            first=paths[first],
            second=paths[second],
            files=files,
            state="conflict"
            if {view.rows[first].landing, view.rows[second].landing} & {"conflict"}
            else "ahead",
            first_title=subplans[first].title,
            second_title=subplans[second].title,
        )
        for (first, second), files in view.landings.ahead.items()
    ]
    return Conflicts(pairs=pairs)
