"""The snapshot of a run, and the increments that keep it current.

An increment costs as much as the rows that an event can change: its subplan, the groups around it if money was
spent, the results that are verified with it. So it does not depend on the size of the plan. Applying all
increments to a snapshot gives the later snapshot; a test compares the two after every event of random runs.
"""

from collections.abc import Iterable, Iterator, Mapping

from weft.app.views.costs import costs_of
from weft.app.views.finish_forecast import FinishForecast
from weft.app.views.needs_model import Need
from weft.app.views.rows import RowView, RunningStep
from weft.app.views.run_view import RunView
from weft.app.views.snapshot_model import (
    Activity,
    RowChange,
    RunCosts,
    ShownState,
    Snapshot,
    Strip,
    SubplanColumns,
)
from weft.app.views.wording.signs import SIGNS, Sign
from weft.app.views.wording.words import why_held, why_not
from weft.engine.messages.events import (
    AnyEvent,
    ConflictAheadEvent,
    MergeEvent,
    PartsEvent,
    PausedEvent,
    RecoveredEvent,
    ResumedEvent,
    VerifyEvent,
)
from weft.engine.messages.facts import ControlState
from weft.engine.messages.internal_steps import is_internal
from weft.engine.states import SubplanExecutionState as State

SHOWN_SIGNS: Mapping[ShownState, Sign] = {
    "pending": SIGNS["pending"],
    "running": SIGNS["running"],
    "completed": SIGNS["completed"],
    "failed": SIGNS["failed"],
    "asking": SIGNS["asking"],
    "held": SIGNS["held"],
    "conflict": SIGNS["conflict"],
}
_STATES: Mapping[State, ShownState] = {
    State.PENDING: "pending",
    State.RUNNING: "running",
    State.COMPLETED: "completed",
    State.FAILED: "failed",
}
_RESTRAINTS = {ControlState.PAUSE: "paused", ControlState.FREEZE: "frozen", ControlState.STOP: "stopped"}


class RunContext:
    """What a view does not know of its run: facts of the journal and of the machine at one moment."""

    __slots__ = ("created_at", "forecast", "is_active", "now", "run", "state")

    def __init__(
        self,
        *,
        run: str,
        state: str,
        is_active: bool,
        created_at: float,
        now: float,
        forecast: FinishForecast | None = None,
    ) -> None:
        self.run = run
        self.state = state
        """The state of the run in the journal, which knows more than the events: `paused`, `abandoned`."""
        self.is_active = is_active
        self.created_at = created_at
        self.now = now
        self.forecast = forecast


def shown_state(view: RunView, row: RowView) -> ShownState:
    """Returns the sign of a subplan: what a person is needed for, or else its state.

    A group in which nothing is under way has the sign of a part that needs a person.
    """
    row = view.needed_in(row.number) or row
    if row.questions:
        return "asking"
    if row.held is not None and row.held.needs_help:
        return "conflict" if row.held.conflict else "held"
    return _STATES[row.state]


def take_snapshot(
    view: RunView, context: RunContext, needs: list[Need], activity: Mapping[int, Activity] | None = None
) -> Snapshot:
    """Returns everything about the run."""
    return Snapshot(
        seq=view.seq,
        strip=strip_of(view, context, needs),
        needs=needs,
        subplans=columns_of(view),
        activity=activity or {},
        signs=SHOWN_SIGNS,
    )


# The strip


def strip_of(view: RunView, context: RunContext, needs: list[Need]) -> Strip:
    """Returns the line above everything."""
    now = context.now if context.is_active or view.ended_at is None else view.ended_at
    return Strip(
        run=context.run,
        plan=view.plan.id,
        goal=view.plan.goal or "",
        state=context.state,
        is_active=context.is_active,
        is_paused=view.control_requests.of("") is not ControlState.GO,
        started_at=context.created_at,
        ended_at=view.ended_at,
        # Without a coordinator no time passes for the run; its last event was the last sign of it.
        seconds=round(view.elapsed(now if context.is_active else max(view.at, context.created_at)), 1),
        at=context.now,
        costs=run_costs(view),
        counts=_counts(view),
        slices=sum(view.counts.values()),
        target=view.landings.target,
        needs=sum(need.is_urgent for need in needs),
        forecast=context.forecast,
    )


def run_costs(view: RunView) -> RunCosts:
    """Returns the money and tokens of a run."""
    costs = costs_of(view)
    return RunCosts(
        spent=costs.counted,
        earlier=costs.earlier,
        reserved=costs.reserved + costs.unreported,
        ceiling=costs.ceiling,
        unknown=costs.unknown + costs.earlier_unknown,
        tokens=costs.counted_tokens,
        reserved_tokens=costs.reserved_tokens + costs.unreported_tokens,
        token_ceiling=costs.token_ceiling,
    )


def _counts(view: RunView) -> dict[str, int]:
    """Returns the number of slices by shown state; a slice that failed because of others counts by its reason."""
    counts = {str(state): number for state, number in view.counts.items()}
    counts |= {"asking": 0, "held": 0, "conflict": 0}
    index = view.row_index
    for row in (*index.asking, *index.held):
        shown = shown_state(view, view.rows[row])
        if view.outline.leaves[row] and shown not in _STATES.values():
            counts[_STATES[view.rows[row].state]] -= 1
            counts[shown] += 1
    for reason, number in view.failed_by_others.items():
        counts["failed"] -= number
        counts[str(reason)] = number
    return counts


