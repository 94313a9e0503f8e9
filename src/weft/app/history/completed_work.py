"""The subplans that earlier runs have completed and that the plan has not changed since; they are not repeated.

The last run decides about all subplans that it was for. If the user had selected only a part of the plan, the run
before it decides about the others, and so on, back to a run of the whole plan or a run with `--fresh`.
"""

from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet

from msgspec import Struct, field

from weft.app.history.earlier_runs import Earlier
from weft.app.history.slice_progress import SliceProgress, progress_of
from weft.engine.messages import events as kinds
from weft.engine.messages.events import AnyEvent
from weft.engine.messages.facts import EarlierSlice, RunStarted, SliceFeedback
from weft.engine.messages.internal_steps import InternalStep
from weft.engine.states import SubplanExecutionState as State
from weft.plan.digests import subplan_digests
from weft.plan.loader.load import Surroundings, load_plan
from weft.plan.model import Plan
from weft.plan.order.outline import ROOT
from weft.plan.order.points import Points
from weft.ports.journal import JournalReader, RunRecord


class CompletedWork(Struct, frozen=True):
    """The unchanged work that earlier runs have completed."""

    paths: tuple[str, ...] = ()
    is_all: bool = False
    """Whether nothing remains to be done."""
    landed: tuple[str, ...] = ()
    """The paths of the results that have landed."""
    target: str = ""
    """The branch that they have landed on."""
    recorded_by: dict[str, str] = field(default_factory=dict[str, str])
    """For each path, the last run that completed it or carried it over."""
    taken_over: frozenset[str] = frozenset()
    """The paths that this last run carried over from an earlier run."""
    continued: tuple[EarlierSlice, ...] = ()
    """Slices that are not completed and continue after the steps that an earlier run completed."""
    feedback: tuple[SliceFeedback, ...] = ()
    """What people want changed in slices that are not completed since."""


def kept_of(
    plan: Plan, journal: JournalReader, runs: Iterable[Earlier], parts: Collection[str] = ()
) -> CompletedWork:
    """Returns the completed work in `runs`, which come newest first.

    `parts` are groups that the plan contains only in part, so that they are never completed.
    """
    past = _History(plan)
    for record, started in runs:
        # Reading the events of a run is the expensive part, and a journal can hold hundreds of runs, so the search
        # ends at the first run that decides about everything that is still open.
        if past.add(record, started, _RunResult(started).read(journal, record.run)):
            break
    return past.kept(parts)


def completed_by(kept: CompletedWork, journal: JournalReader, runs: Iterable[Earlier]) -> dict[str, str]:
    """Returns for each path the run that completed it, even if later runs have carried it over."""
    completing_runs = {path: run for path, run in kept.recorded_by.items() if path not in kept.taken_over}
    sought: set[str] = set()
    unseen = set(kept.taken_over)
    for record, started in runs:
        # A path is searched for only in runs older than the last one that carried it over.
        carried = {path for path in unseen if kept.recorded_by[path] == record.run}
        unseen -= carried
        if sought:
            result = _RunResult(started).read(journal, record.run)
            completed = {path for path in sought if result.completed.get(path) == _HERE}
            completing_runs.update(dict.fromkeys(completed, record.run))
            sought -= completed
        sought |= carried
        if not sought and not unseen:
            break
    return kept.recorded_by | completing_runs


_HERE, _BEFORE = "here", "before"


class _RunResult(Struct):
    """The result of one run, folded from its events."""

    started: RunStarted
    completed: dict[str, str] = field(default_factory=dict[str, str])
    """By path: `_HERE` if this run completed it, `_BEFORE` if an earlier run did."""
    landed: set[str] = field(default_factory=set[str])
    left_out: set[str] = field(default_factory=set[str])
    """The subplans that their groups continued without."""
    slices: dict[str, SliceProgress] = field(default_factory=dict[str, SliceProgress])
    """The progress of slices that the run did not complete."""

    def read(self, journal: JournalReader, run: str) -> "_RunResult":
        self.completed = dict.fromkeys(self.started.carried, _BEFORE)
        self.landed = set(self.started.landed)
        for earlier in self.started.continued:
            self.slices[earlier.subplan] = progress_of(run, earlier.subplan, earlier)
        for recorded in journal.events(run):
            self._apply(recorded.event)
        # Only at the end: whether a subplan is left out is known after its contents and its group have completed.
        if self.left_out:
            self._undo()
        return self

    def _undo(self) -> None:
        """Removes left-out subplans and the groups around them, which the next run repeats.

        The other contents of such a group have landed if the group has.
        """
        undone = {
            path
            for path in self.completed
            if any(_is_in(path, left_out) or _is_in(left_out, path) for left_out in self.left_out)
        }
        self.completed = {path: where for path, where in self.completed.items() if path not in undone}
        groups = self.landed & undone
        self.landed |= {path for path in self.completed if any(_is_in(path, group) for group in groups)}

    def _apply(self, event: AnyEvent) -> None:  # noqa: C901 - one case for each class
        path = event.subplan
        is_completed = isinstance(event, kinds.SubplanStateEvent) and event.outcome is State.COMPLETED
        if is_completed:
            self.slices.pop(path, None)
        # A subplan that was carried over has no progress of its own in this run, although events may still mention
        # it.
        elif path and path not in self.completed:
            if path not in self.slices:
                self.slices[path] = progress_of(self.started.run, path, None)
            self.slices[path].apply(event)
        match event:
            case kinds.SubplanStateEvent():
                if is_completed and path not in self.completed:
                    self.completed[path] = _HERE
            case kinds.StepFinishedEvent():
                if event.step == InternalStep.LAND and event.outcome is kinds.StepEnd.DONE:
                    self.landed.add(path)
            case kinds.PartsEvent():
                if event.outcome is kinds.PartsOutcome.LANDED:
                    self.landed.update(event.parts or ())
            case kinds.LeftOutEvent():
                self.left_out.add(path)
            case _:
                kinds.overlook(event)


