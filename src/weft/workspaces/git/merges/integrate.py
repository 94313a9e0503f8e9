"""Merging the work of a subplan into the branch of the group around it.

The merge is computed in memory, and the branch moves only if it is still at the commit that was merged. If the
verify of the subplan has not passed on that very tree, the merge is noted first and checked out for its verify.

Whether something is merged is read from the history, so a merge from before a crash is recognised after it. The
last step, onto the target, belongs to the landing queue: see `target_branch`.
"""

from threading import Lock

from msgspec import Struct

from weft.engine.messages.facts import RefMove
from weft.ports.workspaces import MergeRequest, MergeResult
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.base.refs import is_ancestor, move, tip, tips_of, tree_of
from weft.workspaces.git.checkouts.advance_branch import advance
from weft.workspaces.git.checkouts.branch_checkouts import checkout_of
from weft.workspaces.git.merges.merge_commits import MergeCommits, MergeInput
from weft.workspaces.git.plan_repository import PlanRepository, RefTips, around, changes, plan_move
from weft.workspaces.git.worktrees.worktrees import Worktrees

_TRIES = 20
"""How often a merge is repeated because its branch has moved meanwhile."""


class _Into(Struct, frozen=True, kw_only=True):
    """The integration branch that receives work."""

    ref: str
    name: str
    """The short name."""
    group: str


