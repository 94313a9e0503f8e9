"""The commit that a slice starts from: the newest state of the branch around it, plus its other dependencies.

The branch of a group follows the branch around it as long as it has no work of its own. This module only computes
that move. The branch moves together with the slice's own branch, so that nothing has changed if a slice cannot
start.

A slice may depend on a slice in another group with work that is not on the branch around both yet. That work is
then merged in. The same merge after a crash gives the very same commit.

A result that fails its verify on the target is held there, together with everything built on it. A slice that does
not depend on such a result therefore starts without it where possible.
"""

from msgspec import Struct

from weft.engine.messages.facts import RefMove
from weft.ports.workspaces import HeldError, WorkspaceRequest
from weft.workspaces.errors import listed
from weft.workspaces.git.base.merge_tree import try_merge
from weft.workspaces.git.base.refs import is_ancestor, tip
from weft.workspaces.git.base.unlanded_history import UnlandedHistory
from weft.workspaces.git.checkouts.branch_checkouts import checkout_of
from weft.workspaces.git.plan_repository import PlanRepository, RefTips, around, plan_move


class SliceStart(Struct, frozen=True, kw_only=True):
    """A start commit, with the moves that go with it."""

    commit: str
    follows: tuple[RefMove, ...] = ()
    """The moves that bring the branches around it up to date, with their notes."""


