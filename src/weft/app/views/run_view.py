"""A run as people look at it: folded from its events, one by one, by whoever shows it.

No clock, no input, no output; and an event costs the same in a large plan as in a small one.
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
"""Characters of a line of output; no terminal shows more."""
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
        """Then running, stopping, and what the run ended as."""
        self.rows = [RowView() for _ in plan.subplans]
        self.tallies: dict[int, Tally] = {}
        """Of each group, the slices in it by state."""
        self._shelves = RowIndex(self.outline, self.rows)
        self.landings = LandingFold(plan, self.rows)
        self.wishes = ControlRequests()
        """What people want of it, where that is not that it goes on."""
        self.totals = Totals()
        """What was heard of steps under way."""
        self.charges = Charges()
        self.version = 0
        """Goes up with each change."""
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

    # What happened

    def apply(self, event: Event, at: float) -> None:
        """Kinds that say nothing to a person, or that are not known yet, change nothing."""
        self.version += 1
        fold = self._folds.get(event.kind)
        if fold is not None:
            fold(event, at)
        self._last_at = at

    def note_output(self, path: str, step: str, line: str) -> None:
        for one in self.rows[self._numbers[path]].steps.values():
            if one.step == step and one.output != line[:OUTPUT_KEPT]:
                one.output = line[:OUTPUT_KEPT]
                self.version += 1

    # What may be asked

    def row(self, path: str) -> RowView:
        return self.rows[self._numbers[path]]

    def under_way(self) -> Iterator[tuple[str, RunningStep]]:
        """The steps that run now, each with the path of its subplan."""
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
        """How many slices in a group are not completed because a person has to help with their merge."""
        rows, outline = self.shelves.held, self.outline
        inside = range(group, group + outline.sizes[group])
        return sum(
            row in inside and outline.leaves[row] and self.rows[row].state is State.RUNNING for row in rows
        )

    @property
    def progress(self) -> float:
        """How much of the work has ended, well or not; from 0 to 1."""
        return self._pace.progress

    def elapsed(self, now: float) -> float:
        """Seconds in which the run was alive."""
        if self._since is None:
            return self._seconds_before
        return self._seconds_before + max(0.0, now - self._since)

    def remaining(self, now: float) -> float | None:
        """Seconds until the end, guessed; None while too little is known for that."""
        if self.state != "running":
            return None
        slices = (row for row in self.shelves.running if self.rows[row].state is State.RUNNING)
        under_way = ((row, self.rows[row].seconds(now)) for row in slices if self.outline.leaves[row])
        return self._pace.remaining((row, spent or 0.0) for row, spent in under_way)

    def most_attempts(self, row: int, step: str) -> int:
        """How often a step may be tried; 0: not known."""
        return self._attempts.most(row, step)

    def blocked_by(self, row: int) -> Iterator[str]:
        """What a subplan still waits for: what it and the groups around it depend on."""
        outline = self.outline
        while row != ROOT:
            depends_on = outline.depends_on[row]
            for number in range(self._met_before(row), len(depends_on)):
                if self.rows[depends_on[number]].state is not State.COMPLETED:
                    yield outline.paths[depends_on[number]]
            row = outline.parents[row]

    def _met_before(self, row: int) -> int:
        """The dependencies at the beginning that are completed: they stay so, and are not looked at again."""
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
        if event.outcome in _ENDS:  # else it goes on some time
            stuck = event.data.get("stuck") or ()
            why = {"message": f"nothing can go on any more: {'; '.join(stuck)}"} if stuck else {}
            self._change(ROOT, State(event.outcome), event.data | why, at)

    def _steered(self, event: Event, _at: float) -> None:
        self.wishes.says(event.subplan, ControlState(event.outcome))

    def _stopping(self, _event: Event, _at: float) -> None:
        self.state = "stopping"

    def _recovered(self, event: Event, at: float) -> None:
        """When it died nobody said. If steps ran on, the time counts; else it was alive at the last event."""
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
        one = self.rows[row]
        before, one.state = one.state, state
        self.landings.state_changed(row, at)
        if state.terminal:
            self._end(row, data, at)
        else:
            one.started_at = at
        if self.outline.leaves[row]:
            self._count(row, before)
        self._shelves.changed(row)

    def _end(self, row: int, data: dict[str, Any], at: float) -> None:
        """Only an end has reasons."""
        one = self.rows[row]
        one.reason, one.message = data.get("reason", ""), data.get("message", "")
        one.cause, one.carried = data.get("cause", ""), data.get("carried", False)
        one.ended_at = at
        one.questions.clear()
        is_leaf = self.outline.leaves[row]
        one.failed_by_itself = (
            one.state is State.FAILED
            and one.reason not in BECAUSE_OF_OTHERS
            and (is_leaf or (bool(one.message) and not one.cause))  # the cause of a group is one in it
        )
        if one.failed_by_itself:
            one.failure = convert(data["failure"], StepFailure) if data.get("failure") else one.trouble
        if is_leaf:
            ran = not one.carried and one.reason not in BECAUSE_OF_OTHERS
            self._pace.ended(row, one.seconds(at) if ran else None)

    def _around(self, row: int) -> Iterator[int]:
        """The groups around it, the nearest first."""
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
        one = self.rows[row]
        one.limited_until = None
        self.landings.started(row, event.step, at)
        one.steps[data["firing"]] = RunningStep(
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
        one = self.rows[row]
        step = one.steps.pop(data.get("firing", 0), None)  # a join, or a nested pipeline, is no firing
        self._add_cost(row, event, step)
        if event.outcome in _BAD_ENDS and (step is not None or event.outcome == REJECTED):
            one.trouble = _failure(event, step)
        if event.outcome == "limited":
            one.limited_until = data.get("until")
        if event.outcome == "done":
            one.idle.pop(event.step, None)
            one.idle |= {event.step: None} if data.get("changed") is False else {}
            one.notes.pop(event.step, None)
            one.notes |= {event.step: data["message"]} if data.get("message") and step is not None else {}
        self.landings.finished(row, event, at)
        self._shelves.changed(row)

    def _add_cost(self, row: int, event: Event, step: RunningStep | None) -> None:
        """Of an agent that says nothing the cost is unknown; unless it could not even be started."""
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
        for one in (row, *self._around(row)):
            self.rows[one].cost += cost
            self.rows[one].tokens += tokens
            self.rows[one].unknown_costs += unknown

    def _budget(self, event: Event, _at: float) -> None:
        """What is under way when the budget is reset counts with all that it spends."""
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
        one = self.rows[row]
        if firing in one.steps:
            one.steps[firing].cancelled_by = event.data.get("cause") or "the run"
            return
        if event.step in one.questions and one.questions[event.step].firing == firing:
            del one.questions[event.step]
        self.landings.cancelled(row, event.step, at)
        self._shelves.changed(row)

    def _merge(self, event: Event, _at: float) -> None:
        self.landings.merged(self._numbers[event.subplan], event)

    def _verify(self, event: Event, _at: float) -> None:
        self.landings.verifying(event)

    def _conflict_ahead(self, event: Event, _at: float) -> None:
        row, other = self._numbers[event.subplan], self._numbers[event.data["other"]]
        self.landings.foreseen(row, other, event.data.get("files", ()))

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
        one = self.rows[row]
        question = one.questions.pop(event.step, None)
        if question is not None and not one.questions and not one.steps:
            one.pause(at - question.asked_at)
        self._shelves.changed(row)


def _failure(event: Event, step: RunningStep | None) -> StepFailure:
    data = event.data
    agent = f"agent {step.agent}" if step is not None and step.agent else ""
    return StepFailure(
        step=event.step,
        attempt=event.attempt,
        command=(step.command if step is not None else "") or agent,
        exit_code=data.get("exit_code"),
        signal=data.get("signal"),
        message=data.get("message") or "",
        tail=data.get("tail") or "",
        how=event.outcome,
    )
