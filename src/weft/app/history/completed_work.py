"""What earlier runs of a plan have completed, and the plan has not changed since: that need not be done again.

The last run tells of all that it was for. If that was only a part of the plan, because a few subplans were chosen,
the run before it tells of the others; and so on, back to one that was for the whole plan or did everything anew.
"""

from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet

from msgspec import Struct, field

from weft.app.history.earlier_runs import Earlier
from weft.app.history.slice_progress import SliceProgress, progress_of
from weft.engine.messages.events import Event
from weft.engine.messages.facts import EarlierSlice, RunStarted
from weft.plan.digests import subplan_digests
from weft.plan.loader.load import Surroundings, load_plan
from weft.plan.model import Plan
from weft.plan.order.outline import ROOT
from weft.plan.order.points import Points
from weft.ports.journal import JournalReader, RunRecord


class CompletedWork(Struct, frozen=True):
    """What earlier runs have completed, and still is what it was then."""

    paths: tuple[str, ...] = ()
    is_all: bool = False
    """Whether that is all there is to do."""
    landed: tuple[str, ...] = ()
    """Those whose results have landed."""
    target: str = ""
    """The branch that they have landed on."""
    told_by: dict[str, str] = field(default_factory=dict[str, str])
    """For each path the last run that has completed it, or has taken it over."""
    taken_over: frozenset[str] = frozenset()
    """What that run has not done itself."""
    continued: tuple[EarlierSlice, ...] = ()
    """Slices that are not completed, and continue after the steps that an earlier run has done."""


def kept_of(
    plan: Plan, journal: JournalReader, runs: Iterable[Earlier], parts: Collection[str] = ()
) -> CompletedWork:
    """`runs`: the newest first. `parts`: groups of which the plan has only a part, so that they are never done."""
    past = _Past(plan)
    for record, started in runs:
        if past.hears(record, started, _Story(started).hears(journal, record.run)):
            break
    return past.kept(parts)


def completed_by(kept: CompletedWork, journal: JournalReader, runs: Iterable[Earlier]) -> dict[str, str]:
    """For each path the run that has completed it, from which others may have taken it over."""
    found = {path: run for path, run in kept.told_by.items() if path not in kept.taken_over}
    sought: set[str] = set()
    unseen = set(kept.taken_over)
    for record, started in runs:
        told = {path for path in unseen if kept.told_by[path] == record.run}
        unseen -= told
        if sought:
            story = _Story(started).hears(journal, record.run)
            here = {path for path in sought if story.completed.get(path) == _HERE}
            found.update(dict.fromkeys(here, record.run))
            sought -= here
        sought |= told
        if not sought and not unseen:
            break
    return kept.told_by | found


_HERE, _BEFORE = "here", "before"


class _Story(Struct):
    """What a run has come to."""

    started: RunStarted
    completed: dict[str, str] = field(default_factory=dict[str, str])
    """Where: by this run, or by one before it."""
    landed: set[str] = field(default_factory=set[str])
    left_out: set[str] = field(default_factory=set[str])
    """What groups went on without."""
    slices: dict[str, SliceProgress] = field(default_factory=dict[str, SliceProgress])
    """How far it got with those that it did not complete."""

    def hears(self, journal: JournalReader, run: str) -> "_Story":
        self.completed = dict.fromkeys(self.started.carried, _BEFORE)
        self.landed = set(self.started.landed)
        for earlier in self.started.continued:
            self.slices[earlier.subplan] = progress_of(run, earlier.subplan, earlier)
        for one in journal.events(run):
            self._hear(one.event)
        if self.left_out:
            self._undo()
        return self

    def _undo(self) -> None:
        """What was left out is done anew, and so are the groups around it; what else is in these has landed."""
        undone = {
            one
            for one in self.completed
            if any(_is_in(one, path) or _is_in(path, one) for path in self.left_out)
        }
        self.completed = {path: where for path, where in self.completed.items() if path not in undone}
        groups = self.landed & undone
        self.landed |= {path for path in self.completed if any(_is_in(path, group) for group in groups)}

    def _hear(self, event: Event) -> None:
        path = event.subplan
        if event.kind == "subplan_state" and event.outcome == "completed":
            self.slices.pop(path, None)
        elif path and path not in self.completed:
            if path not in self.slices:
                self.slices[path] = progress_of(self.started.run, path, None)
            self.slices[path].hear(event)
        match event.kind, event.outcome, event.step:
            case "subplan_state", "completed", _ if event.subplan not in self.completed:
                self.completed[event.subplan] = _HERE
            case "step_finished", "done", "@land":
                self.landed.add(event.subplan)
            case "parts", "landed", _:
                self.landed.update(event.data["parts"])
            case "left_out", _, _:
                self.left_out.add(event.subplan)
            case _:
                pass


