"""What happened in a run, execution by execution: the source of attempts, timelines, costs and pools.

The view of a run knows the present; this remembers the past. It is folded from the same events.
"""

from weft.app.read_model.execution_table import ExecutionRecord, ExecutionTable
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
    overlook,
)
from weft.engine.messages.internal_steps import InternalStep


class RunHistory:
    def __init__(self, view: RunView) -> None:
        """The view is that of the same run; it is applied to first."""
        self._view = view
        self.executions = ExecutionTable(len(view.rows))
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
        return self.executions.of(row)

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
        self.executions.add(row, event, at)

    def _finished(self, row: int, event: StepFinishedEvent, at: float) -> None:
        if event.outcome is StepEnd.REJECTED:
            self.rejections[row, event.step, event.attempt] = event.message
        if event.outcome is StepEnd.HELD:
            self.waits.setdefault(row, []).append((at, None))
        self.executions.end(row, event, at)

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
