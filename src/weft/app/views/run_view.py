"""The view of a run, folded from its events.

The fold has no clock, no input and no output, and the cost of an event does not depend on the size of the plan.
"""

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import convert

from weft.app.history.ledger import total
from weft.app.views.estimates import Attempts, Pace
from weft.app.views.landing import LandingFold
from weft.app.views.row_index import RowIndex
from weft.app.views.rows import (
    BECAUSE_OF_OTHERS,
    LeftOut,
    OpenStepQuestion,
    RowView,
    RunningStep,
    StepFailure,
    step_failure,
)
from weft.app.views.signals import OutsideWarning, outside_warning
from weft.app.views.totals import Charges, Totals
from weft.engine.messages.events import Event
from weft.engine.messages.facts import ControlState, RunStarted
from weft.engine.messages.failures import REJECTED
from weft.engine.state.control_requests import ControlRequests
from weft.engine.states import SubplanExecutionState as State
from weft.plan.model import Plan
from weft.plan.order.outline import ROOT

OUTPUT_KEPT = 500
"""Characters kept of a line of output; no terminal shows more."""
_BAD_ENDS = frozenset({"failed", "timeout", "infra", "lost", "conflict", REJECTED})
_ENDS = frozenset({State.COMPLETED, State.FAILED})

Tally = dict[State, int]
"""Slices by state."""


