"""The integration branches of groups that earlier runs left, and their treatment at the start of a run."""

from collections.abc import Callable, Sequence

from weft.engine.messages.facts import RefMove
from weft.workspaces.git.base.reachability import ReachabilityProof
from weft.workspaces.git.plan_repository import PlanRepository, changes, plan_move


class GroupBranches:
    """The integration branches of a plan's groups."""

    def __init__(self, plan_repository: PlanRepository, *, clear: Callable[[str], None]) -> None:
        """`clear` removes the worktree of a subplan after keeping its contents."""
        self._repository = plan_repository
        self._names = plan_repository.names
        self._git = plan_repository.git
        self._clear = clear

    def discard_groups(self) -> Sequence[RefMove]:
        """Removes the branches of groups that earlier runs left. Those of slices go when the slices start."""
        return self._put_aside(sorted(self._repository.groups), "the plan starts again")

    def follow_base(self) -> Sequence[RefMove]:
        """Removes the branches of groups if all their work is in the base, so that new work starts there."""
        refs = self._repository.refs()
        heads = {path: refs.get(self._names.head(path)) for path in sorted(self._repository.groups)}
        proof = ReachabilityProof(self._git, self._repository.ends.base)
        if not all(proof.holds(head) for head in heads.values() if head):
            return []
        started = [path for path, head in heads.items() if head or self._names.reported(path) in refs]
        return self._put_aside(started, "all of it has landed")

    def _put_aside(self, groups: Sequence[str], reason: str) -> list[RefMove]:
        """Keeps the commits of these groups and removes their branches; returns the moves."""
        for path in groups:
            self._clear(path)
        refs = self._repository.refs()
        ref_moves: list[RefMove] = []
        moves: list[RefMove] = []
        for path in groups:
            names, current = self._names, refs.get(self._names.head(path), "")
            if current:
                ref_moves += [
                    *self._repository.kept(path, current),
                    plan_move(refs, names.reported(path), current),
                ]
            for note in (names.head(path), names.start(path), names.tip(path), names.passed(path)):
                ref_moves.append(plan_move(refs, note, ""))
            # If a crash came after the removal, the branch is gone already and only the note `reported` has its
            # commit; the journal must get the same move in either case.
            before = current or ("" if names.start(path) in refs else refs.get(names.reported(path), ""))
            moves.append(RefMove(ref=names.head(path), before=before, after=""))
        self._repository.move(ref_moves, reason)
        return changes(moves)