class SliceStarts:
    """Computes start commits."""

    def __init__(self, plan_repository: PlanRepository) -> None:
        self._repository = plan_repository
        self._git = plan_repository.git
        self._names = plan_repository.names

    def newest(self, group: str, refs: RefTips) -> SliceStart:
        """Returns the newest state of a group's branch."""
        head, start = self._names.head(group), self._names.start(group)
        current = refs.get(head, "")
        if current and current != refs.get(start):
            return SliceStart(commit=current)  # it has work of its own
        outer = self.newest(around(group), refs) if group else SliceStart(commit=self._repository.ends.base)
        if current == outer.commit or (current and self._is_checked_out(head)):
            return outer
        # A group without work of its own follows the branch around it, so that its slices start from the newest
        # work.
        return SliceStart(
            commit=outer.commit, follows=(*outer.follows, *self._move_group(group, outer.commit, refs))
        )

    def _move_group(self, group: str, commit: str, refs: RefTips) -> tuple[RefMove, ...]:
        """Returns the moves of a group without work of its own.

        Its notes move with it, in the same transaction as the branch of the slice.
        """
        head = self._names.head(group)
        return (
            plan_move(refs, head, commit),
            plan_move(refs, self._names.start(group), commit),
            plan_move(refs, self._names.tip(group), commit),
            plan_move(refs, self._names.reported(group), refs.get(head, "")),
        )

    def _groups_apart(self, group: str, commit: str, refs: RefTips) -> tuple[RefMove, ...]:
        """Returns the moves that bring the groups without work of their own to an earlier state of the plan.

        With the newest state a group would hold the work that its slice starts without.
        """
        moves: tuple[RefMove, ...] = ()
        while group:
            head = self._names.head(group)
            current = refs.get(head, "")
            has_work = current and current != refs.get(self._names.start(group))
            if has_work or (current and self._is_checked_out(head)):
                break
            if current != commit:
                moves = (*self._move_group(group, commit, refs), *moves)
            group = around(group)
        return moves

    def _is_checked_out(self, head: str) -> bool:
        """Returns whether the branch is checked out. Moving it would look as if the person had changed files."""
        return checkout_of(self._git, head) is not None

    def now(self, request: WorkspaceRequest) -> tuple[SliceStart, RefTips]:
        """Returns the start of a slice, and the refs as they are now, which it follows from."""
        refs = self._repository.refs()
        return self.of(request, refs), refs

    def of(self, request: WorkspaceRequest, refs: RefTips) -> SliceStart:
        """Returns the start of a slice. Raises `HeldError` if its dependencies conflict."""
        start = self.newest(around(request.path), refs)
        if request.without:
            apart = self.apart(request, start, refs)
            if apart is not None:
                return apart
        if not request.after:
            return start
        commit = start.commit
        heads = {dependency: refs.get(self._names.head(dependency)) for dependency in request.after}
        # One process for all dependencies, and no more as long as the start has all of them.
        missing = self._repository.missing_in(commit, {*filter(None, heads.values())})
        for dependency, head in heads.items():
            has_it = self._repository.has_landed(dependency) if head is None else head not in missing
            if has_it:
                continue
            branch, reached = self._reached_subplan(dependency, request.path, refs)
            if not is_ancestor(self._git, reached, commit):
                commit = self._with(request.path, branch, commit, reached)
                missing = self._repository.missing_in(commit, missing)
        return SliceStart(commit=commit, follows=start.follows)

    def apart(self, request: WorkspaceRequest, start: SliceStart, refs: RefTips) -> SliceStart | None:
        """Returns a start without the work of results that cannot land.

        None if there is no such work, or if some of it is needed. The start is the branch's commit before that
        work came, plus the later dependencies: each from its own branch, because the branches around it may hold
        the unwanted work.
        """
        tips = {dependency: refs.get(self._names.head(dependency)) for dependency in request.after}
        if any(
            head is None and not self._repository.has_landed(dependency) for dependency, head in tips.items()
        ):
            return None
        heads = {dependency: head for dependency, head in tips.items() if head is not None}
        # Results that have landed are on the target and can be trusted, whatever they bring.
        target = tip(self._git, self._repository.ends.target_ref) or self._repository.ends.base
        history = UnlandedHistory.read(
            self._git, self._repository.plan, [start.commit, *heads.values()], target
        )
        commit = history.before(start.commit, request.without)
        unwanted = frozenset(request.without)
        if commit == start.commit or any(
            history.brings(head, unwanted.__contains__) for head in heads.values()
        ):
            return None
        follows = self._groups_apart(around(request.path), commit, refs)
        for dependency, head in heads.items():
            if not is_ancestor(self._git, head, commit):
                try:
                    commit = self._with(request.path, dependency, commit, head)
                except HeldError:
                    return None  # on the branch around it, this conflict is resolved
        return SliceStart(commit=commit, follows=follows)

    def _reached_subplan(self, dependency: str, path: str, refs: RefTips) -> tuple[str, str]:
        """Returns the outermost subplan that a dependency's work has reached, with its commit.

        The search ends at the group that contains both the dependency and the slice.
        """
        commit = refs.get(self._names.head(dependency)) or self._repository.head(dependency)
        while True:
            outer = refs.get(self._names.head(around(dependency)))
            if outer is None or not is_ancestor(self._git, commit, outer):
                return dependency, commit
            commit, dependency = outer, around(dependency)
            if not dependency or path.startswith(f"{dependency}/"):
                return dependency, commit

    def _with(self, path: str, dependency: str, start: str, commit: str) -> str:
        """Returns the merge of a dependency's commit into the start."""
        branch = self._names.branch(dependency)
        trial = try_merge(self._git, start, commit)
        if trial.conflicts:
            files = [conflict.path for conflict in trial.conflicts]
            raise HeldError(
                f"{path} cannot start, because the results it depends on conflict: {branch} and {start[:12]} "
                f"changed the same files ({listed(files)}); to settle it, type: git switch {branch}, then: git "
                f"merge {start[:12]}, fix and commit the files, and run the plan again",
                files,
                conflict=True,
            )
        # Dates from the parents make the merge reproducible after a crash.
        dates = self._git.line("show", "--no-patch", "--format=%ct", start, commit).split()
        subject = f"{path}: start with {dependency or 'the plan'}"
        return self._repository.commit(
            trial.tree, (start, commit), subject, path, f"{max(map(int, dates))} +0000"
        )