# Rows


def columns_of(view: RunView) -> SubplanColumns:
    """Returns all subplans as columns."""
    outline, rows = view.outline, view.rows
    changes = [change_of(view, row) for row in rows]
    return SubplanColumns(
        path=outline.paths,
        parent=outline.parents,
        leaf=outline.leaves,
        depends_on=outline.depends_on,
        step_total=[view.step_total(row) for row in range(len(rows))],
        state=[change.state for change in changes],
        reason={change.row: change.reason for change in changes if change.reason},
        step={change.row: change.step for change in changes if change.step},
        step_number=[change.step_number for change in changes],
        attempt={change.row: change.attempt for change in changes if change.attempt},
        attempt_limit={change.row: change.attempt_limit for change in changes if change.attempt_limit},
        since=[change.since for change in changes],
        started_at=[change.started_at for change in changes],
        ended_at=[change.ended_at for change in changes],
        cost=[change.cost for change in changes],
        unknown_costs={change.row: change.unknown_costs for change in changes if change.unknown_costs},
        tokens=[change.tokens for change in changes],
        landing={change.row: change.landing for change in changes if change.landing},
        note={change.row: change.note for change in changes if change.note},
        carried=[change.row for change in changes if change.carried],
        paused=[change.row for change in changes if change.paused],
    )


def change_of(view: RunView, row: RowView) -> RowChange:
    """Returns the present values of a row."""
    number = row.number
    is_paused = bool(view.control_requests) and _restraint(view, number) != ""
    if row.state is State.PENDING and not row.steps and row.held is None and not row.cost:
        return RowChange(row=number, paused=is_paused, note=_restraint(view, number) if is_paused else "")
    step = _shown_step(row)
    return RowChange(
        row=number,
        state=shown_state(view, row),
        reason=row.reason,
        step="" if step is None else step.step,
        step_number=_step_number(view, row),
        attempt=0 if step is None else step.attempt,
        attempt_limit=0 if step is None else view.most_attempts(number, step.step),
        since=_rounded(row.changed_at if step is None else step.started_at),
        started_at=_rounded(row.started_at),
        ended_at=_rounded(row.ended_at),
        cost=row.cost,
        unknown_costs=row.unknown_costs,
        tokens=row.tokens,
        landing=view.landings.word(row),
        note=_note(view, row),
        carried=row.carried,
        paused=is_paused,
    )


def _rounded(at: float | None) -> float | None:
    return None if at is None else round(at, 1)


def _shown_step(row: RowView) -> RunningStep | None:
    return next(iter(row.steps.values()), None) if row.steps else None


def _step_number(view: RunView, row: RowView) -> int:
    """Returns the number of steps of the pipeline that have ended."""
    if not row.done:
        return 0
    if row.state is State.COMPLETED:
        return view.step_total(row.number)
    return sum(not is_internal(step) and "." not in step for step in row.done)


def _restraint(view: RunView, row: int) -> str:
    return _RESTRAINTS.get(view.control_requests.of(view.outline.paths[row]), "")


def _note(view: RunView, row: RowView) -> str:
    """Returns in one line what is unusual about a subplan."""
    if row.questions:
        return next(iter(row.questions.values())).headline
    if row.held is not None:
        return why_held(row.held).partition("\n")[0]
    if row.left_out is not None:
        return f"left out by {row.left_out.group}"
    if row.state is State.FAILED:
        return why_not(row).partition("\n")[0]
    if view.control_requests and not row.state.terminal:
        return _restraint(view, row.number)
    return ""


# Increments


def changed_rows(view: RunView, event: AnyEvent) -> Iterator[int]:
    """Yields the rows that an event may have changed, some of them more than once."""
    match event:
        case PausedEvent() | ResumedEvent():
            yield from _below(view, event.subplan)
        case RecoveredEvent():
            # Rare, and it can change any row: it ends stops, and the time without a coordinator does not count.
            yield from range(len(view.rows))
        case _:
            yield from _near(view, event)


def _near(view: RunView, event: AnyEvent) -> Iterator[int]:
    row = view.find_row(event.subplan)
    if row is not None:
        yield row
        yield from view.groups_around(row)
    yield from _rows_of(view, _others(event))


def _others(event: AnyEvent) -> Iterable[str]:
    match event:
        case VerifyEvent():
            return event.entries
        case PartsEvent():
            return event.parts or ()
        case MergeEvent():
            return event.waits_for
        case ConflictAheadEvent():
            return (event.other,)
        case _:
            return ()


def _rows_of(view: RunView, paths: Iterable[str]) -> Iterator[int]:
    for path in paths:
        row = view.find_row(path)
        if row is not None:
            yield row


def _below(view: RunView, path: str) -> Iterator[int]:
    row = view.find_row(path)
    if row is not None:
        yield from range(row, row + view.outline.sizes[row])


def changes_of(view: RunView, rows: Iterable[int]) -> list[RowChange]:
    """Returns the present values of some rows, each once, in order."""
    return [change_of(view, view.rows[row]) for row in sorted(set(rows))]