class RunView:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.outline = plan.outline
        self.run = ""
        self.state = "pending"
        """`pending`, `running`, `stopping`, or the final state of the run."""
        self.rows = [RowView() for _ in plan.subplans]
        self.tallies: dict[int, Tally] = {}
        """For each group, the number of its slices by state."""
        self._shelves = RowIndex(self.outline, self.rows)
        self.landings = LandingFold(plan, self.rows)
        self.wishes = ControlRequests()
        """The subplans that people have paused, frozen or stopped."""
        self.totals = Totals()
        """The spending that running steps have reported."""
        self.charges = Charges()
        self.version = 0
        """Grows with each change."""
        self.ended_at: float | None = None
        self.outside: list[OutsideWarning] = []
        self._last_at = 0.0
        self._since: float | None = None
        self._seconds_before = 0.0
        self._numbers: dict[str, int] = {path: row for row, path in enumerate(self.outline.paths)}
        self._met: dict[int, int] = {}
        self._pace = Pace(plan)
        self._attempts = Attempts(plan)
        self._folds: dict[str, Callable[[Event, float], None]] = {
            "run_started": self._run_started, "run_finished": self._run_finished,
            "paused": self._steered, "resumed": self._steered,
            "stopping": self._stopping, "recovered": self._recovered,
            "subplan_state": self._subplan_state, "step_started": self._step_started,
            "step_finished": self._step_finished, "step_cancelled": self._step_cancelled,
            "ask": self._ask, "answered": self._answered, "spent": self._spent, "limited": self._limited,
            "merge": self._merge, "conflict_ahead": self._conflict_ahead, "left_out": self._left_out,
            "budget": self._budget, "cost_unknown": self._cost_unknown, "outside_changed": self._outside_changed,
            "limits_ended": self._limits_ended, "push": self.landings.pushed, "parts": self.landings.parts,
            "verify": self._verify,
        }  # fmt: skip
        self._count_slices()

    # Updates

    def apply(self, event: Event, at: float) -> None:
        """Folds an event into the view. Unknown kinds, and kinds that no view shows, change nothing."""
        self.version += 1
        fold = self._folds.get(event.kind)
        if fold is not None:
            fold(event, at)
        self._last_at = at

    def note_output(self, path: str, step: str, line: str) -> None:
        for running_step in self.rows[self._numbers[path]].steps.values():
            if running_step.step == step and running_step.output != line[:OUTPUT_KEPT]:
                running_step.output = line[:OUTPUT_KEPT]
                self.version += 1

    # Queries

    def row(self, path: str) -> RowView:
        return self.rows[self._numbers[path]]

    def under_way(self) -> Iterator[tuple[str, RunningStep]]:
        """Yields the running steps, each with the path of its subplan."""
        for row in self.shelves.running:
            for step in self.rows[row].steps.values():
                yield self.outline.paths[row], step

    @property
    def shelves(self) -> RowIndex:
        return self._shelves.tidied()

    @property
    def counts(self) -> Tally:
        """All slices by state."""
        return self.tallies[ROOT]

    def held_slices(self, group: int = ROOT) -> int:
        """Returns the number of slices in a group that wait for a person to help with their merge."""
        rows, outline = self.shelves.held, self.outline
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
        slices = (row for row in self.shelves.running if self.rows[row].state is State.RUNNING)
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

    # The run

    def _run_started(self, event: Event, at: float) -> None:
        self.run = event.data.get("run", "")
        if isinstance(event.fact, RunStarted):
            self.landings.target = event.fact.target
            self.charges.earlier = total(event.fact.earlier or ())
        self.state = "running"
        self._since = at

    def _run_finished(self, event: Event, at: float) -> None:
        self.state = event.outcome
        self._seconds_before = self.elapsed(at)
        self._since = None
        self.ended_at = at
        if event.outcome in _ENDS:  # otherwise the run can be resumed
            stuck = event.data.get("stuck") or ()
            message = {"message": f"the run is stuck: {'; '.join(stuck)}"} if stuck else {}
            self._change(ROOT, State(event.outcome), event.data | message, at)

    def _steered(self, event: Event, _at: float) -> None:
        self.wishes.says(event.subplan, ControlState(event.outcome))

    def _stopping(self, _event: Event, _at: float) -> None:
        self.state = "stopping"

    def _recovered(self, event: Event, at: float) -> None:
        """Resumes the clock of a run whose coordinator left at an unknown time.

        If steps kept running, the time in between counts; otherwise the run was alive until its last event.
        """
        if self.state in _ENDS:
            return
        self.wishes.forget_stops()
        for row in self.shelves.running:
            if not self.rows[row].steps:
                self.rows[row].pause(at - self._last_at)
        self._seconds_before = self.elapsed(at if event.data.get("running") else self._last_at)
        self._since = at
        self.state = "running"
        self.ended_at = None

    # Subplans

    def _subplan_state(self, event: Event, at: float) -> None:
        self._change(self._numbers[event.subplan], State(event.outcome), event.data, at)

    def _change(self, row: int, state: State, data: dict[str, Any], at: float) -> None:
        view = self.rows[row]
        before, view.state = view.state, state
        self.landings.state_changed(row, at)
        if state.terminal:
            self._end(row, data, at)
        else:
            view.started_at = at
        if self.outline.leaves[row]:
            self._count(row, before)
        self._shelves.changed(row)

    def _end(self, row: int, data: dict[str, Any], at: float) -> None:
        """Records the reason, message and cause of an end."""
        view = self.rows[row]
        view.reason, view.message = data.get("reason", ""), data.get("message", "")
        view.cause, view.carried = data.get("cause", ""), data.get("carried", False)
        view.ended_at = at
        view.questions.clear()
        is_leaf = self.outline.leaves[row]
        view.failed_by_itself = (
            view.state is State.FAILED
            and view.reason not in BECAUSE_OF_OTHERS
            and (is_leaf or (bool(view.message) and not view.cause))  # the cause of a group lies in it
        )
        if view.failed_by_itself:
            view.failure = convert(data["failure"], StepFailure) if data.get("failure") else view.trouble
        if is_leaf:
            ran = not view.carried and view.reason not in BECAUSE_OF_OTHERS
            self._pace.ended(row, view.seconds(at) if ran else None)

    def _around(self, row: int) -> Iterator[int]:
        """Yields the groups around a row, the innermost first."""
        while row != ROOT:
            row = self.outline.parents[row]
            yield row

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

    # Steps

    def _step_started(self, event: Event, at: float) -> None:
        row, data = self._numbers[event.subplan], event.data
        view = self.rows[row]
        view.limited_until = None
        self.landings.started(row, event.step, at)
        view.steps[data["firing"]] = RunningStep(
            step=event.step,
            attempt=event.attempt,
            firing=data["firing"],
            execution=data.get("execution", 1),
            started_at=at,
            command=data.get("command") or "",
            agent=data.get("agent") or "",
            reserved=(data.get("reserved", 0), data.get("reserved_tokens", 0)),
        )
        self._shelves.changed(row)

    def _step_finished(self, event: Event, at: float) -> None:
        row, data = self._numbers[event.subplan], event.data
        view = self.rows[row]
        step = view.steps.pop(data.get("firing", 0), None)  # a join, or a nested pipeline, is no firing
        self._add_cost(row, event, step)
        if event.outcome in _BAD_ENDS and (step is not None or event.outcome == REJECTED):
            view.trouble = step_failure(event, step)
        if event.outcome == "limited":
            view.limited_until = data.get("until")
        if event.outcome == "done":
            view.idle.pop(event.step, None)
            view.idle |= {event.step: None} if data.get("changed") is False else {}
            view.notes.pop(event.step, None)
            view.notes |= {event.step: data["message"]} if data.get("message") and step is not None else {}
        self.landings.finished(row, event, at)
        self._shelves.changed(row)

    def _add_cost(self, row: int, event: Event, step: RunningStep | None) -> None:
        """Adds the cost of a step. It is unknown if an agent reports none, unless the agent never started."""
        data = event.data
        never_ran = event.outcome == "infra" and data.get("exit_code") is None and data.get("signal") is None
        is_known = event.cost is not None and not data.get("cost_at_least")
        is_unknown = not is_known and step is not None and bool(step.agent) and not never_ran
        if step is not None or event.cost:
            self._spend(row, event, unknown=is_unknown, ended=True)

    def _spent(self, event: Event, _at: float) -> None:
        self._spend(self._numbers[event.subplan], event)

    def _spend(self, row: int, event: Event, *, unknown: bool = False, ended: bool = False) -> None:
        execution = (event.data.get("firing", 0), event.data.get("execution", 1))
        cost, tokens = self.totals.more(execution, event.cost, event.tokens, ended=ended)
        if not cost and not tokens and not unknown:
            return
        for ancestor in (row, *self._around(row)):
            self.rows[ancestor].cost += cost
            self.rows[ancestor].tokens += tokens
            self.rows[ancestor].unknown_costs += unknown

    def _budget(self, event: Event, _at: float) -> None:
        """Resets the budget. Running steps count in full, including the amounts they spent before the reset."""
        if event.outcome == "reset":
            cost, tokens = self.totals.all()
            spent = self.rows[ROOT].cost - cost, self.rows[ROOT].tokens - tokens
            self.charges = Charges(uncounted=spent)

    def _cost_unknown(self, event: Event, _at: float) -> None:
        self.charges.add_unreported(event.data)

    def _limited(self, event: Event, _at: float) -> None:
        self.rows[self._numbers[event.subplan]].limited_until = event.data["until"]

    def _limits_ended(self, _event: Event, _at: float) -> None:
        for row in self.rows:
            row.limited_until = None

    def _step_cancelled(self, event: Event, at: float) -> None:
        row, firing = self._numbers[event.subplan], event.data["firing"]
        view = self.rows[row]
        if firing in view.steps:
            view.steps[firing].cancelled_by = event.data.get("cause") or "the run"
            return
        if event.step in view.questions and view.questions[event.step].firing == firing:
            del view.questions[event.step]
        self.landings.cancelled(row, event.step, at)
        self._shelves.changed(row)

    def _merge(self, event: Event, _at: float) -> None:
        self.landings.merged(self._numbers[event.subplan], event)

    def _verify(self, event: Event, _at: float) -> None:
        self.landings.verifying(event)

    def _conflict_ahead(self, event: Event, _at: float) -> None:
        row, other_row = self._numbers[event.subplan], self._numbers[event.data["other"]]
        self.landings.foreseen(row, other_row, event.data.get("files", ()))

    def _outside_changed(self, event: Event, _at: float) -> None:
        self.outside.append(outside_warning(event.data))

    def _left_out(self, event: Event, _at: float) -> None:
        row, data = self._numbers[event.subplan], event.data
        self.rows[row].left_out = LeftOut(
            group=data["group"],
            message=data.get("message", ""),
            is_culprit=event.subplan in data.get("culprits", ()),
        )
        self.rows[row].landing = "unmerged"
        self._shelves.changed(row)

    # People

    def _ask(self, event: Event, at: float) -> None:
        row = self._numbers[event.subplan]
        self.rows[row].questions[event.step] = OpenStepQuestion(
            firing=event.data["firing"], text=event.data.get("question", ""), asked_at=at
        )
        self._shelves.changed(row)

    def _answered(self, event: Event, at: float) -> None:
        row = self._numbers[event.subplan]
        view = self.rows[row]
        question = view.questions.pop(event.step, None)
        if question is not None and not view.questions and not view.steps:
            view.pause(at - question.asked_at)
        self._shelves.changed(row)
