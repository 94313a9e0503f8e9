"""How a run is, for `weft status`: from its journal, without loading its plan and without following each step.

A run of ten thousand slices is shown nearly as fast as one of ten: the states of subplans are read in one pass,
and steps only of those that are under way.
"""

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, cast

from msgspec import Struct

from weft.app.history.ledger import spent_before, total
from weft.app.inspect.overview_sources import StepNow, heartbeat, rare_events
from weft.app.inspect.requests import requested
from weft.app.record.journal import RecordedRun
from weft.app.record.run_record import RecordedPlan, RecordedSubplan, dollars_of, recorded_plan, tokens_of
from weft.app.views.landing_places import VERIFY_FAILED, LandingPlaces, landed_place
from weft.app.views.push import PushState
from weft.app.views.rows import BECAUSE_OF_OTHERS
from weft.app.views.signals import (
    ConflictAhead,
    FailedVerify,
    OutsideWarning,
    Rejection,
    RunSignals,
    UsageLimit,
)
from weft.app.views.totals import Totals
from weft.engine.messages.facts import ControlState, EarlierSpending
from weft.engine.messages.run_status import AT_REST
from weft.engine.state.control_requests import ControlRequests
from weft.ports.journal import Glimpse, JournalReader
from weft.store.lease import is_alive
from weft.workspaces.git.base.names import RefNames

STATES = ("pending", "running", "completed", "failed", *sorted(BECAUSE_OF_OTHERS))
"""Slices are counted as these: what failed because of another subplan is blocked or cancelled, and not failed."""
MICRO = 1_000_000
_PLAN = ""
"""The path of the whole plan."""


class CoordinatorProcess(Struct, frozen=True):
    pid: int
    alive: bool
    started_at: float


class SubplanNow(Struct, frozen=True, kw_only=True):
    path: str
    is_leaf: bool
    state: str
    reason: str | None = None
    message: str | None = None
    landing: str | None = None
    landing_place: str | None = None
    """Where its result is on its way to the target, as `verifying with 3 others`; None before that."""
    conflict: tuple[str, ...] = ()
    wanted: str = ControlState.GO
    step: str | None = None
    attempt: int | None = None
    question: str | None = None
    steps_done: int = 0
    steps_total: int = 0
    pid: int | None = None
    heartbeat_at: float | None = None
    since: float | None = None
    cost: int = 0
    tokens: int = 0
    has_output: bool = False
    """Whether a process was started, so that `weft logs` has something to show."""
    rejected: Rejection | None = None
    """The step whose result was turned down, until it is done."""
    branch: str | None = None
    blocked_by: tuple[str, ...] = ()
    idle: tuple[str, ...] | None = None
    """Steps whose agent was to change files and did not, when it was last done; None: it was not looked for."""


class Overview(Struct, frozen=True, kw_only=True):
    run: str
    plan: str
    state: str
    created_at: float
    coordinator: CoordinatorProcess | None
    counts: Mapping[str, int]
    """Slices by state."""
    cost: int
    tokens: int
    unknown: int
    """Steps of agents that have ended and whose cost nobody knows."""
    wants: bool
    """Whether people have paused or stopped any of it."""
    ceiling: float | None
    """In dollars."""
    token_ceiling: str | None = None
    """As it is written."""
    reserved: int = 0
    unreported: int = 0
    """Micro-dollars that stay reserved for agent calls of this run that did not report their cost."""
    earlier: EarlierSpending = EarlierSpending()
    """What earlier runs of the plan spent, and counts against its ceilings."""
    uncounted: tuple[int, int] = (0, 0)
    """Micro-dollars and tokens that this run spent before its budget was reset."""
    limits: Sequence[UsageLimit] = ()
    """Usage limits of agents that have not ended."""
    verifies: Sequence[FailedVerify] = ()
    ahead: Sequence[ConflictAhead] = ()
    outside: Sequence[OutsideWarning] = ()
    push: PushState | None = None
    """The last push of the target; None if there was none since the last landing."""
    plan_words: Sequence[str] = ()
    """How the plan, and the part of it that the run is for, are named on the command line."""
    is_asked: bool = False
    """Whether a coordinator is to take up what people have said."""
    is_last: bool = True
    """Whether commands without `--run` are about this run."""
    subplans: Sequence[SubplanNow]


