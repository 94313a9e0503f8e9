"""The view of a run: the fold of its events, with what follows from the plan."""

from collections.abc import Iterator, Sequence

from msgspec import convert, to_builtins

from weft.app.views.estimates import Attempts, Pace
from weft.app.views.finish_forecast import FinishForecast
from weft.app.views.landing_view import LandingCourse, LandingView
from weft.app.views.row_index import RowIndex
from weft.app.views.rows import BECAUSE_OF_OTHERS, RowView, RunningStep, StepFailure
from weft.app.views.run_fold import RunFold
from weft.app.views.signals import OutsideWarning
from weft.engine.messages.failures import Failure
from weft.engine.messages.run_events import RecoveredEvent, RunFinishedEvent, RunStartedEvent
from weft.engine.states import SubplanExecutionState as State
from weft.plan.model import Plan
from weft.plan.order.outline import ROOT

OUTPUT_KEPT = 500
"""Characters kept of a line of output; no terminal shows more."""
_ENDS = frozenset({State.COMPLETED, State.FAILED})

Tally = dict[State, int]
"""Slices by state."""


class RunView(RunFold):
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.outline = plan.outline
        self.rows = [RowView(number=row) for row, _ in enumerate(plan.subplans)]
        super().__init__(dict(zip(map(str, self.outline.paths), self.rows, strict=True)))
        self._numbers: dict[str, int] = {path: row for row, path in enumerate(self.outline.paths)}
        self.tallies: dict[int, Tally] = {}
        """For each group, the number of its slices by state."""
        self.failed_by_others: dict[str, int] = {}
        """Slices that failed because of others, by reason."""
        self._row_index = RowIndex(self.outline, self.rows)
        self.landings = LandingView(plan, self.landings_by_path, self.holds.open, self.rows, self._numbers)
        self.ended_at: float | None = None
        self.forecast: FinishForecast | None = None
        """When it will be over and what it will have cost; the owner of the view sets it."""
        self._since: float | None = None
        self._seconds_before = 0.0
        self._met: dict[int, int] = {}
        self._groups: dict[int, tuple[int, ...]] = {}
        """Each group with the groups around it."""
        self._pace = Pace(plan)
        self._attempts = Attempts(plan)
        self._course = LandingCourse(plan)
        self._count_slices()

    # Updates

    def note_output(self, path: str, step: str, line: str) -> None:
        for running_step in self.rows[self._numbers[path]].steps.values():
            if running_step.step == step and running_step.output != line[:OUTPUT_KEPT]:
                running_step.output = line[:OUTPUT_KEPT]
                self.version += 1

    # Queries

    def row(self, path: str) -> RowView:
        return self.rows[self._numbers[path]]

    def find_row(self, path: str) -> int | None:
        """Returns the number of a subplan; None if the plan has no such subplan."""
        return self._numbers.get(path)

    def groups_around(self, row: int) -> tuple[int, ...]:
        """Returns the groups around a row, the innermost first."""
        return self._around(row)

    def step_total(self, row: int) -> int:
        """Returns the number of steps of a slice; 0 for a group."""
        return len(self.plan.pipeline_of(row).steps) if self.outline.leaves[row] else 0

    def under_way(self) -> Iterator[tuple[str, RunningStep]]:
        """Yields the running steps, each with the path of its subplan."""
        for row in self.row_index.running:
            for step in self.rows[row].steps.values():
                yield self.outline.paths[row], step

    @property
    def row_index(self) -> RowIndex:
        return self._row_index.update()

    @property
    def counts(self) -> Tally:
        """All slices by state."""
        return self.tallies[ROOT]

    def needed_in(self, group: int) -> RowView | None:
        """Returns a part of a running group that needs a person, if no part of it is under way."""
        if self.rows[group].state is not State.RUNNING or self.outline.leaves[group]:
            return None
        index, inside = self.row_index, range(group, group + self.outline.sizes[group])
        if any(row in inside for row in index.running):
            return None
        return next((self.rows[row] for row in (*index.held, *index.asking) if row in inside), None)

    def held_slices(self, group: int = ROOT) -> int:
        """Returns the number of slices in a group that wait for a person to help with their merge."""
        rows, outline = self.row_index.held, self.outline
        inside = range(group, group + outline.sizes[group])
        return sum(
            row in inside and outline.leaves[row] and self.rows[row].state is State.RUNNING for row in rows
        )

    @property
    def progress(self) -> float:
        """The fraction of the work that has ended, successfully or not, from 0 to 1."""
        return self._pace.progress

    def elapsed(self, now: float) -> float:
        """Returns the seconds during which the run had a coordinator or running steps."""
        if self._since is None:
            return self._seconds_before
        return self._seconds_before + max(0.0, now - self._since)

    def remaining(self, now: float) -> float | None:
        """Returns the estimated seconds until the end; None without enough data."""
        if self.state != "running":
            return None
        slices = (row for row in self.row_index.running if self.rows[row].state is State.RUNNING)
        under_way = ((row, self.rows[row].seconds(now)) for row in slices if self.outline.leaves[row])
        return self._pace.remaining((row, spent or 0.0) for row, spent in under_way)

    def most_attempts(self, row: int, step: str) -> int:
        """Returns the largest number of attempts of a step; 0 if unknown."""
        return self._attempts.most(row, step)

    def blocked_by(self, row: int) -> Iterator[str]:
        """Yields the unfinished dependencies of a subplan and of the groups around it."""
        outline = self.outline
        while row != ROOT:
            depends_on = outline.depends_on[row]
            # A slice may depend on thousands of others, and a view asks for this each time it is drawn.
            for number in range(self._met_before(row), len(depends_on)):
                if self.rows[depends_on[number]].state is not State.COMPLETED:
                    yield outline.paths[depends_on[number]]
            row = outline.parents[row]

    def _met_before(self, row: int) -> int:
        """Returns the number of leading dependencies that are completed; those are not checked again."""
        depends_on, met = self.outline.depends_on[row], self._met.get(row, 0)
        while met < len(depends_on) and self.rows[depends_on[met]].state is State.COMPLETED:
            met += 1
        if met:
            self._met[row] = met
        return met

    @property
    def outside(self) -> Sequence[OutsideWarning]:
        return self.signals.outside()

    # The run

    def _run_started(self, event: RunStartedEvent, at: float) -> None:
        super()._run_started(event, at)
        self._since = at

    def _run_finished(self, event: RunFinishedEvent, at: float) -> None:
        self._seconds_before = self.elapsed(at)
        self._since = None
        self.ended_at = at
        super()._run_finished(event, at)

    def _recovered(self, event: RecoveredEvent, at: float) -> None:
        """Resumes the clock of a run after its coordinator left at an unknown time.

        If steps kept running, the time in between counts; otherwise the run was alive until its last event.
        """
        # A run that has ended can be recovered by `weft merge`; its clock stays as it was.
        if self.state in _ENDS:
            return
        super()._recovered(event, at)
        for row in self.row_index.running:
            if not self.rows[row].steps:
                self.rows[row].pause(at - self.at)
        self._seconds_before = self.elapsed(at if event.running else self.at)
        self._since = at
        self.state = "running"
        self.ended_at = None

    # Subplans

    def _moved(self, row: RowView) -> None:
        self._row_index.mark(row)

    def _landing_of(self, row: RowView) -> str:
        return self._course.landing(row.number, row.state)

    def _change(self, row: RowView, state: State, at: float) -> None:
        before = row.state
        if before is State.FAILED:
            self._count_failure_by_others(row, -1)
        super()._change(row, state, at)
        if self.outline.leaves[row.number]:
            self._count(row.number, before)

    def _end(self, row: RowView, failure: Failure | None, at: float) -> None:
        super()._end(row, failure, at)
        is_leaf = self.outline.leaves[row.number]
        row.failed_by_itself = (
            row.state is State.FAILED
            and row.reason not in BECAUSE_OF_OTHERS
            and (is_leaf or (bool(row.message) and not row.cause))  # the cause of a group lies in it
        )
        if row.failed_by_itself:
            row.failure = row.trouble if failure is None else convert(to_builtins(failure), StepFailure)
        self._count_failure_by_others(row, 1)
        if is_leaf:
            # Slices that did not run to an end of their own say nothing about how long work takes.
            ran = not row.carried and row.reason not in BECAUSE_OF_OTHERS
            self._pace.ended(row.number, row.seconds(at) if ran else None)

    def _count_failure_by_others(self, row: RowView, number: int) -> None:
        is_such = row.state is State.FAILED and row.reason in BECAUSE_OF_OTHERS
        if is_such and self.outline.leaves[row.number]:
            self.failed_by_others[row.reason] = self.failed_by_others.get(row.reason, 0) + number

    def _around(self, row: int) -> tuple[int, ...]:
        """Returns the groups around a row, the innermost first."""
        if row == ROOT:
            return ()
        parent = self.outline.parents[row]
        groups = self._groups.get(parent)
        if groups is None:
            # Cached by parent: the slices of a group share the tuple, so the memory does not grow with slices
            # times depth.
            groups = self._groups[parent] = (parent, *self._around(parent))
        return groups

    def _count_slices(self) -> None:
        outline = self.outline
        self.tallies = {row: dict.fromkeys(State, 0) for row, leaf in enumerate(outline.leaves) if not leaf}
        for row, leaf in enumerate(outline.leaves):
            for group in self._around(row) if leaf else ():
                self.tallies[group][State.PENDING] += 1

    def _count(self, row: int, before: State) -> None:
        after = self.rows[row].state
        for group in self._around(row):
            tally = self.tallies[group]
            tally[before] -= 1
            tally[after] += 1

    def _payers(self, row: RowView) -> Iterator[RowView]:
        """Yields the row and the groups around it."""
        yield row
        for group in self._around(row.number):
            yield self.rows[group]
