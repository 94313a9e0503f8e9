"""Continuing a slice in the worktree that an earlier run left.

The worktree is kept under three conditions: it is complete; its branch still has the commit of the last completed
step; and the slice would start from the same work today. The last one means that everything before its first own
commit is in the branch around it or in its dependencies, and that its dependencies are in it. The branch around it
may have moved: it would also have moved if the first run had not been interrupted, and the merge handles that.

The work of an interrupted step becomes kept work under refs/weft/kept and is then removed, so that the step starts
from the same state again. Ignored files stay: earlier steps may have made them for later ones. A slice that only
waits for its merge is not touched at all, because a person may be resolving its conflict there.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from weft.engine.messages.facts import EarlierSlice, RefMove
from weft.ports.workspaces import ContinuationResult, WorkspaceRequest
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.refs import is_ancestor
from weft.workspaces.git.base.worktree_links import git_dir_of
from weft.workspaces.git.plan_repository import PlanRepository, RefTips, around, changes, plan_move
from weft.workspaces.git.slices.start import SliceStart, SliceStarts
from weft.workspaces.git.worktrees.reset import reset_worktree, snapshot_worktree
from weft.workspaces.git.worktrees.worktrees import Worktrees

_NOT_KEPT = ContinuationResult(is_kept=False)

Keep = Callable[[str, Path], None]
"""Keeps all contents of a slice's worktree that its branch does not lead to."""
BringUp = Callable[[str], SliceStart]
"""Brings the branches of a group, and of those around it, to the newest state."""


class WorktreeContinuation:
    """Decides whether a slice can continue, and prepares its worktree."""

    def __init__(
        self,
        plan_repository: PlanRepository,
        worktrees: Worktrees,
        starting: SliceStarts,
        *,
        keep: Keep,
        bring_up: BringUp,
    ) -> None:
        self._repository = plan_repository
        self._git: Git = plan_repository.git
        self._names = plan_repository.names
        self._worktrees = worktrees
        self._starting = starting
        self._keep = keep
        self._bring_up = bring_up

    def after(self, request: WorkspaceRequest, earlier: EarlierSlice) -> ContinuationResult:
        """Keeps and resets the worktree if the slice can continue from its earlier run."""
        path, refs = request.path, self._repository.refs()
        head, start = refs.get(self._names.head(path)), refs.get(self._names.start(path))
        if head is None or start is None:
            return _NOT_KEPT
        # The merge of a completed slice, or an agent that resolved its conflict, may have added commits.
        commit = head if earlier.completed else earlier.commit or start
        if not self._contains(head, commit) or not self._is_built_on_the_same(request, start, head, refs):
            return _NOT_KEPT
        worktree = self._repository.worktree(path)
        try:
            # A slice that waits for its merge may be in any state, with a person's half-resolved conflict.
            if not earlier.merging:
                self._worktrees.prove(worktree, self._names.head(path))
        except (WorkspaceError, OSError):
            return _NOT_KEPT
        if not worktree.is_dir():
            return _NOT_KEPT
        # The branch around it may be gone because all its work has landed. The slice is merged into it later.
        followed = changes([move for move in self._bring_up(around(path)).follows if _is_branch(move)])
        own = [] if earlier.merging else self._reset(path, worktree, head, commit)
        return ContinuationResult(is_kept=True, moves=(*followed, *own))

    def _contains(self, head: str, commit: str) -> bool:
        """Returns whether the history of `head` has the commit, which may not exist any more."""
        is_known = self._git.says_yes("rev-parse", "--quiet", "--verify", f"{commit}^{{commit}}")
        return is_known and is_ancestor(self._git, commit, head)

    def _is_built_on_the_same(self, request: WorkspaceRequest, start: str, head: str, refs: RefTips) -> bool:
        dependencies = list(self._dependencies(request, refs))
        if not all(is_ancestor(self._git, commit, head) for commit in dependencies):
            return False
        newest = self._starting.newest(around(request.path), refs).commit
        # A merge that Weft made for the start of the slice is on no other branch, but both its parents are.
        return not self._git.line("rev-list", "--no-merges", "-n1", start, "--not", newest, *dependencies)

    def _dependencies(self, request: WorkspaceRequest, refs: RefTips) -> Iterator[str]:
        """Yields the heads of the dependencies. A landed one may be gone; it is in the base."""
        for dependency in request.after:
            head = refs.get(self._names.head(dependency))
            if head is not None or not self._repository.has_landed(dependency):
                yield head or self._repository.head(dependency)

    def _reset(self, path: str, worktree: Path, head: str, commit: str) -> list[RefMove]:
        """Keeps uncommitted work and later commits, then resets the worktree to the commit."""
        self._keep(path, worktree)
        git_dir, ref = git_dir_of(worktree), self._names.head(path)
        kept = self._names.kept(path, head)
        refs = self._repository.refs()
        notes = [
            plan_move(refs, self._names.tip(path), commit),
            plan_move(refs, self._names.reported(path), commit),
        ]
        if head != commit:
            notes.append(plan_move(refs, kept, head))
        git = self._git.at(worktree)
        # The notes move before the reset: if a crash comes between them, the next run sees the same commit as
        # the last recorded one and resets again.
        snapshot = snapshot_worktree(git, git_dir, fallback_head=head)
        self._repository.move(notes, f"{path} continues")
        reset_worktree(git, git_dir, snapshot, ref=ref, commit=commit, reason=f"weft: {path} continues")
        return changes([RefMove(ref=ref, before=head, after=commit)])


def _is_branch(move: RefMove) -> bool:
    return move.ref.startswith("refs/heads/")
