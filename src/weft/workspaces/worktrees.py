"""`isolation: worktree`: each slice in a worktree of its own, on a branch of its own.

The integration branch of a group collects the work of its parts; that of the plan is around them all. All state is
in git, and related refs change in one transaction. Work from before a crash is therefore recognised and reported
after it: for each branch that Weft moves, a note has its previous commit. Several threads may use this at once.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import Lock

from msgspec.structs import replace

from weft.engine.messages.facts import EarlierSlice, RefMove
from weft.engine.messages.internal_steps import InternalStep
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
from weft.workspaces.disk_space import full_disk_as_error
from weft.workspaces.errors import MovingBranchesError, WorkspaceError
from weft.workspaces.git.base.refs import is_ancestor, move, tips_of
from weft.workspaces.git.base.worktree_links import MAKING, git_dir_of, require_registered
from weft.workspaces.git.checkouts.commits import keep, keep_logged, record
from weft.workspaces.git.checkouts.untracked_files import record_setup_files
from weft.workspaces.git.merges.conflict_forecast import ConflictForecast
from weft.workspaces.git.merges.conflict_resolution import WorktreeConflicts
from weft.workspaces.git.merges.integrate import Integration
from weft.workspaces.git.merges.merge_commits import MergeCommits
from weft.workspaces.git.merges.merge_without import PartRemoval
from weft.workspaces.git.plan_repository import (
    PlanRepository,
    RefTips,
    around,
    branch_changes,
    changes,
    plan_move,
)
from weft.workspaces.git.recovery import Recovery
from weft.workspaces.git.slices.clone_exchange import Clones
from weft.workspaces.git.slices.continuation import WorktreeContinuation
from weft.workspaces.git.slices.group_branches import GroupBranches
from weft.workspaces.git.slices.start import SliceStart, SliceStarts
from weft.workspaces.git.slices.step_changes import StepChanges
from weft.workspaces.git.target.target_branch import TargetBranch
from weft.workspaces.git.worktrees.worktrees import Worktrees

_TRIES = 20
"""How often a start is computed again because a branch has moved meanwhile."""


class WorktreeWorkspaces:
    """Workspaces as worktrees."""

    def __init__(self, plan_repository: PlanRepository) -> None:
        self._repository = self.plan_repository = plan_repository
        self._names = plan_repository.names
        self._git = plan_repository.git
        self._worktrees = Worktrees(plan_repository.git, plan_repository.repository.common)
        self._clones = Clones(plan_repository, self._worktrees)
        self.recovery = Recovery(plan_repository)
        self._starts = SliceStarts(plan_repository)
        self._continuation = WorktreeContinuation(
            plan_repository, self._worktrees, self._starts, keep=self._keep, bring_up=self._bring_up
        )
        commits = MergeCommits(plan_repository, self._worktrees)
        self._integration = Integration(plan_repository, self._worktrees, commits)
        self.target = TargetBranch(plan_repository, self._worktrees, commits, release=self.release)
        self._conflicts = WorktreeConflicts(plan_repository, self._worktrees)
        self._step_changes = StepChanges(plan_repository)
        self._part_removal = PartRemoval(plan_repository, release=self.release)
        self._forecast = ConflictForecast(plan_repository.git)
        self._group_branches = GroupBranches(plan_repository, clear=self._clear)
        self.locks: defaultdict[str, Lock] = defaultdict(Lock)
        """For each slice, a lock for checks of its worktree and records of its steps."""
        self._following = Lock()
        """A lock for the moves of branches of groups to those around them."""

    def discard_groups(self) -> Sequence[RefMove]:
        return self._group_branches.discard_groups()

    def follow_base(self) -> Sequence[RefMove]:
        return self._group_branches.follow_base()

    @contextmanager
    def _at_workspace(self, path: str) -> Generator[None]:
        """Locks the workspace; takes in from the clone before, and hands out to it after."""
        with self.locks[path], full_disk_as_error(self._repository.repository.common):
            # A step or a power loss may have damaged the link files of its worktree, which git needs.
            self.recovery.restore(path)
            with self._clones.synchronized(path):
                yield

    # Directories

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
        with self.locks[request.path]:
            return self._prepare(request)

    def _prepare(self, request: WorkspaceRequest) -> Sequence[RefMove]:
        path, worktree = request.path, self._repository.worktree(request.path)
        start, moves = self._start_branch(request)
        clone = self._repository.shared_refs if path in self._repository.clones else None
        branch = self._names.head(path)
        # The refs have moved by now. A crash before the worktree is complete leaves a branch at its start, from
        # which the next attempt starts again.
        self._worktrees.make(worktree, branch=branch, commit=start, sparse=request.sparse, clone=clone)
        self._repository.copy_in(worktree, request.copy, request.link)
        self._clones.ensure_clone(path)
        return moves

    def continue_after(self, request: WorkspaceRequest, earlier: EarlierSlice) -> ContinuationResult:
        with self.locks[request.path]:
            self.recovery.restore(request.path)
            try:
                self._clones.take_in(request.path)
            except WorkspaceError:
                return ContinuationResult(is_kept=False)
            continued = self._continuation.after(request, earlier)
            self._clones.hand_out(request.path)
            return continued

    def _start_branch(self, request: WorkspaceRequest) -> tuple[str, list[RefMove]]:
        self.recovery.restore(request.path)
        self._clones.take_or_drop(request.path)
        for _ in range(_TRIES):
            start, refs = self._starts.now(request)
            # Cleared before the branch moves: the worktree of an earlier attempt has the branch checked out.
            self._clear(request.path)
            # At the start of a run all slices would move the same branches of groups, and all but one would fail.
            with self._following if start.follows else nullcontext():
                if start.follows:
                    start, refs = self._starts.now(request)
                moves = self._move_to_start(request.path, start, refs)
            if moves is not None:
                return start.commit, moves
        raise MovingBranchesError(request.path)

    def _clear(self, path: str) -> None:
        """Removes the worktree of an earlier attempt, after keeping its contents."""
        worktree = self._repository.worktree(path)
        worktree_entry = self._worktrees.find(worktree, self._names.head(path))
        if worktree_entry is None or worktree_entry.locked == MAKING:
            return  # no step has worked there
        if worktree_entry.locked is not None:
            reason = f" ({worktree_entry.locked})" if worktree_entry.locked else ""
            raise WorkspaceError(
                f"the worktree {worktree} is locked{reason}, so it is not created again; to allow that, type: "
                f"git worktree unlock {worktree}"
            )
        self._clones.take_or_drop(path)
        self._keep(path, worktree)
        self._worktrees.discard(worktree)

    def _keep(self, path: str, worktree: Path) -> None:
        if worktree.is_dir() and any(worktree.iterdir()):
            require_registered(worktree, git_dir_of(worktree), self._repository.repository.common)
            work = StepWork(
                path=path,
                step=InternalStep.WORKSPACE,
                attempt=0,
                subject=f"{path or 'the plan'}: what was left",
            )
            self._record(keep, work)
            return
        entry = self._worktrees.entry_of(worktree)
        assert entry is not None
        keep_logged(self._git, entry, path, self._names)

    def _move_to_start(self, path: str, start: SliceStart, refs: RefTips) -> list[RefMove] | None:
        """Returns the moves of branches; None, with nothing changed, if one has moved meanwhile."""
        names = self._names
        before, reported = (refs.get(ref, "") for ref in (names.head(path), names.reported(path)))
        ref_moves = [
            *start.follows,
            *self._left_behind(path, start.commit, refs),
            plan_move(refs, names.head(path), start.commit),
            plan_move(refs, names.start(path), start.commit),
            # This note is the commit that the journal last knows about. A second attempt from the same start
            # must not advance it, or the first move would never be reported.
            plan_move(refs, names.reported(path), reported if before == start.commit else before),
            plan_move(refs, names.tip(path), ""),
            plan_move(refs, names.passed(path), ""),
        ]
        if not move(self._git, changes(ref_moves), reason=f"weft: {path} begins"):
            return None
        moves = [
            *branch_changes(start.follows),
            RefMove(ref=names.head(path), before=before, after=start.commit),
        ]
        # Moves are reported to the journal after they happen, so the next coordinator reports those that may be
        # missing there.
        if before and before == refs.get(names.start(path)) != reported:
            # An earlier coordinator prepared it, and no step has started since: it may have died before its
            # report.
            last = RefMove(ref=names.head(path), before=reported, after=before)
            moves = [*self._follow_moves(path, refs), last, *moves]
        return changes(moves)

    def _left_behind(self, path: str, start: str, refs: RefTips) -> list[RefMove]:
        """Returns moves that keep the work of an earlier attempt, also if its branch is gone."""
        names = self._names
        ends = {refs.get(names.head(path)), refs.get(names.tip(path))} - {
            None,
            refs.get(names.start(path)),
        }
        lost = [end for end in sorted(filter(None, ends)) if not is_ancestor(self._git, end, start)]
        return [move_ for end in lost for move_ in self._repository.kept(path, end)]

    def _follow_moves(self, path: str, refs: RefTips) -> list[RefMove]:
        """Returns the last moves by which the branches around it followed those around them."""
        if not path:
            return []
        group = around(path)
        before, after = (refs.get(ref, "") for ref in (self._names.reported(group), self._names.start(group)))
        return [
            *self._follow_moves(group, refs),
            RefMove(ref=self._names.head(group), before=before, after=after),
        ]

    def accept(self, path: str) -> None:
        """Records new files of the set-up, which are no work of the slice even if they are not ignored."""
        worktree = self._repository.worktree(path)
        record_setup_files(self._git.at(worktree), self._worktrees.git_dir(worktree))

    def prove(self, path: str) -> None:
        """Checks the worktree, and notes the tip of the branch, so that the step's progress can be reported."""
        with self._at_workspace(path):
            self._worktrees.prove(self._repository.worktree(path), self._names.head(path))
            self._clones.ensure_clone(path)
            note = self._names.reported(path)
            self._repository.move(
                [plan_move(tips_of(self._git, note), note, self._repository.head(path))], f"{path} goes on"
            )

    def is_own(self, path: str) -> bool:  # noqa: ARG002 - all are
        return True

    def watch(self, watch: StepWatch) -> None:
        """Starts to watch a step; before a reader, commits uncommitted work that is not the reader's."""
        work = watch.work
        with self._at_workspace(work.path):
            self._step_changes.finish(work.path)
            # Readers that overlap are compared with the same commit, from before the first of them.
            head = self._step_changes.commit_before(watch)
            if head is None and watch.reads:
                self._record(record, replace(work, subject=f"{work.path}: what was there before {work.step}"))
            self._step_changes.start_watch(watch, head or self._repository.head(work.path))

    def unwatch(self, path: str, jobs: Collection[str]) -> None:
        with self._at_workspace(path):
            self._step_changes.finish(path)
            self._step_changes.end_watch(path, jobs)

    def changed_files(self, path: str, moves: Sequence[RefMove]) -> Sequence[str]:
        lines: list[str] = []
        for ref_move in moves:
            commits = (ref_move.before or self._names.start(path), ref_move.after)
            fields = self._git.fields("diff-tree", "-r", "-z", "--name-status", "--no-renames", *commits)
            lines += [f"{kind} {file}" for kind, file in zip(fields[::2], fields[1::2], strict=True)]
        return lines

    def has_changed(self, path: str, job: str) -> bool | None:
        with self._at_workspace(path):
            return self._step_changes.has_changed(path, job)

    def restore(self, path: str, job: str) -> Breach | None:
        with self._at_workspace(path):
            return self._step_changes.restore(path, job)

    def take_commits(self, path: str) -> None:
        self._clones.take_early(path, self.locks[path])

    def record(self, work: StepWork) -> Sequence[RefMove]:
        names, path = self._names, work.path
        with self._at_workspace(path):
            self._record(record, work)
        tips = tips_of(self._git, names.head(path), names.start(path), names.reported(path))
        current = tips[names.head(path)]
        if names.start(path) in tips:
            self._forecast.moved(path, tips[names.start(path)], current)
        return changes(
            [RefMove(ref=names.head(path), before=tips.get(names.reported(path), ""), after=current)]
        )

    def _record(self, write: Callable[..., object], work: StepWork) -> None:
        worktree = self._git.at(self._repository.worktree(work.path))
        write(
            worktree,
            work,
            plan=self._repository.plan,
            names=self._names,
            identity=self._repository.repository.identity,
        )

    def open_conflict(self, request: MergeRequest, work: StepWork) -> OpenConflict:
        with self._at_workspace(request.path):
            return self._conflicts.open(request, work)

    def close_conflict(self, work: StepWork, *, failed: str = "") -> ClosedConflict:
        path = work.path
        with self._at_workspace(path):
            closed = self._conflicts.close(work, failed)
        start = tips_of(self._git, self._names.start(path)).get(self._names.start(path))
        if start is not None and not closed.message:
            self._forecast.moved(path, start, self._repository.head(path))
        return closed

    def forecast(self, path: str) -> Mapping[str, Sequence[str]]:
        return {conflict.other: conflict.files for conflict in self._forecast.conflicts(path)}

    # Merging

    def gather(self, request: MergeRequest) -> Sequence[RefMove]:
        """Checks out the integration branch of a group for its verify."""
        if request.without:
            newest = SliceStart(commit=self._part_removal.without(request))
        else:
            newest = self._bring_up(request.path)
        self._integration.check_out(request, newest.commit)
        note = self._names.passed(request.path)
        self._repository.move([plan_move(tips_of(self._git, note), note, newest.commit)], "to be verified")
        return branch_changes(newest.follows)

    def _bring_up(self, group: str) -> SliceStart:
        for _ in range(_TRIES):
            newest = self._starts.newest(group, self._repository.refs())
            if move(self._git, changes(newest.follows), reason=f"weft: {group or 'the plan'} follows"):
                return newest
        raise MovingBranchesError(group)

    def suspects(self, request: MergeRequest) -> Sequence[Suspect]:
        return self._part_removal.suspects(request)

    def merge(self, request: MergeRequest) -> MergeResult:
        moves = self._part_removal.leave_out(request) if request.without else []
        with self._at_workspace(request.path):
            self._clones.close(request.path)
            self._conflicts.leave(request.path)
        with self._conflicts.explained(request):
            merged = self._note_merged(request.path, self._integration.merge(request))
        return replace(merged, moves=(*moves, *merged.moves)) if moves else merged

    def publish(self, path: str) -> MergeResult | None:
        merged = self._integration.publish(path)
        return None if merged is None else self._note_merged(path, merged)

    def release(self, path: str) -> bool:
        worktree = self._repository.worktree(path)
        if not worktree.is_dir():
            return self._worktrees.finish_release(worktree)
        with self._at_workspace(path):  # what is in a clone enters the repository first
            # The reflog of the worktree goes with it, and may be the only thing that leads to undone commits.
            keep_logged(self._git, git_dir_of(worktree), path, self._names)
            return self._worktrees.release(worktree, self._names.head(path))

    def archive(self, path: str) -> None:
        worktree = self._repository.worktree(path)
        with self.locks[path]:
            if worktree.is_dir() and not self._worktrees.is_opened(worktree):
                self._clear(path)

    def reopen(self, request: WorkspaceRequest) -> None:
        """Creates the worktree of a slice again, at its branch, for a person. Weft does not remove it."""
        path, worktree = request.path, self._repository.worktree(request.path)
        head = self._repository.head(path)
        self._worktrees.make(worktree, branch=self._names.head(path), commit=head, sparse=request.sparse)
        self._worktrees.note_opened(worktree)
        self._repository.copy_in(worktree, request.copy, request.link)

    def discard(self, path: str) -> None:
        self._integration.discard(path)

    def _note_merged(self, path: str, merged: MergeResult) -> MergeResult:
        if merged.verify_in is None:  # merged work cannot conflict any more
            self._forecast.gone(path)
        return merged
