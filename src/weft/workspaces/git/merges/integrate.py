"""How the work of a subplan comes to the branch of the group around it.

A merge is made in memory, and the branch moves only from where it was when the merge was made. If the verify of
the subplan has not passed on that very tree, the merge is noted first, and checked out where it can be verified.

Whether something was merged is asked of the history, so a merge that was done before a crash is found done after
it. The last hop, onto the target, is made by the landing queue: see `target_branch`.
"""

from threading import Lock

from msgspec import Struct

from weft.engine.messages.facts import RefMove
from weft.ports.workspaces import MergeRequest, MergeResult
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.base.refs import is_ancestor, move, tip, tips_of, tree_of
from weft.workspaces.git.checkouts.advance_branch import advance, checkout_of
from weft.workspaces.git.merges.merge_commits import MergeCommits, MergeInput
from weft.workspaces.git.plan_repository import Known, PlanRepository, around, changes, wish
from weft.workspaces.git.worktrees.worktrees import Worktrees

_TRIES = 20
"""How often a merge is made again because its branch has moved meanwhile."""


class _Into(Struct, frozen=True, kw_only=True):
    """The branch of a group, which receives work."""

    ref: str
    name: str
    """As people call it."""
    group: str


class Integration:
    def __init__(self, plan_repository: PlanRepository, worktrees: Worktrees, commits: MergeCommits) -> None:
        self._repository = plan_repository
        self._names = plan_repository.names
        self._git = plan_repository.git
        self._worktrees = worktrees
        self._commits = commits
        self._moving = Lock()
        """Held while a branch moves: two threads that moved one in the same checkout would find it half moved."""

    def merge(self, request: MergeRequest) -> MergeResult:
        into = self._into(request.path)
        if self._never_began(request.path):
            return MergeResult()
        self._commits.refuse_unsaved(request.path)
        for _ in range(_TRIES):
            done = self._try(request, into)
            if done is not None:
                if done.verify_in is None and self._repository.scratch(request.path).is_dir():
                    self.discard(request.path)
                return done
        raise WorkspaceError(f"{into.name} moves all the time; which other program works on it?")

    def _into(self, path: str) -> _Into:
        group = around(path)
        return _Into(ref=self._names.head(group), name=self._names.branch(group), group=group)

    def _never_began(self, path: str) -> bool:
        """Whether it is a group of which no slice has a branch."""
        refs = (self._names.head(path), self._names.start(path))
        return path in self._repository.groups and not tips_of(self._git, *refs)

    def _try(self, request: MergeRequest, into: _Into) -> MergeResult | None:
        """None if the branch has moved meanwhile."""
        path = request.path
        head, start = self._names.head(path), self._names.start(path)
        refs = tips_of(self._git, into.ref, head, start, self._names.tip(into.group))
        ours = refs.get(into.ref) or self._repository.head(into.group)
        theirs = refs.get(head) or self._repository.head(path)
        if is_ancestor(self._git, theirs, ours):
            return self._found_done(into, path, theirs, ours)
        if theirs == refs.get(start):
            return MergeResult()  # it has changed nothing
        made = self._commits.make(_merge_input(request, into), ours, theirs)
        if request.verifies and not self._has_passed(request, made.tree):
            return self._to_be_verified(request, made.commit)
        return self._advance(into, ours, made.commit, path, refs)

    def _found_done(self, into: _Into, path: str, theirs: str, ours: str) -> MergeResult:
        """It was merged before; what had to be done after that may be left to do."""
        moves = moved_before(self._repository, into.ref, theirs, ours)
        with self._moving:
            note = self._names.tip(into.group)
            refs = tips_of(self._git, note)
            late = [wish(refs, note, each.after) for each in moves if refs.get(note) == each.before]
            self._repository.move(late, f"merge {path}")
        self.discard(path)
        return MergeResult(moves=moves)

    # Verifying

    def _has_passed(self, request: MergeRequest, tree: str) -> bool:
        """Whether a slice's steps have passed on that tree, or it was verified before."""
        path = request.path
        notes = [self._names.passed(path)]
        if path not in self._repository.groups and not request.resolved:
            notes.append(self._names.tip(path))
        return any(tree == tree_of(self._git, commit) for commit in tips_of(self._git, *notes).values())

    def _to_be_verified(self, request: MergeRequest, commit: str) -> MergeResult:
        self.check_out(request, commit)
        note = self._names.merging(request.path)
        self._repository.move(
            [wish(tips_of(self._git, note), note, commit)], f"{request.path} is to be verified"
        )
        return MergeResult(
            verify_in=self._repository.scratch(request.path) / self._repository.repository.inside
        )

    def check_out(self, request: MergeRequest, commit: str) -> None:
        """With all untracked files that its slices were given."""
        scratch = self._repository.scratch(request.path)
        self._worktrees.make(
            scratch, branch=None, commit=commit, sparse=request.sparse, clone=self._repository.scratch_clone
        )
        self._repository.bring(scratch, request.copy, request.link)

    def publish(self, path: str) -> MergeResult | None:
        into, theirs = self._into(path), self._repository.head(path)
        commit = tip(self._git, self._names.merging(path))
        if commit is None:  # an earlier coordinator published it, and died
            ours = tip(self._git, into.ref)
            if ours is None or not is_ancestor(self._git, theirs, ours):
                return None
            return self._found_done(into, path, theirs, ours)
        ours, verified = self._git.line("rev-parse", f"{commit}^1", f"{commit}^2").splitlines()
        if verified != theirs:
            return None
        done = self._advance(into, ours, commit, path, verified=True)
        if done is not None:
            self.discard(path)
        return done

    def discard(self, path: str) -> None:
        note = self._names.merging(path)
        self._repository.move([wish(tips_of(self._git, note), note, "")], f"{path} was verified")
        self._worktrees.discard(self._repository.scratch(path))

    # Moving

    def _advance(
        self,
        into: _Into,
        ours: str,
        commit: str,
        path: str,
        refs: Known | None = None,
        *,
        verified: bool = False,
    ) -> MergeResult | None:
        moves = [RefMove(ref=into.ref, before=ours, after=commit)]
        with self._moving:
            is_free = checkout_of(self._git, into.ref) is None
            notes = self._notes(into, commit, path, refs if is_free else None, verified=verified)
            if is_free:
                moved = move(self._git, [*moves, *notes], reason=f"weft: merge {path}")
            else:
                moved = self._advance_in_checkout(moves[0], path)
                if moved:
                    self._repository.move(notes, f"merge {path}")
        return MergeResult(moves=tuple(moves)) if moved else None

    def _advance_in_checkout(self, wished: RefMove, path: str) -> bool:
        reason = f"weft: merge {path}"
        return advance(
            self._git, wished.ref, before=wished.before, after=wished.after, reason=reason, subplan=path
        )

    def _notes(
        self, into: _Into, commit: str, path: str, refs: Known | None, *, verified: bool
    ) -> list[RefMove]:
        wanted: dict[str, str] = {self._names.tip(into.group): commit}
        if verified:
            wanted[self._names.passed(path)] = commit
        if refs is None:
            refs = tips_of(self._git, *wanted)
        return changes([wish(refs, ref, after) for ref, after in wanted.items()])


def moved_before(plan_repository: PlanRepository, ref: str, theirs: str, ours: str) -> tuple[RefMove, ...]:
    """The move by which a branch received a commit; none if it held the commit from its beginning."""
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
