"""The state of a run for `weft status`, from its journal, without loading the plan or following each step.

A run of ten thousand slices is shown nearly as fast as one of ten: the states of subplans are read in one pass,
and steps only for subplans that are under way.
"""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from msgspec.structs import replace

from weft.app.history.ledger import spent_before, total
from weft.app.inspect.overview_model import CoordinatorProcess, Overview, SubplanNow
from weft.app.inspect.overview_sources import rare_events
from weft.app.inspect.requests import pending_requests
from weft.app.project.hosts import records_of
from weft.app.record.journal import RecordedRun
from weft.app.record.run_record import RecordedPlan, RecordedSubplan, dollars_of, recorded_plan, tokens_of
from weft.app.views.landing import MergeState, is_ahead
from weft.app.views.rows import BECAUSE_OF_OTHERS, RowView, RunningStep
from weft.app.views.run_fold import PLAN, RunFold
from weft.app.views.signals import ConflictAhead
from weft.engine.messages.event_codec import kinds_of
from weft.engine.messages.events import StepFinishedEvent
from weft.engine.messages.facts import EarlierSpending
from weft.engine.messages.internal_steps import is_internal
from weft.plan.hosts import LOCAL
from weft.ports.host import Sighting
from weft.ports.journal import JournalReader, RawEvent
from weft.runtime.job_ids import JobId
from weft.store.lease import is_alive
from weft.terms import AT_REST
from weft.workspaces.git.base.names import RefNames

STATES = ("pending", "running", "completed", "failed", *sorted(BECAUSE_OF_OTHERS))
"""States for counting slices. A slice that failed because of another one counts as blocked or cancelled."""
_STEP_ENDS = kinds_of(StepFinishedEvent)
_OPEN_STATES = frozenset({"running", "failed"})
_NO_ROW = RowView()
_NO_RESULT = MergeState()


def overview(recorded_run: RecordedRun, *, everything: bool = False, now: float | None = None) -> Overview:
    """Returns the state of a run.

    Without `everything`, it lists only subplans that are under way or need a person.
    """
    now = time.time() if now is None else now
    record, journal = recorded_run.run, recorded_run.journal
    plan, states = recorded_plan(record), journal.states(record.run)
    fold = _StatusFold(plan, states)
    requests = pending_requests(journal, record.run)
    rare = journal.notable_events(record.run) if everything else rare_events(journal, record.run)
    for glimpse in rare:
        fold.apply_glimpse(glimpse)
    # A request counts as if it had been taken up, so that the view does not offer what the user has just typed.
    for at, event in requests:
        fold.apply(event, at)
    if not everything:
        # The set is cheap to read; the thousands of events behind it are not.
        fold.set_landed(journal.landed(record.run))
    paths = [path for path in plan.paths if not recorded_run.subplan or recorded_run.sees(path)]
    unsettled = fold.unsettled_subplans()
    listed = [path for path in paths if everything or path in unsettled]
    if not everything:
        fold.read_landings(journal, record.run, listed)
    active = [path for path in listed if states.get(path) in _OPEN_STATES]
    newest = journal.record()
    is_last = newest is None or newest.run == record.run
    # The record holds the text of the plan, which may be long, so it is not read twice.
    state = newest.state if newest is not None and is_last else recorded_run.state()
    under_way = state not in AT_REST
    landing = fold.to_land(paths) if under_way else []
    # Only subplans that are under way can have open steps. The plan itself is included for its verify.
    for glimpse in journal.step_events(record.run, [*dict.fromkeys((*active, *landing)), PLAN]):
        fold.apply_life(glimpse)
    # A completed subplan is usually not listed, but while its result is on the way to the target a person wants to
    # see it.
    queued = {path for path in landing if fold.landings_by_path.places.is_queued(path)}
    shown = queued.union(listed)
    listed = [path for path in paths if path in shown] if queued else listed
    holder = journal.holder()
    alive = holder is not None and is_alive(holder)
    counts = fold.count(plan.slices(paths))
    return Overview(
        run=record.run,
        plan=record.plan,
        state=state,
        created_at=record.created_at,
        coordinator=None if holder is None else CoordinatorProcess(holder.pid, alive, holder.since),
        counts={state: counts[state] for state in STATES},
        cost=fold.cost,
        tokens=fold.tokens,
        unknown=fold.unknown_costs,
        ceiling=dollars_of(plan.budget),
        token_ceiling=tokens_of(plan.budget),
        reserved=fold.reserved,
        unreported=fold.charges.unreported[0],
        earlier=EarlierSpending() if fold.is_reset else total(spent_before(journal, record.plan, record.run)),
        uncounted=fold.charges.uncounted,
        wants=bool(fold.control_requests),
        limits=fold.signals.limits(now) if under_way else (),
        hosts=tuple(fold.hosts.out_of_reach()) if under_way else (),
        verifies=fold.signals.verifies(),
        ahead=fold.ahead(),
        outside=fold.signals.outside(),
        push=fold.landings_by_path.push,
        is_asked=bool(requests),
        plan_words=(*recorded_run.plan_words(), *recorded_run.chosen()),
        is_last=is_last,
        subplans=_rows(recorded_run, plan, fold, listed),
    )


