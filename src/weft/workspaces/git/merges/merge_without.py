"""What a group would have come to without some of what is in it.

Its branch began at a commit, and the parts were merged into it one by one. The same is done again here, in memory,
with fewer of them. Made again, it is the very same commit: all that goes into it is in git, also its dates, which
are those of the work.

A part is built on another if it began with that one's work, because it depends on it, or because that was merged
already when it began. It cannot be had without it.
"""

from collections.abc import Sequence

from weft.engine.messages.facts import RefMove
from weft.engine.suspects import Suspect
from weft.ports.workspaces import ConflictError, GroupPart, HeldError, MergeRequest
from weft.workspaces.errors import listed
from weft.workspaces.git.base.merge_tree import try_merge
from weft.workspaces.git.base.refs import tree_of
from weft.workspaces.git.checkouts.advance_branch import checkout_of
from weft.workspaces.git.plan_repository import Known, PlanRepository, changes, wish


class PartRemoval:
    def __init__(self, plan_repository: PlanRepository) -> None:
        self._repository = plan_repository
        self._git = plan_repository.git
        self._names = plan_repository.names
        # The same is asked for again and again, with few differences.
        self._relations: dict[tuple[tuple[GroupPart, str], ...], dict[str, list[str]]] = {}
        self._merges: dict[tuple[GroupPart, str, str], str] = {}

    def suspects(self, request: MergeRequest) -> Sequence[Suspect]:
        """None if more than the work of the parts is on the branch, or this cannot be told apart."""
        known = self._repository.known()
        start, head = (known.get(ref) for ref in self._ends(request.path))
        parts = self._with_work(request.parts, start, known)
        if start is None or head is None or not parts:
            return ()
        built_on = self._built_on(parts, known)
        try:
            whole = self._made(request, built_on, start, known)
        except ConflictError:
            return ()
        if tree_of(self._git, whole) != tree_of(self._git, head):
            return ()
        return [Suspect(path, tuple(others)) for path, others in built_on.items()]

    def without(self, request: MergeRequest) -> str:
        """A commit with all but some; raises `ConflictError` if what is left does not go together."""
        known = self._repository.known()
        start = known.get(self._names.start(request.path)) or self._repository.head(request.path)
        parts = self._with_work(request.parts, start, known)
        built_on = self._built_on(parts, known)
        left = {path: others for path, others in built_on.items() if path not in request.without}
        return self._made(request, left, start, known)

    def leave_out(self, request: MergeRequest) -> list[RefMove]:
        """Moves the branch of a group to hold some of its parts only, and keeps what was on it."""
        path, names, known = request.path, self._names, self._repository.known()
        left, now = self.without(request), known[names.head(path)]
        if known.get(names.tip(path)) == left:  # it was done before; what came since is a person's
            return changes(
                [RefMove(ref=names.head(path), before=known.get(names.told(path), ""), after=left)]
            )
        place = checkout_of(self._git, names.head(path))
        if place is not None:
            raise HeldError(
                f"{names.branch(path)} is checked out in {place}, so {', '.join(request.without)} cannot be taken "
                f"off it; switch to another branch there (git switch), then type: weft merge {path}"
            )
        wishes = [
            *self._repository.kept(path, now),
            wish(known, names.head(path), left),
            wish(known, names.tip(path), left),
            wish(known, names.told(path), now),
        ]
        self._repository.move(wishes, f"{path} without {', '.join(request.without)}")
        return [RefMove(ref=names.head(path), before=now, after=left)]

    def _ends(self, group: str) -> tuple[str, str]:
        return self._names.start(group), self._names.head(group)

    def _with_work(self, parts: Sequence[GroupPart], start: str | None, known: Known) -> list[GroupPart]:
        """Who changed nothing, or whose work was there when the group began, has nothing to do with it."""
        merged = self._repository.merged_into(start) if start else ()
        found: list[GroupPart] = []
        for part in parts:
            began, head = self._ends(part.path)
            if head in known and head not in merged and known[head] != known.get(began):
                found.append(part)
        return found

    def _built_on(self, parts: Sequence[GroupPart], known: Known) -> dict[str, list[str]]:
        """In plan order, as are the others of each."""
        key = tuple((part, known[self._names.head(part.path)]) for part in parts)
        if key not in self._relations:
            self._relations[key] = {part.path: self._others_in(part, parts, known) for part in parts}
        return self._relations[key]

    def _others_in(self, part: GroupPart, parts: Sequence[GroupPart], known: Known) -> list[str]:
        head = known[self._names.head(part.path)]
        merged = self._repository.merged_into(head)
        heads = {other.path: self._names.head(other.path) for other in parts}
        return [
            other
            for other, ref in heads.items()
            if other in part.after or (ref in merged and known[ref] != head)
        ]

    def _made(self, request: MergeRequest, built_on: dict[str, list[str]], start: str, known: Known) -> str:
        """One after the other, each after what it is built on: of those there are fewer for the ones before it."""
        parts = {part.path: part for part in request.parts}
        commit = start
        for path in sorted(built_on, key=lambda path: len(built_on[path])):
            commit = self._with(parts[path], commit, known[self._names.head(path)])
        return commit

    def _with(self, part: GroupPart, ours: str, theirs: str) -> str:
        key = (part, ours, theirs)
        if key not in self._merges:
            self._merges[key] = self._merged(part, ours, theirs)
        return self._merges[key]

    def _merged(self, part: GroupPart, ours: str, theirs: str) -> str:
        trial = try_merge(self._git, ours, theirs, take=part.take_branch)
        if trial.conflicts:
            files = [conflict.path for conflict in trial.conflicts]
            raise ConflictError(f"{part.path} does not go together with what is left: {listed(files)}", files)
        dates = self._git.line("show", "--no-patch", "--format=%ct", ours, theirs).split()
        date = f"{max(map(int, dates))} +0000"
        return self._repository.commit(trial.tree, (ours, theirs), part.subject, part.path, date)