def overview(book: RecordedRun, *, everything: bool = False, now: float | None = None) -> Overview:
    """Of all subplans, or of those that somebody may want to look at; the numbers are those of all."""
    now = time.time() if now is None else now
    record, journal = book.run, book.journal
    plan, states = recorded_plan(record), journal.states(record.run)
    told = _Told(plan, states)
    asked = requested(journal, record.run)
    rare = journal.glance(record.run) if everything else rare_events(journal, record.run)
    for one in (*rare, *asked):
        told.hear(one)
    if not everything:
        told.hear_landed(journal.landed(record.run))
    paths = [path for path in plan.paths if book.sees(path)]
    wanted = [path for path in paths if everything or told.matters(path)]
    if not everything:
        told.hear_landings(journal, record.run, wanted)
    lives = [path for path in wanted if states.get(path) in {"running", "failed"}]
    state = book.state()
    under_way = state not in AT_REST
    landing = [path for path in paths if under_way and told.may_be_queued(path)]
    for one in journal.lives(record.run, [*dict.fromkeys((*lives, *landing)), _PLAN]):
        told.hear_life(one)
    queued = {path for path in landing if told.places.is_queued(path)}
    shown = queued.union(wanted)
    wanted = [path for path in paths if path in shown] if queued else wanted
    beats = heartbeat(book)
    holder = journal.holder()
    alive = holder is not None and is_alive(holder)
    counts = Counter(told.counted(path) for path in paths if plan.is_leaf(path))
    newest = journal.record()
    return Overview(
        run=record.run,
        plan=record.plan,
        state=state,
        created_at=record.created_at,
        coordinator=None if holder is None else CoordinatorProcess(holder.pid, alive, holder.since),
        counts={state: counts[state] for state in STATES},
        cost=sum(told.costs.values()),
        tokens=told.tokens,
        unknown=told.unknown,
        ceiling=dollars_of(plan.budget),
        token_ceiling=tokens_of(plan.budget),
        reserved=told.reserved,
        unreported=told.unreported,
        earlier=EarlierSpending() if told.is_reset else total(spent_before(journal, record.plan, record.run)),
        uncounted=told.uncounted,
        wants=told.wants_something,
        limits=told.signals.limits(now) if under_way else (),
        verifies=told.signals.verifies(),
        ahead=told.signals.ahead(states, told.held()),
        outside=told.signals.outside(),
        push=told.signals.push,
        is_asked=bool(asked),
        plan_words=(*book.plan_words(), *book.chosen()),
        is_last=newest is None or newest.run == record.run,
        subplans=[told.now(plan.subplan(path), beats, record.run) for path in wanted],
    )