def _is_in(path: str, other: str) -> bool:
    return path == other or path.startswith(f"{other}/")


class _Past:
    """What is known of each subplan of a plan: the last run that had it in its plan decides."""

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
        self._landed: set[str] = set()

    def hears(self, record: RunRecord, started: RunStarted, story: _Story) -> bool:
        """Whether nothing older matters."""
        self._runs += 1
        self._last = self._last or (record, started)
        is_end = not started.chosen or started.fresh
        if story.completed or story.slices or not is_end:
            done = self._compare(record, story)
            if started.target == self._last[1].target:
                self._landed |= story.landed & done
        return is_end or not self._undecided

    def _compare(self, record: RunRecord, story: _Story) -> AbstractSet[str]:
        """What this run has completed, and no later one has had in its plan."""
        before = _digests(load_plan(record.text, record.file, surroundings=Surroundings(git=False)))
        self._digests = self._digests or _digests(self._plan)
        known = self._undecided & before.keys()
        self._undecided -= known
        same = {path: record.run for path in known if before[path] == self._digests[path]}
        self._same |= same
        done = {path: run for path, run in same.items() if path in story.completed}
        self._done |= done
        self._taken_over |= {path for path in done if story.completed[path] == _BEFORE}
        for path in same.keys() & story.slices.keys():
            earlier = story.slices[path].earlier()
            if earlier is not None:
                self._continued[path] = earlier
        return done.keys()

    def kept(self, parts: Collection[str]) -> CompletedWork:
        if self._last is None:
            return CompletedWork()
        done = self._done if self._runs == 1 else _consistent(self._plan, self._done)
        paths = tuple(path for path in self._plan.outline.paths if path in done)
        record, started = self._last
        return CompletedWork(
            paths=paths,
            is_all=record.state == "completed" and self._is_all(done, parts),
            landed=tuple(path for path in paths if path in self._landed),
            target=started.target,
            told_by={path: done[path] for path in paths},
            taken_over=frozenset(path for path in paths if path in self._taken_over),
            continued=tuple(
                self._continued[path]
                for path in self._plan.outline.paths
                if path in self._continued and path not in done
            ),
        )

    def _is_all(self, done: Mapping[str, str], parts: Collection[str]) -> bool:
        """The whole plan is completed when a run is, and told of by nothing else."""
        whole = self._plan.outline.paths[ROOT]
        return all(
            path in done or path in parts or (path == whole and path in self._same)
            for path in self._plan.outline.paths
        )


def changed_paths(before: Plan, after: Plan) -> frozenset[str]:
    """The subplans of a plan that another plan lacks or has changed, or that build on such ones."""
    now = _digests(after)
    return frozenset(path for path, digest in _digests(before).items() if now.get(path) != digest)


def _digests(plan: Plan) -> dict[str, str]:
    return dict(zip(map(str, plan.outline.paths), subplan_digests(plan), strict=True))


def _consistent(plan: Plan, done: Mapping[str, str]) -> dict[str, str]:
    """Without what is built on something that a later run has not completed."""
    outline = plan.outline
    stands = [str(path) in done for path in outline.paths]
    grounded = [True] * len(stands)
    """Whether all that a row starts from stands."""
    for point in Points(outline).topological_order():
        row, closes = divmod(point, 2)
        if closes:
            stands[row] = stands[row] and all(stands[child] for child in outline.children(row))
        elif row:
            needed = outline.depends_on[row]
            grounded[row] = grounded[outline.parents[row]] and all(stands[one] for one in needed)
            stands[row] = stands[row] and grounded[row]
    return {str(path): done[path] for row, path in enumerate(outline.paths) if stands[row]}
