"""What a slice starts with: the newest state of the branch around it, and what it depends on besides.

The branch of a group follows the one around it as long as nothing of its own is on it. Here it is only said how it
would move: it is moved together with the slice's own branch, so that nothing has changed if a slice cannot start.

A slice may depend on one in another group, whose work is not on the branch around both yet. It is merged in then;
made again, after a crash, that is the very same commit.

A result whose verify fails on the target is held there, and all that is built on it with it. So a slice that does
not depend on such a result starts without it, as far as that goes.
"""

from msgspec import Struct

from weft.engine.messages.facts import RefMove
from weft.ports.workspaces import HeldError, WorkspaceRequest
from weft.workspaces.errors import listed
from weft.workspaces.git.base.merge_tree import try_merge
from weft.workspaces.git.base.refs import is_ancestor, tip
from weft.workspaces.git.base.unlanded import UnlandedHistory
from weft.workspaces.git.checkouts.advance_branch import checkout_of
from weft.workspaces.git.plan_repository import Known, PlanRepository, around, wish


class SliceStart(Struct, frozen=True, kw_only=True):
    commit: str
    follows: tuple[RefMove, ...] = ()
    """What brings the branches around up to it, and the notes of that."""


class SliceStarts:
    def __init__(self, plan_repository: PlanRepository) -> None:
        self._repository = plan_repository
        self._git = plan_repository.git
        self._names = plan_repository.names

    def newest(self, group: str, known: Known) -> SliceStart:
        """The newest state of a group's branch."""
        head, start = self._names.head(group), self._names.start(group)
        now = known.get(head, "")
        if now and now != known.get(start):
            return SliceStart(commit=now)  # it has work of its own
        outer = self.newest(around(group), known) if group else SliceStart(commit=self._repository.ends.base)
        if now == outer.commit or (now and self._is_looked_at(head)):
            return outer
        moves = (
            wish(known, head, outer.commit),
            wish(known, start, outer.commit),
            wish(known, self._names.tip(group), outer.commit),
            wish(known, self._names.told(group), now),
        )
        return SliceStart(commit=outer.commit, follows=(*outer.follows, *moves))

    def _is_looked_at(self, head: str) -> bool:
        """To move a branch that somebody has checked out would look as if that person had changed files."""
        return checkout_of(self._git, head) is not None

    def of(self, request: WorkspaceRequest, known: Known) -> SliceStart:
        """Raises `HeldError` if what a slice depends on does not go together."""
        start = self.newest(around(request.path), known)
        if request.without:
            apart = self._apart(request, start, known)
            if apart is not None:
                return apart
        if not request.after:
            return start
        commit = start.commit
        heads = {other: known.get(self._names.head(other)) for other in request.after}
        missing = self._repository.missing_in(commit, {*filter(None, heads.values())})
        for other, head in heads.items():
            has_it = self._repository.has_landed(other) if head is None else head not in missing
            if has_it:
                continue
            branch, reached = self._reached(other, request.path, known)
            if not is_ancestor(self._git, reached, commit):
                commit = self._with(request.path, branch, commit, reached)
                missing = self._repository.missing_in(commit, missing)
        return SliceStart(commit=commit, follows=start.follows)

    def _apart(self, request: WorkspaceRequest, start: SliceStart, known: Known) -> SliceStart | None:
        """A start without the work of results that cannot land; None if all of it can stay, or some has to.

        It is where the branch was before that work came, with the dependencies that came later: each from its own
        branch, because those around it may hold what is not wanted.
        """
        tips = {other: known.get(self._names.head(other)) for other in request.after}
        if any(head is None and not self._repository.has_landed(other) for other, head in tips.items()):
            return None
        heads = {other: head for other, head in tips.items() if head is not None}
        target = tip(self._git, self._repository.ends.target_ref) or self._repository.ends.base
        history = UnlandedHistory.read(self._git, self._repository.plan, [start.commit, *heads.values()], target)
        commit = history.before(start.commit, request.without)
        unwanted = frozenset(request.without)
        if commit == start.commit or any(
            history.brings(head, unwanted.__contains__) for head in heads.values()
        ):
            return None
        for other, head in heads.items():
            if not is_ancestor(self._git, head, commit):
                try:
                    commit = self._with(request.path, other, commit, head)
                except HeldError:
                    return None  # the branch around it has this settled
        return SliceStart(commit=commit, follows=start.follows)

    def _reached(self, dependency: str, path: str, known: Known) -> tuple[str, str]:
        """The outermost subplan that the work of a dependency has reached, up to the one that holds both."""
        found = known.get(self._names.head(dependency)) or self._repository.head(dependency)
        while True:
            outer = known.get(self._names.head(around(dependency)))
            if outer is None or not is_ancestor(self._git, found, outer):
                return dependency, found
            found, dependency = outer, around(dependency)
            if not dependency or path.startswith(f"{dependency}/"):
                return dependency, found

    def _with(self, path: str, other: str, start: str, commit: str) -> str:
        branch = self._names.branch(other)
        trial = try_merge(self._git, start, commit)
        if trial.conflicts:
            files = [conflict.path for conflict in trial.conflicts]
            raise HeldError(
                f"{path} cannot start, for what it depends on does not go together: {branch} and {start[:12]} "
                f"changed the same files ({listed(files)}); to settle it, type: git switch {branch}, then: git "
                f"merge {start[:12]}, fix and commit the files, and run the plan again",
                files,
                conflict=True,
            )
        dates = self._git.line("show", "--no-patch", "--format=%ct", start, commit).split()
        subject = f"{path}: start with {other or 'the plan'}"
        return self._repository.commit(
            trial.tree, (start, commit), subject, path, f"{max(map(int, dates))} +0000"
        )
