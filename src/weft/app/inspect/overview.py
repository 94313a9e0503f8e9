"""The state of a run for `weft status`, from its journal, without loading the plan or following each step.

A run of ten thousand slices is shown nearly as fast as one of ten: the states of subplans are read in one pass,
and steps only for subplans that are under way.
"""

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, cast

from weft.app.history.ledger import spent_before, total
from weft.app.inspect.overview_model import CoordinatorProcess, Overview, SubplanNow
from weft.app.inspect.overview_sources import StepNow, heartbeat, rare_events
from weft.app.inspect.requests import requested
from weft.app.record.journal import RecordedRun
from weft.app.record.run_record import RecordedPlan, RecordedSubplan, dollars_of, recorded_plan, tokens_of
from weft.app.views.landing_places import VERIFY_FAILED, LandingPlaces, landed_place
from weft.app.views.rows import BECAUSE_OF_OTHERS
from weft.app.views.signals import (
    RunSignals,
)
from weft.app.views.totals import Totals
from weft.engine.messages.facts import ControlState, EarlierSpending
from weft.engine.messages.run_status import AT_REST
from weft.engine.state.control_requests import ControlRequests
from weft.ports.journal import Glimpse, JournalReader
from weft.store.lease import is_alive
from weft.workspaces.git.base.names import RefNames

STATES = ("pending", "running", "completed", "failed", *sorted(BECAUSE_OF_OTHERS))
"""States for counting slices. A slice that failed because of another one counts as blocked or cancelled."""
_PLAN = ""
"""The path of the whole plan."""


def overview(recorded_run: RecordedRun, *, everything: bool = False, now: float | None = None) -> Overview:
    """Returns the state of a run.

    Without `everything`, it lists only subplans that are under way or need a person.
    """
    now = time.time() if now is None else now
    record, journal = recorded_run.run, recorded_run.journal
    plan, states = recorded_plan(record), journal.states(record.run)
    fold = _RunFold(plan, states)
    requests = requested(journal, record.run)
    rare = journal.glance(record.run) if everything else rare_events(journal, record.run)
    for glimpse in (*rare, *requests):
        fold.apply(glimpse)
    if not everything:
        fold.set_landed(journal.landed(record.run))
    paths = [path for path in plan.paths if recorded_run.sees(path)]
    listed = [path for path in paths if everything or fold.matters(path)]
    if not everything:
        fold.read_landings(journal, record.run, listed)
    active = [path for path in listed if states.get(path) in {"running", "failed"}]
    state = recorded_run.state()
    under_way = state not in AT_REST
    landing = [path for path in paths if under_way and fold.may_be_queued(path)]
    for glimpse in journal.lives(record.run, [*dict.fromkeys((*active, *landing)), _PLAN]):
        fold.apply_life(glimpse)
    queued = {path for path in landing if fold.places.is_queued(path)}
    shown = queued.union(listed)
    listed = [path for path in paths if path in shown] if queued else listed
    beats = heartbeat(recorded_run)
    holder = journal.holder()
    alive = holder is not None and is_alive(holder)
    counts = Counter(fold.counted(path) for path in paths if plan.is_leaf(path))
    newest = journal.record()
    return Overview(
        run=record.run,
        plan=record.plan,
        state=state,
        created_at=record.created_at,
        coordinator=None if holder is None else CoordinatorProcess(holder.pid, alive, holder.since),
        counts={state: counts[state] for state in STATES},
        cost=sum(fold.costs.values()),
        tokens=fold.tokens,
        unknown=fold.unknown,
        ceiling=dollars_of(plan.budget),
        token_ceiling=tokens_of(plan.budget),
        reserved=fold.reserved,
        unreported=fold.unreported,
        earlier=EarlierSpending() if fold.is_reset else total(spent_before(journal, record.plan, record.run)),
        uncounted=fold.uncounted,
        wants=fold.wants_something,
        limits=fold.signals.limits(now) if under_way else (),
        verifies=fold.signals.verifies(),
        ahead=fold.signals.ahead(states, fold.held()),
        outside=fold.signals.outside(),
        push=fold.signals.push,
        is_asked=bool(requests),
        plan_words=(*recorded_run.plan_words(), *recorded_run.chosen()),
        is_last=newest is None or newest.run == record.run,
        subplans=[fold.now(plan.subplan(path), beats, record.run) for path in listed],
    )


