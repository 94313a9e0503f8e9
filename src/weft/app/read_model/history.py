"""What happened in a run, execution by execution: the source of attempts, timelines, costs and pools.

The view of a run knows the present; this remembers the past. It is folded from the same events.
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from weft.app.views.run_view import RunView
from weft.engine.messages.events import (
    AnsweredEvent,
    AnyEvent,
    AskEvent,
    CoordinatorLeftEvent,
    FeedbackEvent,
    MergeEvent,
    RecoveredEvent,
    RunFinishedEvent,
    RunStartedEvent,
    StepCancelledEvent,
    StepEnd,
    StepFinishedEvent,
    StepStartedEvent,
    execution_of,
    overlook,
)
from weft.engine.messages.facts import Ended
from weft.engine.messages.internal_steps import InternalStep
from weft.engine.messages.step_refs import ExecutionKey

RUNNING = "running"


class ExecutionRecord(Struct, eq=False):
    """One execution of a step."""

    row: int
    step: str
    attempt: int
    key: ExecutionKey
    action: str
    agent: str
    model: str
    command: str
    started_at: float
    pools: Mapping[str, tuple[str, ...]]
    reserved: int = 0
    ended_at: float | None = None
    outcome: str = RUNNING
    message: str = ""
    exit_code: int | None = None
    signal: int | None = None
    tail: str = ""
    cost: int | None = None
    tokens: int | None = None
    session: str = ""
    out_bytes: int = 0
    """What it wrote to each stream, whether it was kept or not; 0 until it has ended."""
    err_bytes: int = 0

    @property
    def is_bad(self) -> bool:
        """Whether it ended without doing its work."""
        return self.outcome not in {RUNNING, StepEnd.DONE, StepEnd.HELD, StepEnd.ASKED}


class RunHistory:
    def __init__(self, view: RunView) -> None:
        """The view is that of the same run; it is applied to first."""
        self._view = view
        self.executions: dict[ExecutionKey, ExecutionRecord] = {}
        """In the order of their starts."""
        self._by_row: dict[int, list[ExecutionRecord]] = {}
        self.waits: dict[int, list[tuple[float, float | None]]] = {}
        """The times during which a subplan waited for a person, by row; the last may be open."""
        self.landed_at: dict[int, float] = {}
        self.rejections: dict[tuple[int, str, int], str] = {}
        """Why the result of a step was rejected, by row, step and attempt."""
        self.requests: dict[int, str] = {}
        """What people want changed in slices, by row."""
        self._taken_at: float | None = None
        """When the present coordinator has taken up the run; None if it has left the run."""

    def of(self, row: int) -> list[ExecutionRecord]:
        """Returns the executions of a subplan in order."""
        return self._by_row.get(row, [])

    def rows(self) -> Iterator[int]:
        """Yields the rows that have executions."""
        yield from self._by_row

    def is_taken_since(self, at: float) -> bool:
        """Returns whether a coordinator has taken the run up since then, and has not left it."""
        return self._taken_at is not None and self._taken_at >= at

    def apply(self, event: AnyEvent, at: float) -> None:  # noqa: C901 - one case a class
        """Folds an event, after the view has folded it."""
        row = self._view.find_row(event.subplan)
        if row is None:
            return
        match event:
            case StepStartedEvent():
                self._started(row, event, at)
            case StepFinishedEvent():
                self._finished(row, event, at)
            case AskEvent():
                self.waits.setdefault(row, []).append((at, None))
            case AnsweredEvent() | StepCancelledEvent():
                self._end_wait(row, at)
            case MergeEvent():
                if event.step == InternalStep.LAND and event.outcome == "merged" and event.moves:
                    self.landed_at[row] = at
            case FeedbackEvent():
                self.requests[row] = event.text
            case RunStartedEvent() | RecoveredEvent():
                self._taken_at = at
            case RunFinishedEvent() | CoordinatorLeftEvent():
                self._taken_at = None
            case _:
                overlook(event)

    def _started(self, row: int, event: StepStartedEvent, at: float) -> None:
        self._end_wait(row, at)
        record = ExecutionRecord(
            row=row,
            step=event.step,
            attempt=event.attempt,
            key=execution_of(event),
            action=event.action,
            agent=event.agent or "",
            model=event.model or "",
            command=event.command or "",
            started_at=at,
            pools=event.pools or {},
            reserved=event.reserved,
            session=event.session or "",
        )
        self.executions[record.key] = record
        self._by_row.setdefault(row, []).append(record)

    def _finished(self, row: int, event: StepFinishedEvent, at: float) -> None:
        record = self.executions.get(execution_of(event))
        if event.outcome is StepEnd.REJECTED:
            self.rejections[row, event.step, event.attempt] = event.message
        if event.outcome is StepEnd.HELD:
            self.waits.setdefault(row, []).append((at, None))
        if record is None or record.row != row:
            return
        record.ended_at = at
        record.outcome = event.outcome
        record.message = event.message
        record.exit_code, record.signal = event.exit_code, event.signal
        record.tail = event.tail or ""
        record.cost, record.tokens = event.cost, event.tokens
        record.session = event.session or record.session
        if isinstance(event.fact, Ended):
            record.out_bytes, record.err_bytes = event.fact.stdout_bytes, event.fact.stderr_bytes

    def _end_wait(self, row: int, at: float) -> None:
        waits = self.waits.get(row)
        if waits and waits[-1][1] is None:
            waits[-1] = (waits[-1][0], at)


def ready_at(view: RunView, row: int, start: float, now: float) -> float:
    """Returns when everything that a slice depends on was completed; `now` if it is not."""
    ready = start
    for group in (row, *view.groups_around(row)):
        for other in view.outline.depends_on[group]:
            ended_at = view.rows[other].ended_at
            if view.rows[other].carried:
                continue
            ready = max(ready, now if ended_at is None else ended_at)
    return ready
