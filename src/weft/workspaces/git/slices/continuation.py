"""A slice continues in the worktree that an earlier run left.

The worktree is kept if it is whole, if its branch still has the commit of the last step that was done, and if the
slice would start from the same work today: everything before its first own commit is in the branch around it or in
what it depends on, and what it depends on is in it. That the branch around it has moved on does not matter; it had
also moved on if the first run had not been cut off, and the merge takes care of that.

What a step left that was cut off gets a name of its own below refs/weft/kept, and then goes, so that the step
meets what it met before. Files that git ignores stay: earlier steps may have made them for later ones. A slice
that was only to be merged is not touched at all, since a person may be resolving its conflict right there.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from weft.engine.messages.facts import EarlierSlice, RefMove
from weft.ports.workspaces import ContinuationResult, WorkspaceRequest
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.refs import is_ancestor
from weft.workspaces.git.base.worktree_links import git_dir_of
from weft.workspaces.git.plan_repository import Known, PlanRepository, around, changes, wish
from weft.workspaces.git.slices.start import SliceStart, SliceStarts
from weft.workspaces.git.worktrees.reset import reset_worktree, snapshot_worktree
from weft.workspaces.git.worktrees.worktrees import Worktrees

_NOT_KEPT = ContinuationResult(is_kept=False)

Keep = Callable[[str, Path], None]
"""Gives a name to all that is in the worktree of a slice and that its branch does not lead to."""
BringUp = Callable[[str], SliceStart]
"""Brings the branches of a group, and of those around it, to the newest state."""


class WorktreeContinuation:
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
        path, refs = request.path, self._repository.known()
        head, start = refs.get(self._names.head(path)), refs.get(self._names.start(path))
        if head is None or start is None:
            return _NOT_KEPT
        commit = earlier.commit or start
        if not self._has(commit, head) or not self._is_built_on_the_same(request, start, head, refs):
            return _NOT_KEPT
        worktree = self._repository.worktree(path)
        try:
            if not earlier.merging:
                self._worktrees.prove(worktree, self._names.head(path))
        except (WorkspaceError, OSError):
            return _NOT_KEPT
        if not worktree.is_dir():
            return _NOT_KEPT
        # The branch around may be gone since all that was on it has landed; the slice is merged into it later.
        followed = changes([move for move in self._bring_up(around(path)).follows if _is_branch(move)])
        own = [] if earlier.merging else self._go_back(path, worktree, head, commit)
        return ContinuationResult(is_kept=True, moves=(*followed, *own))

    def _has(self, commit: str, head: str) -> bool:
        """A commit that git does not know any more is no ancestor of anything."""
        is_known = self._git.says_yes("rev-parse", "--quiet", "--verify", f"{commit}^{{commit}}")
        return is_known and is_ancestor(self._git, commit, head)

    def _is_built_on_the_same(self, request: WorkspaceRequest, start: str, head: str, refs: Known) -> bool:
        dependencies = list(self._dependencies(request, refs))
        if not all(is_ancestor(self._git, commit, head) for commit in dependencies):
            return False
        newest = self._starting.newest(around(request.path), refs).commit
        # A merge that Weft made for the start of the slice is on no other branch, but both its sides are.
        return not self._git.line("rev-list", "--no-merges", "-n1", start, "--not", newest, *dependencies)

    def _dependencies(self, request: WorkspaceRequest, refs: Known) -> Iterator[str]:
        """The heads of what it depends on. One that has landed may be gone, and is in the base."""
        for other in request.after:
            head = refs.get(self._names.head(other))
            if head is not None or not self._repository.has_landed(other):
                yield head or self._repository.head(other)

    def _go_back(self, path: str, worktree: Path, head: str, commit: str) -> list[RefMove]:
        """To the commit, and nothing else is there but what is ignored, or was brought."""
        self._keep(path, worktree)
        git_dir, ref = git_dir_of(worktree), self._names.head(path)
        kept = self._names.kept(path, head)
        refs = self._repository.known()
        notes = [wish(refs, self._names.tip(path), commit), wish(refs, self._names.told(path), commit)]
        if head != commit:
            notes.append(wish(refs, kept, head))
        git = self._git.at(worktree)
        snapshot = snapshot_worktree(git, git_dir, fallback_head=head)
        self._repository.move(notes, f"{path} continues")
        reset_worktree(git, git_dir, snapshot, ref=ref, commit=commit, reason=f"weft: {path} continues")
        return changes([RefMove(ref=ref, before=head, after=commit)])


def _is_branch(move: RefMove) -> bool:
    return move.ref.startswith("refs/heads/")