class _RunFold:
    """The state of a run, folded from the events that were read."""

    def __init__(self, plan: RecordedPlan, states: Mapping[str, str]) -> None:
        self._plan = plan
        self._states = states
        self._changed: dict[str, Glimpse] = {}
        """The last change of state of each subplan that was examined."""
        self._steps: dict[str, dict[int, StepNow]] = {}
        self._done: dict[str, set[str]] = {}
        self._idle: dict[str, dict[str, None]] = {}
        self._questions: dict[str, str] = {}
        self._landings: dict[str, tuple[str, tuple[str, ...], str]] = {}
        self._landed: AbstractSet[str] = frozenset()
        self._left_out: set[str] = set()
        self._requests = ControlRequests()
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

    def apply(self, glimpse: Glimpse) -> None:
        """Applies an event of the run."""
        match glimpse.kind:
            case "step_finished" | "spent":
                self._spend(glimpse)
            case "ask":
                self._questions[glimpse.subplan] = str(_data(glimpse).get("question", ""))
            case "answered":
                self._questions.pop(glimpse.subplan, None)
            case "merge":
                data = _data(glimpse)
                self._landings[glimpse.subplan] = (
                    glimpse.outcome if glimpse.step == "@land" or glimpse.outcome != "merged" else "",
                    tuple(data.get("files", ())) if glimpse.outcome == "conflict" else (),
                    str(data.get("message", "")),
                )
                self._apply_landing(glimpse, data)
            case _:
                self._apply_to_run(glimpse)

    def _apply_landing(self, glimpse: Glimpse, data: Mapping[str, Any]) -> None:
        if glimpse.step == "@land":
            red, moves = bool(data.get("red")), data.get("moves")
            place = landed_place(moves[-1]["after"] if moves else "") if glimpse.outcome == "merged" else ""
            self.places.end(glimpse.subplan, VERIFY_FAILED if red else place)
            self.signals.hold(glimpse.subplan, str(data.get("message", "")), red=red)
            if moves:
                self.signals.land(glimpse.seq)

    def set_landed(self, paths: AbstractSet[str]) -> None:
        """Sets the subplans that have landed. The events of most of them were not read."""
        self._landed = paths

    def read_landings(self, journal: JournalReader, run: str, shown: Sequence[str]) -> None:
        """Reads the landings of listed subplans, and those after the last push."""
        unread = [path for path in shown if path in self._landed and path not in self._landings]
        for glimpse in journal.merges(run, unread):
            self.apply(glimpse)
        if self.signals.push is not None:
            for glimpse in journal.merges_after(run, self.signals.pushed):
                self.apply(glimpse)

    def _spend(self, glimpse: Glimpse) -> None:
        """Adds the cost of a step, or what it has spent so far."""
        cost, tokens = glimpse.cost or 0, glimpse.tokens or 0
        # Parsing the data is slow, and only running totals need it.
        if glimpse.kind == "spent" or self._totals:
            data = _data(glimpse)
            execution = (int(data.get("firing", 0)), int(data.get("execution", 1)))
            cost, tokens = self._totals.more(
                execution, glimpse.cost, glimpse.tokens, ended=glimpse.kind != "spent"
            )
        self.costs[glimpse.subplan] = self.costs.get(glimpse.subplan, 0) + cost
        self._tokens[glimpse.subplan] = self._tokens.get(glimpse.subplan, 0) + tokens
        self.tokens += tokens

    @property
    def reserved(self) -> int:
        """The reservations of running steps, less what these have already spent."""
        steps = [step for steps in self._steps.values() for step in steps.values()]
        return sum(
            max(0, step.reserved - self._totals.of((step.firing, step.execution))[0]) for step in steps
        )

    def _apply_to_run(self, glimpse: Glimpse) -> None:
        self.signals.hear(glimpse)
        match glimpse.kind:
            case "verify":
                self.places.verify(_data(glimpse).get("entries", ()) if glimpse.outcome == "started" else ())
            case "paused" | "resumed":
                self._requests.says(glimpse.subplan, ControlState(glimpse.outcome))
            case "recovered":
                self._requests.forget_stops()
            case "budget" if glimpse.outcome == "reset":
                running_totals = self._totals.all()
                self.is_reset = True
                self.unreported = 0
                self.uncounted = (
                    sum(self.costs.values()) - running_totals[0],
                    self.tokens - running_totals[1],
                )
            case "left_out":
                self._left_out.add(glimpse.subplan)
                self._landings[glimpse.subplan] = ("unmerged", (), str(_data(glimpse).get("message", "")))
            case "cost_unknown":
                self.unknown += 1
                self.unreported += int(_data(glimpse).get("reserved", 0))
            case "run_finished":
                self.unknown = int(_data(glimpse).get("unknown_costs", 0))
            case _:
                pass

    @property
    def wants_something(self) -> bool:
        """Whether people have paused or stopped any of it."""
        return bool(self._requests)

    def matters(self, path: str) -> bool:
        """Returns whether the subplan is under way, failed, or needs a person."""
        state = self._states.get(path, "")
        if state in {"running", "failed"}:
            return True
        return path in self._left_out or self._is_held(path)

    def may_be_queued(self, path: str) -> bool:
        """Returns whether the steps are done and the result is to land but has not."""
        if self._states.get(path) != "completed" or path in self._landed:
            return False
        if self._landings.get(path, ("",))[0] == "merged":
            return False
        subplan = self._plan.subplan(path)
        return subplan.lands and subplan.has_branch

    def _is_held(self, path: str) -> bool:
        return self._landings.get(path, ("",))[0] in {"held", "conflict"}

    def held(self) -> set[str]:
        """Returns the subplans that cannot be merged or land without a person."""
        return {path for path in self._landings if self._is_held(path)}

    def counted(self, path: str) -> str:
        """Returns the state that a slice counts as."""
        changed = self._changed.get(path)
        reason = str(_data(changed).get("reason", "")) if changed is not None else ""
        state = self._states.get(path, "pending")
        return reason if state == "failed" and reason in BECAUSE_OF_OTHERS else state

    def apply_life(self, glimpse: Glimpse) -> None:
        """Applies a change of state, or the start or end of a step."""
        if glimpse.kind == "subplan_state":
            self._changed[glimpse.subplan] = glimpse
            return
        self.signals.hear_step(glimpse)
        data = _data(glimpse)
        if glimpse.step == "@land":
            (self.places.queue if glimpse.kind == "step_started" else self.places.leave)(glimpse.subplan)
        steps = self._steps.setdefault(glimpse.subplan, {})
        firing = int(data.get("firing", 0))
        if glimpse.kind == "step_started":
            execution, reserved = int(data.get("execution", 1)), int(data.get("reserved", 0))
            self._with_output |= {glimpse.subplan} if data.get("command") or data.get("agent") else set()
            steps[firing] = StepNow(glimpse.step, glimpse.attempt, glimpse.at, firing, execution, reserved)
        else:
            steps.pop(firing, None)
            if glimpse.outcome == "done":
                self._done.setdefault(glimpse.subplan, set()).add(glimpse.step)
                idle = self._idle.setdefault(glimpse.subplan, {})
                idle.pop(glimpse.step, None)
                idle |= {glimpse.step: None} if data.get("changed") is False else {}

    def now(self, subplan: RecordedSubplan, beats: Mapping[str, Any], run: str) -> SubplanNow:
        """Returns the present state of a subplan."""
        path, state, changed = (
            subplan.path,
            self._states.get(subplan.path, "pending"),
            self._changed.get(subplan.path),
        )
        if state == "pending":
            return SubplanNow(
                path=path,
                is_leaf=subplan.is_leaf,
                state=state,
                steps_total=subplan.steps,
                wanted=self._requests.of(path),
                blocked_by=tuple(dep for dep in subplan.depends_on if self._states.get(dep) != "completed"),
            )
        data = {} if changed is None else _data(changed)
        landing, conflict, message = self._landing(subplan, state)
        step = next(iter(self._steps.get(path, {}).values()), None)
        job = "" if step is None else f"{run}.{step.firing}.{step.execution}"
        pid = beats.get("running", {}).get(job)
        return SubplanNow(
            path=path,
            is_leaf=subplan.is_leaf,
            state=state,
            reason=data.get("reason"),
            message=message or data.get("message"),
            landing=landing or None,
            landing_place=self.places.of(path) or None,
            conflict=conflict,
            wanted=self._requests.of(path),
            step=None if step is None else step.step,
            attempt=None if step is None else step.attempt,
            question=self._questions.get(path) if state == "running" else None,
            steps_done=subplan.steps if state == "completed" else self._steps_done(path),
            steps_total=subplan.steps,
            pid=pid,
            heartbeat_at=beats.get("at") if pid is not None else None,
            since=step.since if step is not None else None if changed is None else changed.at,
            cost=self.costs.get(path, 0),
            tokens=self._tokens.get(path, 0),
            has_output=path in self._with_output,
            rejected=self.signals.rejection(path) if state in {"running", "failed"} else None,
            branch=RefNames(self._plan.id, subplan.branch_prefix).branch(path)
            if subplan.has_branch
            else None,
            idle=tuple(self._idle.get(path, ())) if state in {"running", "failed"} else None,
        )

    def _steps_done(self, path: str) -> int:
        return sum(not step.startswith("@") and "." not in step for step in self._done.get(path, ()))

    def _landing(self, subplan: RecordedSubplan, state: str) -> tuple[str, tuple[str, ...], str]:
        landing = self._landings.get(subplan.path)
        if landing is not None and landing[0]:
            return landing if landing[0] != "merged" else ("merged", (), "")
        if not subplan.has_branch:
            return "", (), ""
        return ("merged" if state == "completed" and not subplan.lands else "unmerged"), (), ""


def _data(glimpse: Glimpse) -> dict[str, Any]:
    return cast("dict[str, Any]", {} if glimpse.data == "{}" else json.loads(glimpse.data))
