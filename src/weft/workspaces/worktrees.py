"""`isolation: worktree`: each slice in a worktree of its own, on a branch of its own.

The branch of a group is where the work of what is in it comes together; that of the whole plan is around them all.
All that is known is in git, and what belongs together is changed by one transaction of git's. So what was done
before a crash is found done after it, and is told then, too: for each branch that we move there is a note of where
it was before. Several threads may use this at once. No two are about the same subplan, but for its steps: some may
be under way at once.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from msgspec.structs import replace

from weft.engine.messages.facts import EarlierSlice, RefMove
from weft.engine.suspects import Suspect
from weft.ports.workspaces import (
    Breach,
    ClosedConflict,
    ContinuationResult,
    MergeRequest,
    MergeResult,
    OpenConflict,
    StepWatch,
    StepWork,
    WorkspaceRequest,
)
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.base.refs import is_ancestor, move, tips_of
from weft.workspaces.git.base.worktree_links import MAKING, git_dir_of, require_registered
from weft.workspaces.git.checkouts.commits import keep, keep_logged, record
from weft.workspaces.git.checkouts.untracked_files import take_as_brought
from weft.workspaces.git.merges.conflict_forecast import ConflictForecast
from weft.workspaces.git.merges.conflict_resolution import WorktreeConflicts
from weft.workspaces.git.merges.integrate import Integration
from weft.workspaces.git.merges.merge_commits import MergeCommits
from weft.workspaces.git.merges.merge_without import PartRemoval
from weft.workspaces.git.plan_repository import Known, PlanRepository, around, changes, wish
from weft.workspaces.git.recovery import Recovery
from weft.workspaces.git.slices.clone_exchange import Clones
from weft.workspaces.git.slices.continuation import WorktreeContinuation
from weft.workspaces.git.slices.group_branches import GroupBranches
from weft.workspaces.git.slices.start import SliceStart, SliceStarts
from weft.workspaces.git.slices.step_changes import StepChanges
from weft.workspaces.git.target.target_branch import TargetBranch
from weft.workspaces.git.worktrees.worktrees import Worktrees

_TRIES = 20
"""So often a start is computed anew because a branch has moved meanwhile, before we give up."""


class WorktreeWorkspaces:
    def __init__(self, plan_repository: PlanRepository) -> None:
        self._repository = plan_repository
        self._names = plan_repository.names
        self._git = plan_repository.git
        self._worktrees = Worktrees(plan_repository.git, plan_repository.repository.common)
        self._clones = Clones(plan_repository, self._worktrees)
        self.recovery = Recovery(plan_repository)
        self._starting = SliceStarts(plan_repository)
        self._continuing = WorktreeContinuation(
            plan_repository, self._worktrees, self._starting, keep=self._keep, bring_up=self._brought_up
        )
        commits = MergeCommits(plan_repository, self._worktrees)
        self._joining = Integration(plan_repository, self._worktrees, commits)
        self.target = TargetBranch(plan_repository, self._worktrees, commits)
        self._resolving = WorktreeConflicts(plan_repository, self._worktrees)
        self._watching = StepChanges(plan_repository)
        self._parting = PartRemoval(plan_repository)
        self._foresight = ConflictForecast(plan_repository.git)
        self._group_branches = GroupBranches(plan_repository, clear=self._clear)
        self._at_steps: defaultdict[str, Lock] = defaultdict(Lock)
        """For each slice: held by whoever proves its worktree, or records what one of its steps did."""

    def start_anew(self) -> Sequence[RefMove]:
        return self._group_branches.start_anew()

    def follow_base(self) -> Sequence[RefMove]:
        return self._group_branches.follow_base()

    @contextmanager
    def _at_workspace(self, path: str) -> Generator[None]:
        """For one thread at a time. What is in the clone is in the worktree then, and after it vice versa."""
        with self._at_steps[path]:
            self.recovery.restore(path)
            with self._clones.synchronized(path):
                yield

    # Places

    def place(self, path: str) -> Path:
        if path in self._repository.groups:
            return self.scratch(path)
        return self._repository.worktree(path) / self._repository.repository.inside

    def scratch(self, path: str) -> Path:
        return self._repository.scratch(path) / self._repository.repository.inside

    # A slice

    def has_history(self, path: str) -> bool:  # noqa: ARG002 - all have
        return True

    def prepare(self, request: WorkspaceRequest) -> Sequence[RefMove]:
        with self._at_steps[request.path]:
            return self._prepare(request)

    def _prepare(self, request: WorkspaceRequest) -> Sequence[RefMove]:
        path, worktree = request.path, self._repository.worktree(request.path)
        start, moves = self._begin(request)
        clone = self._repository.shared_refs if path in self._repository.clones else None
        branch = self._names.head(path)
        self._worktrees.make(worktree, branch=branch, commit=start, sparse=request.sparse, clone=clone)
        self._repository.bring(worktree, request.copy, request.link)
        self._clones.furnish(path)
        return moves

    def continue_after(self, request: WorkspaceRequest, earlier: EarlierSlice) -> ContinuationResult:
        with self._at_steps[request.path]:
            self.recovery.restore(request.path)
            try:
                self._clones.take_in(request.path)
            except WorkspaceError:
                return ContinuationResult(is_kept=False)
            continued = self._continuing.after(request, earlier)
            self._clones.hand_out(request.path)
            return continued

    def _begin(self, request: WorkspaceRequest) -> tuple[str, list[RefMove]]:
        self.recovery.restore(request.path)
        self._clones.take_or_drop(request.path)
        for _ in range(_TRIES):
            known = self._repository.known()
            start = self._starting.of(request, known)
            self._clear(request.path)
            moves = self._set_out(request.path, start, known)
            if moves is not None:
                return start.commit, moves
        raise _restless(request.path)

    def _clear(self, path: str) -> None:
        """What an earlier try left goes, once all of it has a name."""
        worktree = self._repository.worktree(path)
        found = self._worktrees.find(worktree, self._names.head(path))
        if found is None or found.locked == MAKING:
            return  # nobody has worked there
        if found.locked is not None:
            reason = f" ({found.locked})" if found.locked else ""
            raise WorkspaceError(
                f"the worktree {worktree} is locked{reason}, so it is not made anew; if it may be, type: "
                f"git worktree unlock {worktree}"
            )
        self._clones.take_or_drop(path)
        self._keep(path, worktree)
        self._worktrees.discard(worktree)

    def _keep(self, path: str, worktree: Path) -> None:
        if worktree.is_dir() and any(worktree.iterdir()):
            require_registered(worktree, git_dir_of(worktree), self._repository.repository.common)
            work = StepWork(
                path=path, step="@workspace", attempt=0, subject=f"{path or 'the plan'}: what was left"
            )
            self._record(keep, work)
            return
        entry = self._worktrees.entry_of(worktree)
        assert entry is not None
        keep_logged(self._git, entry, path, self._names)

    def _set_out(self, path: str, start: SliceStart, known: Known) -> list[RefMove] | None:
        """The moves of branches; None if one of them has been moved meanwhile, and none has changed."""
        names = self._names
        before, told = (known.get(ref, "") for ref in (names.head(path), names.told(path)))
        wishes = [
            *start.follows,
            *self._left_behind(path, start.commit, known),
            wish(known, names.head(path), start.commit),
            wish(known, names.start(path), start.commit),
            wish(known, names.told(path), told if before == start.commit else before),
            wish(known, names.tip(path), ""),
            wish(known, names.passed(path), ""),
        ]
        if not move(self._git, changes(wishes), reason=f"weft: {path} begins"):
            return None
        moves = [
            *_of_branches(start.follows),
            RefMove(ref=names.head(path), before=before, after=start.commit),
        ]
        if before and before == known.get(names.start(path)) != told:
            # It had been prepared before, and no step has begun since: maybe nobody was told.
            last = RefMove(ref=names.head(path), before=told, after=before)
            moves = [*self._followed(path, known), last, *moves]
        return changes(moves)

    def _left_behind(self, path: str, start: str, known: Known) -> list[RefMove]:
        """Names for what an earlier try did; if its branch is gone, it is known how far it had been recorded."""
        names = self._names
        ends = {known.get(names.head(path)), known.get(names.tip(path))} - {
            None,
            known.get(names.start(path)),
        }
        lost = [end for end in sorted(filter(None, ends)) if not is_ancestor(self._git, end, start)]
        return [move_ for end in lost for move_ in self._repository.kept(path, end)]

    def _followed(self, path: str, known: Known) -> list[RefMove]:
        """How the branches around have last followed those around them."""
        if not path:
            return []
        group = around(path)
        before, after = (known.get(ref, "") for ref in (self._names.told(group), self._names.start(group)))
        return [
            *self._followed(group, known),
            RefMove(ref=self._names.head(group), before=before, after=after),
        ]

    def accept(self, path: str) -> None:
        """New files that the set-up has made are no work of the slice, also where they are not ignored."""
        worktree = self._repository.worktree(path)
        take_as_brought(self._git.at(worktree), self._worktrees.git_dir(worktree))

    def prove(self, path: str) -> None:
        """Also notes where the branch is now, so that it can be told afterwards how far the step has moved it."""
        with self._at_workspace(path):
            self._worktrees.prove(self._repository.worktree(path), self._names.head(path))
            self._clones.furnish(path)
            note = self._names.told(path)
            self._repository.move(
                [wish(tips_of(self._git, note), note, self._repository.head(path))], f"{path} goes on"
            )

    def is_own(self, path: str) -> bool:  # noqa: ARG002 - all are
        return True

    def watch(self, watch: StepWatch) -> None:
        """What somebody has left there is recorded before a reader starts, who then need not answer for it."""
        work = watch.work
        with self._at_workspace(work.path):
            self._watching.finish(work.path)
            head = self._watching.beginning(watch)
            if head is None and watch.reads:
                self._record(record, replace(work, subject=f"{work.path}: what was there before {work.step}"))
            self._watching.begin(watch, head or self._repository.head(work.path))

    def unwatch(self, path: str, jobs: Collection[str]) -> None:
        with self._at_workspace(path):
            self._watching.finish(path)
            self._watching.end(path, jobs)

    def changed_files(self, path: str, moves: Sequence[RefMove]) -> Sequence[str]:
        lines: list[str] = []
        for ref_move in moves:
            commits = (ref_move.before or self._names.start(path), ref_move.after)
            fields = self._git.fields("diff-tree", "-r", "-z", "--name-status", "--no-renames", *commits)
            lines += [f"{kind} {file}" for kind, file in zip(fields[::2], fields[1::2], strict=True)]
        return lines

    def has_changed(self, path: str, job: str) -> bool | None:
        with self._at_workspace(path):
            return self._watching.has_changed(path, job)

    def restore(self, path: str, job: str) -> Breach | None:
        with self._at_workspace(path):
            return self._watching.restore(path, job)

    def take_commits(self, path: str) -> None:
        self._clones.take_early(path, self._at_steps[path])

    def record(self, work: StepWork) -> Sequence[RefMove]:
        names, path = self._names, work.path
        with self._at_workspace(path):
            self._record(record, work)
        tips = tips_of(self._git, names.head(path), names.start(path), names.told(path))
        now = tips[names.head(path)]
        if names.start(path) in tips:
            self._foresight.moved(path, tips[names.start(path)], now)
        return changes([RefMove(ref=names.head(path), before=tips.get(names.told(path), ""), after=now)])

    def _record(self, how: Callable[..., object], work: StepWork) -> None:
        worktree = self._git.at(self._repository.worktree(work.path))
        how(
            worktree,
            work,
            plan=self._repository.plan,
            names=self._names,
            identity=self._repository.repository.identity,
        )

    def open_conflict(self, request: MergeRequest, work: StepWork) -> OpenConflict:
        with self._at_workspace(request.path):
            return self._resolving.open(request, work)

    def close_conflict(self, work: StepWork, *, failed: str = "") -> ClosedConflict:
        path = work.path
        with self._at_workspace(path):
            closed = self._resolving.close(work, failed)
        start = tips_of(self._git, self._names.start(path)).get(self._names.start(path))
        if start is not None and not closed.message:
            self._foresight.moved(path, start, self._repository.head(path))
        return closed

    def foresee(self, path: str) -> Mapping[str, Sequence[str]]:
        return {found.other: found.files for found in self._foresight.conflicts(path)}

    # Coming together

    def gather(self, request: MergeRequest) -> Sequence[RefMove]:
        """A group's own branch has it all."""
        if request.without:
            newest = SliceStart(commit=self._parting.without(request))
        else:
            newest = self._brought_up(request.path)
        self._joining.check_out(request, newest.commit)
        note = self._names.passed(request.path)
        self._repository.move([wish(tips_of(self._git, note), note, newest.commit)], "to be verified")
        return _of_branches(newest.follows)

    def _brought_up(self, group: str) -> SliceStart:
        for _ in range(_TRIES):
            newest = self._starting.newest(group, self._repository.known())
            if move(self._git, changes(newest.follows), reason=f"weft: {group or 'the plan'} follows"):
                return newest
        raise _restless(group)

    def suspects(self, request: MergeRequest) -> Sequence[Suspect]:
        return self._parting.suspects(request)

    def merge(self, request: MergeRequest) -> MergeResult:
        moves = self._parting.leave_out(request) if request.without else []
        with self._at_workspace(request.path):
            self._clones.close(request.path)
            self._resolving.leave(request.path)
        with self._resolving.explained(request):
            merged = self._done(request.path, self._joining.merge(request))
        return replace(merged, moves=(*moves, *merged.moves)) if moves else merged

    def publish(self, path: str) -> MergeResult | None:
        done = self._joining.publish(path)
        return None if done is None else self._done(path, done)

    def release(self, path: str) -> bool:
        worktree = self._repository.worktree(path)
        if not worktree.is_dir():
            return False
        with self._at_workspace(path):  # what is in a clone enters the repository first
            keep_logged(self._git, git_dir_of(worktree), path, self._names)
            return self._worktrees.release(worktree, self._names.head(path))

    def put_away(self, path: str) -> None:
        worktree = self._repository.worktree(path)
        with self._at_steps[path]:
            if worktree.is_dir() and not self._worktrees.is_opened(worktree):
                self._clear(path)

    def reopen(self, request: WorkspaceRequest) -> None:
        """Makes the worktree of a slice again, at its branch, for a person; Weft does not remove it by itself."""
        path, worktree = request.path, self._repository.worktree(request.path)
        head = self._repository.head(path)
        self._worktrees.make(worktree, branch=self._names.head(path), commit=head, sparse=request.sparse)
        self._worktrees.note_opened(worktree)
        self._repository.bring(worktree, request.copy, request.link)

    def discard(self, path: str) -> None:
        self._joining.discard(path)

    def _done(self, path: str, merged: MergeResult) -> MergeResult:
        if merged.verify_in is None:  # what is together cannot clash any more
            self._foresight.gone(path)
        return merged


def _of_branches(moves: Sequence[RefMove]) -> list[RefMove]:
    """Notes are nobody's business."""
    return changes([one for one in moves if one.ref.startswith("refs/heads/")])


def _restless(path: str) -> WorkspaceError:
    return WorkspaceError(
        f"the branches around {path or 'the plan'} move all the time; who else works on them?"
    )