class Integration:
    """Merges of completed subplans into their groups."""

    def __init__(self, plan_repository: PlanRepository, worktrees: Worktrees, commits: MergeCommits) -> None:
        self._repository = plan_repository
        self._names = plan_repository.names
        self._git = plan_repository.git
        self._worktrees = worktrees
        self._commits = commits
        self._moving = Lock()
        """Held while a branch moves: two threads in the same checkout would see it half moved."""

    def merge(self, request: MergeRequest) -> MergeResult:
        into = self._into(request.path)
        if self._has_no_work(request.path):
            return MergeResult()
        # Once, before the first try: a status of the worktree is the expensive part, and no step works there
        # any more.
        self._commits.refuse_unsaved(request.path)
        for _ in range(_TRIES):
            result = self._try(request, into)
            if result is not None:
                if result.verify_in is None and self._repository.scratch(request.path).is_dir():
                    self.discard(request.path)
                return result
        raise WorkspaceError(f"{into.name} keeps moving; find the other program that moves it")

    def _into(self, path: str) -> _Into:
        group = around(path)
        return _Into(ref=self._names.head(group), name=self._names.branch(group), group=group)

    def _has_no_work(self, path: str) -> bool:
        """Returns whether this is a group without a slice that has a branch."""
        refs = (self._names.head(path), self._names.start(path))
        return path in self._repository.groups and not tips_of(self._git, *refs)

    def _try(self, request: MergeRequest, into: _Into) -> MergeResult | None:
        """Merges once; None if the branch has moved meanwhile."""
        path = request.path
        head, start = self._names.head(path), self._names.start(path)
        refs = tips_of(self._git, into.ref, head, start, self._names.tip(into.group))
        ours = refs.get(into.ref) or self._repository.head(into.group)
        theirs = refs.get(head) or self._repository.head(path)
        merge_input = _merge_input(request, into)
        # The history decides, not a note: after a crash between the move and its notes, the branch has the work
        # already. A merge of that work changes nothing, so git is asked only about a merge that changes nothing.
        is_new = theirs != refs.get(start) and (
            self._commits.tree(merge_input, ours, theirs) != tree_of(self._git, ours)
        )
        if not is_new and is_ancestor(self._git, theirs, ours):
            return self._finish_merged(into, path, theirs, ours)
        if theirs == refs.get(start):
            return MergeResult()  # it has changed nothing
        merge = self._commits.make(merge_input, ours, theirs)
        if request.verifies and not self._has_passed(request, merge.tree):
            return self._prepare_verify(request, merge.commit)
        return self._advance(into, ours, merge.commit, path, refs)

    def _finish_merged(self, into: _Into, path: str, theirs: str, ours: str) -> MergeResult:
        """Completes the notes of a merge from before a crash, and returns its result."""
        moves = moved_before(self._repository, into.ref, theirs, ours)
        with self._moving:
            note = self._names.tip(into.group)
            refs = tips_of(self._git, note)
            late = [
                plan_move(refs, note, ref_move.after)
                for ref_move in moves
                if refs.get(note) == ref_move.before
            ]
            self._repository.move(late, f"merge {path}")
        self.discard(path)
        return MergeResult(moves=moves)

    # Verifying

    def _has_passed(self, request: MergeRequest, tree: str) -> bool:
        """Returns whether the slice's steps, or an earlier verify, have passed on that tree."""
        path = request.path
        notes = [self._names.passed(path)]
        if path not in self._repository.groups and not request.resolved:
            notes.append(self._names.tip(path))
        return any(tree == tree_of(self._git, commit) for commit in tips_of(self._git, *notes).values())

    def _prepare_verify(self, request: MergeRequest, commit: str) -> MergeResult:
        # The checkout comes before the note, so a note always leads to a merge that was there to be verified.
        self.check_out(request, commit)
        note = self._names.merging(request.path)
        self._repository.move(
            [plan_move(tips_of(self._git, note), note, commit)], f"{request.path} is to be verified"
        )
        return MergeResult(
            verify_in=self._repository.scratch(request.path) / self._repository.repository.inside
        )

    def check_out(self, request: MergeRequest, commit: str) -> None:
        """Checks out a merge for its verify, with the untracked files of its slices."""
        scratch = self._repository.scratch(request.path)
        self._worktrees.make(
            scratch, branch=None, commit=commit, sparse=request.sparse, clone=self._repository.scratch_clone
        )
        self._repository.copy_in(scratch, request.copy, request.link)

    def publish(self, path: str) -> MergeResult | None:
        """Moves the branch to the verified merge; None if that is outdated."""
        into, theirs = self._into(path), self._repository.head(path)
        commit = tip(self._git, self._names.merging(path))
        if commit is None:  # an earlier coordinator published it, and died
            ours = tip(self._git, into.ref)
            if ours is None or not is_ancestor(self._git, theirs, ours):
                return None
            return self._finish_merged(into, path, theirs, ours)
        # The parents of the verified merge tell what it was made of. If the slice's branch has moved since, for
        # example by a person's commit, the verify says nothing about it.
        ours, verified = self._git.line("rev-parse", f"{commit}^1", f"{commit}^2").splitlines()
        if verified != theirs:
            return None
        result = self._advance(into, ours, commit, path, verified=True)
        if result is not None:
            self.discard(path)
        return result

    def discard(self, path: str) -> None:
        note = self._names.merging(path)
        self._repository.move([plan_move(tips_of(self._git, note), note, "")], f"{path} was verified")
        self._worktrees.discard(self._repository.scratch(path))

    # Moving

    def _advance(
        self,
        into: _Into,
        ours: str,
        commit: str,
        path: str,
        refs: RefTips | None = None,
        *,
        verified: bool = False,
    ) -> MergeResult | None:
        moves = [RefMove(ref=into.ref, before=ours, after=commit)]
        with self._moving:
            # Usually no person has the branch checked out, and the branch and its notes move in one
            # transaction. In a checkout git moves the branch alone, and the notes follow; `_finish_merged`
            # completes them after a crash.
            is_free = checkout_of(self._git, into.ref) is None
            notes = self._notes(into, commit, path, refs if is_free else None, verified=verified)
            if is_free:
                moved = move(self._git, [*moves, *notes], reason=f"weft: merge {path}")
            else:
                moved = self._advance_in_checkout(moves[0], path)
                if moved:
                    self._repository.move(notes, f"merge {path}")
        return MergeResult(moves=tuple(moves)) if moved else None

    def _advance_in_checkout(self, ref_move: RefMove, path: str) -> bool:
        reason = f"weft: merge {path}"
        return advance(
            self._git, ref_move.ref, before=ref_move.before, after=ref_move.after, reason=reason, subplan=path
        )

    def _notes(
        self, into: _Into, commit: str, path: str, refs: RefTips | None, *, verified: bool
    ) -> list[RefMove]:
        tips: dict[str, str] = {self._names.tip(into.group): commit}
        if verified:
            tips[self._names.passed(path)] = commit
        if refs is None:
            refs = tips_of(self._git, *tips)
        return changes([plan_move(refs, ref, after) for ref, after in tips.items()])


def moved_before(plan_repository: PlanRepository, ref: str, theirs: str, ours: str) -> tuple[RefMove, ...]:
    """Returns the move by which a branch received a commit; none if it had the commit from its start."""
    merges = plan_repository.git.line(
        "rev-list", "--first-parent", "--merges", "--parents", f"{theirs}..{ours}"
    )
    for line in merges.splitlines():
        commit, first, *others = line.split()
        if theirs in others:
            return (RefMove(ref=ref, before=first, after=commit),)
    return ()


def _merge_input(request: MergeRequest, into: _Into) -> MergeInput:
    return MergeInput(
        path=request.path,
        subject=request.subject,
        into=into.name,
        take_branch=request.take_branch,
        files=request.files,
        sparse=request.sparse,
    )