def _rows(
    recorded_run: RecordedRun, plan: RecordedPlan, fold: "_StatusFold", paths: Sequence[str]
) -> list[SubplanNow]:
    """Returns the present states of subplans."""
    run = recorded_run.run.run
    # The pids come from the supervisor's own report and not from the journal, which does not know them.
    records = records_of(recorded_run.places, run)
    sightings = records.running()
    rows = [fold.now(plan.subplan(path), sightings, run) for path in paths]
    steps = {row.path: fold.running_step(row.path) for row in rows if row.pid is not None}
    if not steps:
        return rows
    # Agents are modules of their own, which a run at rest need not load.
    from weft.app.inspect.overview_activities import step_activities  # noqa: PLC0415

    activities = dict(step_activities(recorded_run, plan, records, steps))
    return [
        replace(row, activity=activities[row.path].words, heard_at=activities[row.path].heard_at)
        if row.path in activities
        else row
        for row in rows
    ]


class _StatusFold(RunFold):
    """The state of a run, folded from the events that were read."""

    def __init__(self, plan: RecordedPlan, states: Mapping[str, str]) -> None:
        super().__init__()
        self._plan = plan
        self._states = states
        self._landed: AbstractSet[str] = frozenset()

    # Sources

    def apply_glimpse(self, glimpse: RawEvent) -> None:
        # Decoding is slow, and of the many steps with a cost only those need it that reported totals before.
        if glimpse.kind in _STEP_ENDS and not self.totals:
            self.add_spending(glimpse.subplan, glimpse.cost or 0, glimpse.tokens or 0)
        else:
            self.apply(glimpse.event(), glimpse.at, glimpse.seq)

    def apply_life(self, glimpse: RawEvent) -> None:
        """Applies a change of state, or the start or end of a step. Its spending was applied before."""
        # The same step ends are among the rare events, with their costs; counting them twice would double the sum.
        self.apply(replace(glimpse, cost=None, tokens=None).event(), glimpse.at, glimpse.seq)

    def set_landed(self, paths: AbstractSet[str]) -> None:
        """Sets the subplans that have landed. The events of most of them were not read."""
        self._landed = paths

    def read_landings(self, journal: JournalReader, run: str, shown: Sequence[str]) -> None:
        """Reads the landings of listed subplans, and those after the last push."""
        landings = self.landings_by_path
        unread = [path for path in shown if path in self._landed and path not in landings.results]
        for glimpse in journal.merges(run, unread):
            self.apply_glimpse(glimpse)
        if landings.push is not None:
            for glimpse in journal.merges_after(run, landings.pushed):
                self.apply_glimpse(glimpse)

    # Queries

    @property
    def reserved(self) -> int:
        """The reservations of running steps, less what these have already spent."""
        steps = [step for row in self.by_path.values() for step in row.steps.values()]
        return sum(
            max(0, step.reserved[0] - self.totals.of((step.firing, step.execution))[0]) for step in steps
        )

    # These three go through all slices of the plan, of which there may be ten thousand. So they look at what is
    # unusual and at sets, and call no function for each slice.

    def unsettled_subplans(self) -> set[str]:
        """Returns the subplans that are under way, failed, or need a person."""
        left_out = {path for path, row in self.by_path.items() if row.left_out is not None}
        open_states = {path for path, state in self._states.items() if state in _OPEN_STATES}
        return open_states | left_out | self.held()

    def to_land(self, paths: Sequence[str]) -> list[str]:
        """Returns the subplans that are done and have a result that is still to land."""
        states, landed, results = self._states, self._landed, self.landings_by_path.results
        completed = [path for path in paths if states.get(path) == "completed" and path not in landed]
        merged = {path for path, result in results.items() if result.landing == "merged"}
        return self._plan.landing(path for path in completed if path not in merged)

    def count(self, slices: Sequence[str]) -> Counter[str]:
        """Returns the number of slices by state, or by the reason if others made the slice fail."""
        states = self._states
        counts = Counter([states.get(path, "pending") for path in slices])
        failed = [self._row(path).reason for path in slices if states.get(path) == "failed"]
        caused_by_others = [reason for reason in failed if reason in BECAUSE_OF_OTHERS]
        counts["failed"] -= len(caused_by_others)
        counts.update(caused_by_others)
        return counts

    def held(self) -> set[str]:
        """Returns the subplans that cannot be merged or land without a person."""
        return {path for path in self.landings_by_path.results if self._is_held(path)}

    def ahead(self) -> tuple[ConflictAhead, ...]:
        """Returns the conflicts that can still happen; held subplans are left out, as theirs has happened."""
        held = self.held()
        return tuple(
            ConflictAhead(subplan=first, other=second, files=files)
            for (first, second), files in self.landings_by_path.ahead.items()
            if is_ahead([self._states.get(first), self._states.get(second)]) and not {first, second} & held
        )

    def running_step(self, path: str) -> RunningStep:
        """Returns the first running step of a subplan that has one."""
        return next(iter(self.by_path[path].steps.values()))

    def _host(self, path: str, step: RunningStep | None) -> str:
        """Returns where a step runs, or where its slice is placed; empty for this machine."""
        host = self.hosts.placed.get(path, "") if step is None else step.host
        return "" if host == LOCAL else host

    def now(self, subplan: RecordedSubplan, sightings: Mapping[str, Sighting], run: str) -> SubplanNow:
        """Returns the present state of a subplan."""
        path, state = subplan.path, self._states.get(subplan.path, "pending")
        if state == "pending":
            return SubplanNow(
                path=path,
                is_leaf=subplan.is_leaf,
                state=state,
                steps_total=subplan.steps,
                wanted=self.control_requests.of(path),
                blocked_by=tuple(dep for dep in subplan.depends_on if self._states.get(dep) != "completed"),
            )
        row = self._row(path)
        result = self._landing(subplan, state)
        step = next(iter(row.steps.values()), None)
        job = "" if step is None else str(JobId(run, step.firing, step.execution))
        sighting = sightings.get(job)
        is_open = state in {"running", "failed"}
        questions = [question.text for question in row.questions.values()]
        return SubplanNow(
            path=path,
            is_leaf=subplan.is_leaf,
            state=state,
            reason=row.reason or None,
            message=result.message or row.message or None,
            landing=result.landing or None,
            landing_place=self.landings_by_path.places.of(path) or None,
            conflict=result.files,
            wanted=self.control_requests.of(path),
            step=None if step is None else step.step,
            attempt=None if step is None else step.attempt,
            host=self._host(path, step),
            question=questions[-1] if questions and state == "running" else None,
            steps_done=subplan.steps if state == "completed" else _count_planned(row.done),
            steps_total=subplan.steps,
            pid=None if sighting is None else sighting.pid,
            heartbeat_at=None if sighting is None else sighting.at,
            since=row.changed_at if step is None else step.started_at,
            cost=row.cost,
            tokens=row.tokens,
            has_output=row.has_output,
            rejected=row.rejected if is_open else None,
            branch=RefNames(self._plan.id, subplan.branch_prefix).branch(path)
            if subplan.has_branch
            else None,
            idle=tuple(row.idle) if is_open else None,
        )

    def _row(self, path: str) -> RowView:
        """Returns the row of a subplan; an empty row if no event of it was read."""
        return self.by_path.get(path, _NO_ROW)

    def _result(self, path: str) -> MergeState:
        return self.landings_by_path.results.get(path, _NO_RESULT)

    def _is_held(self, path: str) -> bool:
        return self._result(path).landing in {"held", "conflict"}

    def _landing(self, subplan: RecordedSubplan, state: str) -> MergeState:
        result = self._result(subplan.path)
        if result.landing:
            return result if result.landing != "merged" else MergeState("merged")
        if not subplan.has_branch:
            return _NO_RESULT
        return MergeState("merged" if state == "completed" and not subplan.lands else "unmerged")


def _count_planned(steps: Iterable[str]) -> int:
    """Counts the steps of the pipeline itself."""
    return sum(not is_internal(step) and "." not in step for step in steps)