class _Told:
    """What the journal says, put together."""

    def __init__(self, plan: RecordedPlan, states: Mapping[str, str]) -> None:
        self._plan = plan
        self._states = states
        self._changed: dict[str, Glimpse] = {}
        """How those came to their state that somebody may want to look at."""
        self._steps: dict[str, dict[int, StepNow]] = {}
        self._done: dict[str, set[str]] = {}
        self._idle: dict[str, dict[str, None]] = {}
        self._questions: dict[str, str] = {}
        self._landings: dict[str, tuple[str, tuple[str, ...], str]] = {}
        self._landed: AbstractSet[str] = frozenset()
        self._left_out: set[str] = set()
        self._wishes = ControlRequests()
        self._totals = Totals()
        self.signals = RunSignals()
        self.places = LandingPlaces()
        self.costs: dict[str, int] = {}
        self._tokens: dict[str, int] = {}
        self._with_output: set[str] = set()
        self.tokens = 0
        self.unknown = self.unreported = 0
        self.is_reset = False
        self.uncounted = (0, 0)

    def hear(self, one: Glimpse) -> None:
        match one.kind:
            case "step_finished" | "spent":
                self._spend(one)
            case "ask":
                self._questions[one.subplan] = str(_data(one).get("question", ""))
            case "answered":
                self._questions.pop(one.subplan, None)
            case "merge":
                data = _data(one)
                self._landings[one.subplan] = (
                    one.outcome if one.step == "@land" or one.outcome != "merged" else "",
                    tuple(data.get("files", ())) if one.outcome == "conflict" else (),
                    str(data.get("message", "")),
                )
                self._hear_landing(one, data)
            case _:
                self._hear_of_run(one)

    def _hear_landing(self, glimpse: Glimpse, data: Mapping[str, Any]) -> None:
        if glimpse.step == "@land":
            red, moves = bool(data.get("red")), data.get("moves")
            place = landed_place(moves[-1]["after"] if moves else "") if glimpse.outcome == "merged" else ""
            self.places.end(glimpse.subplan, VERIFY_FAILED if red else place)
            self.signals.hold(glimpse.subplan, str(data.get("message", "")), red=red)
            if moves:
                self.signals.land(glimpse.seq)

    def hear_landed(self, paths: AbstractSet[str]) -> None:
        """The subplans that have landed. Of most no event was heard."""
        self._landed = paths

    def hear_landings(self, journal: JournalReader, run: str, shown: Sequence[str]) -> None:
        """Landings that went well of which more than that is to be told: of what is shown, and after a push."""
        unheard = [path for path in shown if path in self._landed and path not in self._landings]
        for glimpse in journal.merges(run, unheard):
            self.hear(glimpse)
        if self.signals.push is not None:
            for glimpse in journal.merges_after(run, self.signals.pushed):
                self.hear(glimpse)

    def _spend(self, one: Glimpse) -> None:
        """What a step has cost, or has spent so far."""
        cost, tokens = one.cost or 0, one.tokens or 0
        if one.kind == "spent" or self._totals:  # else nobody need be asked which step it was
            data = _data(one)
            which = (int(data.get("firing", 0)), int(data.get("execution", 1)))
            cost, tokens = self._totals.more(which, one.cost, one.tokens, ended=one.kind != "spent")
        self.costs[one.subplan] = self.costs.get(one.subplan, 0) + cost
        self._tokens[one.subplan] = self._tokens.get(one.subplan, 0) + tokens
        self.tokens += tokens

    @property
    def reserved(self) -> int:
        """For what is under way, beyond what that is known to have spent."""
        steps = [step for of_one in self._steps.values() for step in of_one.values()]
        return sum(max(0, one.reserved - self._totals.of((one.firing, one.execution))[0]) for one in steps)

    def _hear_of_run(self, one: Glimpse) -> None:
        self.signals.hear(one)
        match one.kind:
            case "verify":
                self.places.verify(_data(one).get("entries", ()) if one.outcome == "started" else ())
            case "paused" | "resumed":
                self._wishes.says(one.subplan, ControlState(one.outcome))
            case "recovered":
                self._wishes.forget_stops()
            case "budget" if one.outcome == "reset":
                heard = self._totals.all()
                self.is_reset = True
                self.unreported = 0
                self.uncounted = (sum(self.costs.values()) - heard[0], self.tokens - heard[1])
            case "left_out":
                self._left_out.add(one.subplan)
                self._landings[one.subplan] = ("unmerged", (), str(_data(one).get("message", "")))
            case "cost_unknown":
                self.unknown += 1
                self.unreported += int(_data(one).get("reserved", 0))
            case "run_finished":
                self.unknown = int(_data(one).get("unknown_costs", 0))
            case _:
                pass

    @property
    def wants_something(self) -> bool:
        """Whether people have paused or stopped any of it."""
        return bool(self._wishes)

    def matters(self, path: str) -> bool:
        """Whether something happens there, or it needs somebody."""
        state = self._states.get(path, "")
        if state in {"running", "failed"}:
            return True
        return path in self._left_out or self._is_held(path)

    def may_be_queued(self, path: str) -> bool:
        """Whether its steps are done, and it is to land and has not."""
        if self._states.get(path) != "completed" or path in self._landed:
            return False
        if self._landings.get(path, ("",))[0] == "merged":
            return False
        subplan = self._plan.subplan(path)
        return subplan.lands and subplan.has_branch

    def _is_held(self, path: str) -> bool:
        return self._landings.get(path, ("",))[0] in {"held", "conflict"}

    def held(self) -> set[str]:
        """What cannot be merged, or land, before a person helps."""
        return {path for path in self._landings if self._is_held(path)}

    def counted(self, path: str) -> str:
        """The state that a slice counts as."""
        changed = self._changed.get(path)
        reason = str(_data(changed).get("reason", "")) if changed is not None else ""
        state = self._states.get(path, "pending")
        return reason if state == "failed" and reason in BECAUSE_OF_OTHERS else state

    def hear_life(self, one: Glimpse) -> None:
        if one.kind == "subplan_state":
            self._changed[one.subplan] = one
            return
        self.signals.hear_step(one)
        data = _data(one)
        if one.step == "@land":
            (self.places.queue if one.kind == "step_started" else self.places.leave)(one.subplan)
        steps = self._steps.setdefault(one.subplan, {})
        firing = int(data.get("firing", 0))
        if one.kind == "step_started":
            execution, reserved = int(data.get("execution", 1)), int(data.get("reserved", 0))
            self._with_output |= {one.subplan} if data.get("command") or data.get("agent") else set()
            steps[firing] = StepNow(one.step, one.attempt, one.at, firing, execution, reserved)
        else:
            steps.pop(firing, None)
            if one.outcome == "done":
                self._done.setdefault(one.subplan, set()).add(one.step)
                idle = self._idle.setdefault(one.subplan, {})
                idle.pop(one.step, None)
                idle |= {one.step: None} if data.get("changed") is False else {}

    def now(self, one: RecordedSubplan, beats: Mapping[str, Any], run: str) -> SubplanNow:
        path, state, changed = one.path, self._states.get(one.path, "pending"), self._changed.get(one.path)
        if state == "pending":
            return SubplanNow(
                path=path,
                is_leaf=one.is_leaf,
                state=state,
                steps_total=one.steps,
                wanted=self._wishes.of(path),
                blocked_by=tuple(dep for dep in one.depends_on if self._states.get(dep) != "completed"),
            )
        data = {} if changed is None else _data(changed)
        landing, conflict, message = self._landing(one, state)
        step = next(iter(self._steps.get(path, {}).values()), None)
        job = "" if step is None else f"{run}.{step.firing}.{step.execution}"
        pid = beats.get("running", {}).get(job)
        return SubplanNow(
            path=path,
            is_leaf=one.is_leaf,
            state=state,
            reason=data.get("reason"),
            message=message or data.get("message"),
            landing=landing or None,
            landing_place=self.places.of(path) or None,
            conflict=conflict,
            wanted=self._wishes.of(path),
            step=None if step is None else step.step,
            attempt=None if step is None else step.attempt,
            question=self._questions.get(path) if state == "running" else None,
            steps_done=one.steps if state == "completed" else self._steps_done(path),
            steps_total=one.steps,
            pid=pid,
            heartbeat_at=beats.get("at") if pid is not None else None,
            since=step.since if step is not None else None if changed is None else changed.at,
            cost=self.costs.get(path, 0),
            tokens=self._tokens.get(path, 0),
            has_output=path in self._with_output,
            rejected=self.signals.rejection(path) if state in {"running", "failed"} else None,
            branch=RefNames(self._plan.id, one.branch_prefix).branch(path) if one.has_branch else None,
            idle=tuple(self._idle.get(path, ())) if state in {"running", "failed"} else None,
        )

    def _steps_done(self, path: str) -> int:
        return sum(not step.startswith("@") and "." not in step for step in self._done.get(path, ()))

    def _landing(self, one: RecordedSubplan, state: str) -> tuple[str, tuple[str, ...], str]:
        said = self._landings.get(one.path)
        if said is not None and said[0]:
            return said if said[0] != "merged" else ("merged", (), "")
        if not one.has_branch:
            return "", (), ""
        return ("merged" if state == "completed" and not one.lands else "unmerged"), (), ""


def _data(one: Glimpse) -> dict[str, Any]:
    return cast("dict[str, Any]", {} if one.data == "{}" else json.loads(one.data))