def _is_in(path: str, group: str) -> bool:
    return path == group or path.startswith(f"{group}/")


class _History:
    """The history of each subplan of a plan: the last run that had the subplan in its plan decides."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._digests: dict[str, str] = {}
        self._undecided = {str(path) for path in plan.outline.paths}
        self._last: Earlier | None = None
        self._runs = 0
        self._same: dict[str, str] = {}
        self._done: dict[str, str] = {}
        self._taken_over: set[str] = set()
        self._continued: dict[str, EarlierSlice] = {}
        self._feedback: dict[str, SliceFeedback] = {}
        self._landed: set[str] = set()

    def add(self, record: RunRecord, started: RunStarted, result: _RunResult) -> bool:
        """Adds a run and returns whether older runs do not matter."""
        self._runs += 1
        self._last = self._last or (record, started)
        # A run of the whole plan decides about every subplan in it, and `--fresh` says that older work does not
        # count.
        is_end = not started.chosen or started.fresh
        if result.completed or result.slices or started.feedback or not is_end:
            done = self._compare(record, result)
            # Work that landed on another branch is completed but has not landed where this plan lands now.
            if started.target == self._last[1].target:
                self._landed |= result.landed & done
        return is_end or not self._undecided

    def _compare(self, record: RunRecord, result: _RunResult) -> AbstractSet[str]:
        """Returns the subplans that this run completed and that no later run had in its plan."""
        # The recorded text holds the resolved settings of that time, so loading it reads no configuration and
        # needs no git: an edit of the configuration since then counts as a change of the plan.
        before = _digests(load_plan(record.text, record.file, surroundings=Surroundings(git=False)))
        # At the first comparison: without an earlier run there is nothing to compare with.
        self._digests = self._digests or _digests(self._plan)
        # A run decides about a subplan by having it in its plan, even if it did not complete it: otherwise work
        # from a still older version of the plan would count again after the user has changed it twice.
        decided = self._undecided & before.keys()
        self._undecided -= decided
        same = {path: record.run for path in decided if before[path] == self._digests[path]}
        self._same |= same
        done = {path: run for path, run in same.items() if path in result.completed}
        self._done |= done
        self._taken_over |= {path for path in done if result.completed[path] == _BEFORE}
        for path in same.keys() & result.slices.keys():
            earlier = result.slices[path].earlier()
            if earlier is not None:
                self._continued[path] = earlier
        self._feedback |= {
            feedback.subplan: feedback
            for feedback in result.started.feedback
            if feedback.subplan in same and feedback.subplan not in done
        }
        return done.keys()

    def kept(self, parts: Collection[str]) -> CompletedWork:
        if self._last is None:
            return CompletedWork()
        # One run is consistent in itself. Results from several runs can be mixed: a partial run may have redone a
        # dependency that a subplan of an older run was built on.
        done = self._done if self._runs == 1 else _consistent(self._plan, self._done)
        paths = tuple(path for path in self._plan.outline.paths if path in done)
        record, started = self._last
        return CompletedWork(
            paths=paths,
            # A run can fail although all its subplans are completed, for example when the verify of the whole plan
            # fails.
            is_all=record.state == "completed" and self._is_all(done, parts),
            landed=tuple(path for path in paths if path in self._landed),
            target=started.target,
            recorded_by={path: done[path] for path in paths},
            taken_over=frozenset(path for path in paths if path in self._taken_over),
            continued=tuple(
                self._continued[path]
                for path in self._plan.outline.paths
                if path in self._continued and path not in done
            ),
            feedback=tuple(
                self._feedback[path] for path in self._plan.outline.paths if path in self._feedback
            ),
        )

    def _is_all(self, done: Mapping[str, str], parts: Collection[str]) -> bool:
        """Returns whether every path is completed; no event reports the plan itself, only the state of the run."""
        whole = self._plan.outline.paths[ROOT]
        return all(
            path in done or path in parts or (path == whole and path in self._same)
            for path in self._plan.outline.paths
        )


def changed_paths(before: Plan, after: Plan) -> frozenset[str]:
    """Returns the subplans that `after` lacks or has changed, or that build on such subplans."""
    new_digests = _digests(after)
    return frozenset(path for path, digest in _digests(before).items() if new_digests.get(path) != digest)


def _digests(plan: Plan) -> dict[str, str]:
    return dict(zip(map(str, plan.outline.paths), subplan_digests(plan), strict=True))


def _consistent(plan: Plan, done: Mapping[str, str]) -> dict[str, str]:
    """Returns the completed subplans without those that build on work that a later run has not completed."""
    outline = plan.outline
    stands = [str(path) in done for path in outline.paths]
    grounded = [True] * len(stands)
    """Whether all dependencies of a row, and of the groups around it, are completed."""
    # Each row has two points, its start and its end. In topological order, the dependencies of a row have been
    # decided before its start, and the contents of a group before its end, so one pass is enough.
    for point in Points(outline).topological_order():
        row, closes = divmod(point, 2)
        if closes:
            stands[row] = stands[row] and all(stands[child] for child in outline.children(row))
        elif row:
            dependencies = outline.depends_on[row]
            grounded[row] = grounded[outline.parents[row]] and all(stands[needed] for needed in dependencies)
            stands[row] = stands[row] and grounded[row]
    return {str(path): done[path] for row, path in enumerate(outline.paths) if stands[row]}
