"""The spending of a run by agent, model, group and slice; the use of its pools; its conflicts."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from weft.app.read_model.history import ExecutionRecord
from weft.app.read_model.live_run import LiveRun
from weft.app.read_model.run_shapes import (
    ConflictPair,
    Conflicts,
    CostPoint,
    CostRow,
    CostTables,
    PoolHolder,
    Pools,
    PoolTable,
)
from weft.app.views.run_view import RunView
from weft.app.views.snapshot import run_costs
from weft.plan.order.outline import ROOT

_MOST_POINTS = 500
_MOST_SLICES = 200


def cost_tables(live: LiveRun) -> CostTables:
    """Returns the spending of a run."""
    live.catch_up()
    view, records = live.view, [*live.history.executions.values()]
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
    """Returns the use of `max_parallel`, of each agent with a limit and of each pool."""
    live.catch_up()
    plan = live.view.plan
    tables = [_table(live, "max_parallel", plan.scopes[ROOT].settings.max_parallel or 0, _slots(live))]
    records = [*live.history.executions.values()]
    for agent in plan.agents.values():
        if agent.pool is not None:
            calls: Uses = [(record, ("",)) for record in records if record.agent == agent.name]
            tables.append(_table(live, f"agents.{agent.name}", agent.pool, calls))
    for pool in plan.pools.values():
        uses = [(record, record.pools[pool.name]) for record in records if pool.name in record.pools]
        tables.append(_table(live, f"pools.{pool.name}", pool.size, uses))
    return Pools(pools=tables)


Uses = list[tuple[ExecutionRecord, tuple[str, ...]]]


def _slots(live: LiveRun) -> Uses:
    """Returns the executions of slices; each holds the slot of its slice."""
    leaves = live.view.outline.leaves
    return [(record, ("",)) for record in live.history.executions.values() if leaves[record.row]]


def _table(live: LiveRun, name: str, size: int, uses: Uses) -> PoolTable:
    start = live.recorded.run.created_at
    now = live.context().now if live.is_active() else max(live.view.at, start)
    paths = live.view.outline.paths
    changes: dict[float, int] = {}
    for record, items in uses:
        end = now if record.ended_at is None else record.ended_at
        changes[record.started_at] = changes.get(record.started_at, 0) + len(items)
        changes[end] = changes.get(end, 0) - len(items)
    history, busy = _history(changes)
    open_uses = [(record, items) for record, items in uses if record.ended_at is None]
    return PoolTable(
        name=name,
        size=size,
        in_use=sum(len(items) for _, items in open_uses),
        holders=[
            PoolHolder(
                path=paths[record.row],
                step=record.step,
                items=[item for item in items if item],
                since=record.started_at,
            )
            for record, items in open_uses
        ],
        used=min(1.0, busy / (size * (now - start))) if size and now > start else 0.0,
        history=history,
    )


def _history(changes: Mapping[float, int]) -> tuple[list[tuple[float, int]], float]:
    """Returns how many were in use from when on, and the sum of the times in use."""
    history: list[tuple[float, int]] = []
    in_use, busy, before = 0, 0.0, 0.0
    for at in sorted(changes):
        busy += in_use * (at - before)
        in_use, before = in_use + changes[at], at
        history.append((round(at, 1), in_use))
    step = max(1, -(-len(history) // _MOST_POINTS))
    return history[::step], busy


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
