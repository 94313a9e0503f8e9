"""The own work of a slice, repeated without the results that it started with by chance.

A slice starts on the newest state of the branch around it, which may hold a result that fails its verify on the
target later. The slice does not depend on that result, but its branch contains it, so it could not land before it.
Here the slice gets the start that it would have without the result, and its own commits are repeated on that
start, in memory and one by one. Nothing changes if one of them does not apply.

The branch moves together with its start. The old commits become kept work. The branch around the slice, which
holds the old commits, receives the new ones as well: slices that start there later then have them in their
history, and git does not take the same change for two different ones. The notes about trees that have passed a
verify stay as they are: the new tree has passed none.

The same call after a crash gives the same commits, because their dates and authors are those of the work. A kill
while git moves the refs may leave only the first of them moved. The branch of the slice is therefore the last one,
and the own commits are read from it alone, not from the note of its start.
"""

import os

from msgspec import Struct

from weft.ports.workspaces import HeldError, WorkspaceRequest
from weft.workspaces.git.base.commit_object import CommitDraft, SigningFailure, write_commit
from weft.workspaces.git.base.merge_tree import reapply, try_merge
from weft.workspaces.git.base.refs import is_ancestor, move, tip
from weft.workspaces.git.base.unlanded_history import UnlandedHistory
from weft.workspaces.git.checkouts.branch_checkouts import checkout_of
from weft.workspaces.git.plan_repository import PlanRepository, RefTips, around, changes, plan_move
from weft.workspaces.git.slices.start import SliceStart, SliceStarts

_FIELDS = ("%an", "%ae", "%aI", "%cn", "%ce", "%cI", "%B")
_NAMES = ("AUTHOR_NAME", "AUTHOR_EMAIL", "AUTHOR_DATE", "COMMITTER_NAME", "COMMITTER_EMAIL", "COMMITTER_DATE")
_TRAILER = "Weft-"
_TRIES = 20
"""How often a slice is rebuilt because the branch around it has moved meanwhile."""


class Repetition(Struct, frozen=True, kw_only=True):
    """The commits that replace those of a slice."""

    start: str
    head: str


class NotApplicableError(Exception):
    """The work of a slice cannot be repeated without the others."""


class SliceRebuild:
    """Rebuilds slices without the work of others."""

    def __init__(self, plan_repository: PlanRepository) -> None:
        self._repository = plan_repository
        self._git = plan_repository.git
        self._names = plan_repository.names
        self._starts = SliceStarts(plan_repository)

    def rebuild(self, request: WorkspaceRequest) -> str:
        """Moves the branch of a slice to its own work without that of the subplans in `request.without`.

        Returns the ref that keeps the old commits; empty if that is not possible, and nothing has moved then.
        """
        for _ in range(_TRIES):
            try:
                kept = self._try(request)
            except (NotApplicableError, HeldError):
                return ""
            if kept:
                return kept
        return ""

    def _try(self, request: WorkspaceRequest) -> str:
        """Rebuilds once; empty if another result was merged into the branch around the slice meanwhile."""
        refs, names, path = self._repository.refs(), self._names, request.path
        head, group = refs.get(names.head(path)), around(path)
        outer = refs.get(names.head(group))
        if head is None or outer is None or not is_ancestor(self._git, head, outer):
            raise NotApplicableError
        # Moving a branch under a checkout would look as if a person had changed all of its files.
        if any(checkout_of(self._git, names.head(each)) is not None for each in (path, group)):
            raise NotApplicableError
        repetition = self.repeat(request, outer, refs)
        with_new = self._with_new(path, outer, repetition.head)
        moves = [
            *self._repository.kept(path, head),
            plan_move(refs, names.head(group), with_new),
            plan_move(refs, names.tip(group), with_new),
            plan_move(refs, names.start(path), repetition.start),
            plan_move(refs, names.head(path), repetition.head),
        ]
        reason = f"weft: {path} without {', '.join(request.without)}"
        return names.kept(path, head) if move(self._git, changes(moves), reason=reason) else ""

    def repeat(self, request: WorkspaceRequest, outer: str, refs: RefTips) -> Repetition:
        """Repeats the work of a slice in memory. `outer` is the commit of the branch around it.

        Raises `NotApplicableError` or `HeldError` if that is not possible.
        """
        names, path = self._names, request.path
        head, start = refs[names.head(path)], refs.get(names.start(path))
        apart = self._starts.apart(request, SliceStart(commit=outer), refs)
        if apart is None:
            raise NotApplicableError  # it depends on the others
        old_start, own = self._own_commits(path, head, request.without)
        # Below the own commits there must be the start: a resolved conflict, or a branch that a person merged, has
        # more work of the slice or of a person in its history. After a kill the note of the start may be the new
        # one, and then the old commits are kept already.
        was_killed = start == apart.commit and own and not self._repository.kept(path, head)
        if old_start != start and not was_killed:
            raise NotApplicableError
        new = apart.commit
        for commit, parent in own:
            new = self._repeated(commit, parent, new, request.without)
        return Repetition(start=apart.commit, head=new)

    def _own_commits(
        self, path: str, head: str, without: tuple[str, ...]
    ) -> tuple[str, list[tuple[str, str]]]:
        """Returns the commit below the slice's own ones, and these with their parents, oldest first."""
        target = tip(self._git, self._repository.ends.target_ref) or self._repository.ends.base
        history = UnlandedHistory.read(self._git, self._repository.plan, [head], target)
        if not history.brings(head, frozenset(without).__contains__):
            raise NotApplicableError  # there is nothing to leave out
        own: list[tuple[str, str]] = []
        # A slice starts on a merge commit, or on the target. Steps and people commit on top of that.
        while head in history.commits and history.commits[head].subplan in {"", path}:
            parents = history.commits[head].parents
            if len(parents) != 1:
                break
            own.append((head, parents[0]))
            head = parents[0]
        # Below its commits there must be a state of the branch around it, and no merge of a person.
        if head in history.commits and history.commits[head].subplan == "":
            raise NotApplicableError
        return head, own[::-1]

    def _repeated(self, commit: str, parent: str, onto: str, without: tuple[str, ...]) -> str:
        tree = reapply(self._git, commit, parent, onto)
        if not tree:
            raise NotApplicableError
        *values, text = self._git.line(
            "show", "--no-patch", f"--format={'%x00'.join(_FIELDS)}", commit
        ).split("\0", len(_NAMES))
        text = text.rstrip()
        if text.rpartition("\n")[2].startswith(_TRAILER):
            text += f"\nWeft-Without: {', '.join(without)}"
        draft = CommitDraft(
            tree=tree,
            parents=(onto,),
            message=os.fsencode(f"{text}\n"),
            env={f"GIT_{name}": value for name, value in zip(_NAMES, values, strict=True)},
        )
        return write_commit(self._git, draft, sign=SigningFailure.PREFERRED, once=True)

    def _with_new(self, path: str, outer: str, new: str) -> str:
        """Returns the branch around the slice with its new commits, which usually changes no file there."""
        if is_ancestor(self._git, new, outer):
            return outer
        trial = try_merge(self._git, outer, new)
        if trial.conflicts:
            raise NotApplicableError
        dates = self._git.line("show", "--no-patch", "--format=%ct", outer, new).split()
        date = f"{max(map(int, dates))} +0000"
        return self._repository.commit(trial.tree, (outer, new), f"Merge {path} once more", path, date)
