"""The branches of groups that earlier runs left, and what becomes of them when a run begins."""

from collections.abc import Callable, Sequence

from weft.engine.messages.facts import RefMove
from weft.workspaces.git.base.reachability import ReachabilityProof
from weft.workspaces.git.plan_repository import PlanRepository, changes, wish


class GroupBranches:
    def __init__(self, plan_repository: PlanRepository, *, clear: Callable[[str], None]) -> None:
        """`clear` removes the worktree of a subplan, once all that is in it has a name."""
        self._repository = plan_repository
        self._names = plan_repository.names
        self._git = plan_repository.git
        self._clear = clear

    def start_anew(self) -> Sequence[RefMove]:
        """Branches of groups that earlier runs left are put aside; those of slices go when those begin."""
        return self._put_aside(sorted(self._repository.groups), "all is done anew")

    def follow_base(self) -> Sequence[RefMove]:
        """Where all that earlier runs did is on the base, what is new starts from there, with what people did."""
        refs = self._repository.known()
        heads = {path: refs.get(self._names.head(path)) for path in sorted(self._repository.groups)}
        proof = ReachabilityProof(self._git, self._repository.ends.base)
        if not all(proof.holds(head) for head in heads.values() if head):
            return []
        begun = [path for path, head in heads.items() if head or self._names.told(path) in refs]
        return self._put_aside(begun, "all of it has landed")

    def _put_aside(self, groups: Sequence[str], why: str) -> list[RefMove]:
        for path in groups:
            self._clear(path)
        refs = self._repository.known()
        wishes: list[RefMove] = []
        moves: list[RefMove] = []
        for path in groups:
            names, now = self._names, refs.get(self._names.head(path), "")
            if now:
                wishes += [*self._repository.kept(path, now), wish(refs, names.told(path), now)]
            for note in (names.head(path), names.start(path), names.tip(path), names.passed(path)):
                wishes.append(wish(refs, note, ""))
            before = now or ("" if names.start(path) in refs else refs.get(names.told(path), ""))
            moves.append(RefMove(ref=names.head(path), before=before, after=""))
        self._repository.move(wishes, why)
        return changes(moves)
