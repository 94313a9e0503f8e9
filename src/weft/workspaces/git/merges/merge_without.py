"""The state of a group without some of its parts.

The parts of a group were merged into its branch one by one. This module repeats that in memory with fewer parts. A
repetition gives the very same commit: everything in it comes from git, including its dates, which are those of the
work.

A part is built on another one if it started with that part's work, because it depends on it or because that part
was merged already. It cannot be merged without the other.
"""

from collections.abc import Sequence

from weft.engine.messages.facts import RefMove
from weft.engine.suspects import Suspect
from weft.ports.workspaces import ConflictError, GroupPart, HeldError, MergeRequest
from weft.workspaces.errors import listed
from weft.workspaces.git.base.merge_tree import try_merge
from weft.workspaces.git.base.names import dotted
from weft.workspaces.git.base.refs import tips_below, tree_of
from weft.workspaces.git.base.unlanded_history import UnlandedHistory
from weft.workspaces.git.checkouts.branch_checkouts import checkout_of
from weft.workspaces.git.plan_repository import PlanRepository, RefTips, changes, plan_move


class PartRemoval:
    """Removes parts from groups."""

    def __init__(self, plan_repository: PlanRepository) -> None:
        self._repository = plan_repository
        self._git = plan_repository.git
        self._names = plan_repository.names
        # A bisection asks for many subsets of the same parts, so relations and merges are cached.
        self._relations: dict[tuple[tuple[GroupPart, str], ...], dict[str, list[str]]] = {}
        self._merges: dict[tuple[GroupPart, str, str], str] = {}

    def suspects(self, request: MergeRequest) -> Sequence[Suspect]:
        """Returns the parts that may be at fault; none if the branch holds more than the work of its parts."""
        refs = self._repository.refs()
        start, head = (refs.get(ref) for ref in self._ends(request.path))
        parts = self._with_work(request.parts, start, refs)
        if start is None or head is None or not parts:
            return ()
        built_on = self._built_on(parts, refs)
        try:
            whole = self._merge_parts(request, built_on, start, refs)
        except ConflictError:
            return ()
        # The repetition must give the tree that failed. A person's commit or a resolved conflict on the branch
        # would be lost in it, and the bisection would blame parts for something else.
        if self._added(parts, head, start, refs) or tree_of(self._git, whole) != tree_of(self._git, head):
            return ()
        return [Suspect(path, tuple(others)) for path, others in built_on.items()]

    def without(self, request: MergeRequest) -> str:
        """Returns a commit without some parts. Raises `ConflictError` if the others conflict."""
        refs = self._repository.refs()
        start = refs.get(self._names.start(request.path)) or self._repository.head(request.path)
        parts = self._with_work(request.parts, start, refs)
        built_on = self._built_on(parts, refs)
        remaining = {path: others for path, others in built_on.items() if path not in request.without}
        return self._merge_parts(request, remaining, start, refs)

    def leave_out(self, request: MergeRequest) -> list[RefMove]:
        """Moves the branch of a group to a commit without some parts, and keeps the old commit."""
        path, names, refs = request.path, self._names, self._repository.refs()
        commit, current = self.without(request), refs[names.head(path)]
        if refs.get(names.tip(path)) == commit:  # an earlier coordinator did it; later commits are a person's
            return changes(
                [RefMove(ref=names.head(path), before=refs.get(names.reported(path), ""), after=commit)]
            )
        checkout = checkout_of(self._git, names.head(path))
        if checkout is not None:
            raise HeldError(
                f"{names.branch(path)} is checked out in {checkout}, so {', '.join(request.without)} cannot be "
                f"removed from it; switch to another branch there (git switch), then type: weft merge {path}"
            )
        if self._added(request.parts, current, refs.get(names.start(path), commit), refs):
            keep, last = f"{names.plan}-{dotted(path)}", refs.get(names.tip(path), commit)
            raise HeldError(
                f"{names.branch(path)} has commits that are not of its parts, so {', '.join(request.without)} "
                f"cannot be removed from it; to move these commits to a branch {keep}, type: git branch {keep} "
                f"{names.branch(path)}, then: git branch --force {names.branch(path)} {last[:12]}, then: "
                f"weft merge {path}"
            )
        ref_moves = [
            *self._repository.kept(path, current),
            plan_move(refs, names.head(path), commit),
            plan_move(refs, names.tip(path), commit),
            plan_move(refs, names.reported(path), current),
        ]
        self._repository.move(ref_moves, f"{path} without {', '.join(request.without)}")
        return [RefMove(ref=names.head(path), before=current, after=commit)]

    def _added(self, parts: Sequence[GroupPart], head: str, start: str, refs: RefTips) -> bool:
        """Returns whether a commit holds anything besides the work of these parts and their merges.

        A person's merge counts even if it changed no file.
        """
        paths = {part.path for part in parts}
        ends = [refs[ref] for ref in map(self._names.head, paths) if ref in refs]
        for path in paths:  # of a slice that was rebuilt, the branch has its earlier commits as well
            ends += tips_below(self._git, self._names.kept(path, "").rstrip("/")).values()
        history = UnlandedHistory.read(self._git, self._repository.plan, [head], start, *ends)
        return any(commit.subplan not in paths for commit in history.commits.values())

    def _ends(self, group: str) -> tuple[str, str]:
        return self._names.start(group), self._names.head(group)

    def _with_work(self, parts: Sequence[GroupPart], start: str | None, refs: RefTips) -> list[GroupPart]:
        """Returns the parts that changed something after the group started."""
        merged = self._repository.merged_into(start) if start else ()
        relevant: list[GroupPart] = []
        for part in parts:
            start_ref, head_ref = self._ends(part.path)
            if head_ref in refs and head_ref not in merged and refs[head_ref] != refs.get(start_ref):
                relevant.append(part)
        return relevant

    def _built_on(self, parts: Sequence[GroupPart], refs: RefTips) -> dict[str, list[str]]:
        """Returns, for each part, the parts it is built on, all in plan order."""
        key = tuple((part, refs[self._names.head(part.path)]) for part in parts)
        if key not in self._relations:
            self._relations[key] = {part.path: self._others_in(part, parts, refs) for part in parts}
        return self._relations[key]

    def _others_in(self, part: GroupPart, parts: Sequence[GroupPart], refs: RefTips) -> list[str]:
        head = refs[self._names.head(part.path)]
        merged = self._repository.merged_into(head)
        heads = {other.path: self._names.head(other.path) for other in parts}
        return [
            other
            for other, ref in heads.items()
            if other in part.after or (ref in merged and refs[ref] != head)
        ]

    def _merge_parts(
        self, request: MergeRequest, built_on: dict[str, list[str]], start: str, refs: RefTips
    ) -> str:
        """Merges the parts, each after those it is built on, which have fewer such parts themselves."""
        parts = {part.path: part for part in request.parts}
        commit = start
        # "Is built on" is transitive, so a part has strictly more such parts than each of those it is built on.
        # Sorting by their number is therefore a topological order.
        for path in sorted(built_on, key=lambda path: len(built_on[path])):
            commit = self._with(parts[path], commit, refs[self._names.head(path)])
        return commit

    def _with(self, part: GroupPart, ours: str, theirs: str) -> str:
        key = (part, ours, theirs)
        if key not in self._merges:
            self._merges[key] = self._merge(part, ours, theirs)
        return self._merges[key]

    def _merge(self, part: GroupPart, ours: str, theirs: str) -> str:
        trial = try_merge(self._git, ours, theirs, take=part.take_branch)
        if trial.conflicts:
            files = [conflict.path for conflict in trial.conflicts]
            raise ConflictError(f"{part.path} conflicts with the other parts: {listed(files)}", files)
        # The later date of the two: with the present time, each repetition would be another commit.
        dates = self._git.line("show", "--no-patch", "--format=%ct", ours, theirs).split()
        date = f"{max(map(int, dates))} +0000"
        return self._repository.commit(trial.tree, (ours, theirs), part.subject, part.path, date)
