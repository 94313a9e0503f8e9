"""The state of a group without some of its parts.

The parts of a group were merged into its branch one by one. This module repeats that in memory with fewer parts. A
repetition gives the very same commit: everything in it comes from git, including its dates, which are those of the
work.

A part is built on another one if it started with that part's work, because it depends on it or because that part
was merged already. It cannot be merged without the other. A slice that holds the other's work by chance may be
repeated without it: its own commits are repeated in memory, and its branch moves to them only when the other part
is left out.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress

from msgspec import Struct

from weft.engine.messages.facts import RefMove
from weft.engine.suspects import Suspect
from weft.ports.workspaces import ConflictError, GroupPart, HeldError, MergeRequest, WorkspaceRequest
from weft.workspaces.errors import listed
from weft.workspaces.git.base.merge_tree import try_merge
from weft.workspaces.git.base.names import dotted
from weft.workspaces.git.base.refs import tips_below, tree_of
from weft.workspaces.git.base.unlanded_history import UnlandedHistory
from weft.workspaces.git.checkouts.branch_checkouts import checkout_of
from weft.workspaces.git.plan_repository import PlanRepository, RefTips, around, changes, plan_move
from weft.workspaces.git.slices.rebuild import NotApplicableError, Repetition, SliceRebuild


class _Relations(Struct, frozen=True):
    """What the parts of a group hold of each other."""

    built_on: Mapping[str, list[str]]
    """The parts that each cannot be merged without, in plan order."""
    by_chance: Mapping[str, AbstractSet[str]]
    """The other parts in the branch of a slice that can be repeated without them."""
    repetitions: Mapping[str, Repetition]
    """The work of these slices without those parts."""

    def head(self, path: str, names: AbstractSet[str]) -> str:
        """Returns the commit of a slice that is repeated, as others are not among these parts; else nothing."""
        return "" if self.by_chance.get(path, frozenset()) <= names else self.repetitions[path].head


class _Overlay(Mapping[str, str]):
    """Refs, some of which lead to other commits."""

    def __init__(self, refs: RefTips, replaced: Mapping[str, str]) -> None:
        self._refs = refs
        self._replaced = replaced

    def __getitem__(self, ref: str) -> str:
        return self._replaced[ref] if ref in self._replaced else self._refs[ref]

    def __iter__(self) -> Iterator[str]:
        return iter({*self._replaced, *self._refs})

    def __len__(self) -> int:
        return len({*self._replaced, *self._refs})


class PartRemoval:
    """Removes parts from groups."""

    def __init__(self, plan_repository: PlanRepository, *, release: Callable[[str], object]) -> None:
        """`release` removes the worktree of a slice that is merged, unless it holds something else."""
        self._repository = plan_repository
        self._git = plan_repository.git
        self._names = plan_repository.names
        self._release = release
        self._rebuild = SliceRebuild(plan_repository)
        # A bisection asks for many subsets of the same parts, so relations and merges are cached.
        self._relations: dict[tuple[tuple[GroupPart, str], ...], _Relations] = {}
        self._merges: dict[tuple[GroupPart, str, str], str] = {}

    def suspects(self, request: MergeRequest) -> Sequence[Suspect]:
        """Returns the parts that may be at fault; none if the branch holds more than the work of its parts."""
        refs = self._repository.refs()
        start, head = (refs.get(ref) for ref in self._ends(request.path))
        parts = self._with_work(request.parts, start, refs)
        if start is None or head is None or not parts:
            return ()
        relations = self._relations_of(parts, refs)
        try:
            whole = self._merge_parts(request, relations, start, refs)
        except ConflictError:
            return ()
        # The repetition must give the tree that failed. A person's commit or a resolved conflict on the branch
        # would be lost in it, and the bisection would blame parts for something else.
        if self._added(parts, head, start, refs) or tree_of(self._git, whole) != tree_of(self._git, head):
            return ()
        return [Suspect(path, tuple(others)) for path, others in relations.built_on.items()]

    def without(self, request: MergeRequest) -> str:
        """Returns a commit without some parts. Raises `ConflictError` if the others conflict."""
        refs = self._repository.refs()
        start = refs.get(self._names.start(request.path)) or self._repository.head(request.path)
        relations = self._relations_of(self._with_work(request.parts, start, refs), refs)
        return self._merge_parts(request, relations, start, refs)

    def repeated(self, request: MergeRequest) -> Mapping[str, Repetition]:
        """Returns the slices that are repeated because others are left out."""
        refs = self._repository.refs()
        start = refs.get(self._names.start(request.path)) or self._repository.head(request.path)
        relations = self._relations_of(self._with_work(request.parts, start, refs), refs)
        names = relations.built_on.keys() - {*request.without}
        return {path: relations.repetitions[path] for path in sorted(names) if relations.head(path, names)}

    def leave_out(self, request: MergeRequest) -> list[RefMove]:
        """Moves the branch of a group to a commit without some parts, and keeps the old commit."""
        path, names, refs = request.path, self._names, self._repository.refs()
        commit, repeated, current = self.without(request), self.repeated(request), refs[names.head(path)]
        if refs.get(names.tip(path)) == commit:  # an earlier coordinator did it; later commits are a person's
            return changes(
                [RefMove(ref=names.head(path), before=refs.get(names.reported(path), ""), after=commit)]
            )
        for part in repeated:
            self._release(part)  # usually that has happened already, or happens at this moment
        for each in (path, *repeated):
            checkout = checkout_of(self._git, names.head(each))
            if checkout is not None:
                parts = ", ".join(request.without)
                raise HeldError(
                    f"{names.branch(each)} is checked out in {checkout}, so {parts} cannot be "
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
        slice_moves = [plan_move(refs, names.head(part), repeated[part].head) for part in repeated]
        # Old commits are kept first, and the note that the group has moved comes last: a kill while git moves the
        # refs may leave only the first of them moved, and then all of this is done again.
        ref_moves = [
            *self._repository.kept(path, current),
            *(move for part in repeated for move in self._repository.kept(part, refs[names.head(part)])),
            *(plan_move(refs, names.start(part), repeated[part].start) for part in repeated),
            *slice_moves,
            plan_move(refs, names.reported(path), current),
            plan_move(refs, names.head(path), commit),
            plan_move(refs, names.tip(path), commit),
        ]
        self._repository.move(ref_moves, f"{path} without {', '.join(request.without)}")
        return [*slice_moves, RefMove(ref=names.head(path), before=current, after=commit)]

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

    def _relations_of(self, parts: Sequence[GroupPart], refs: RefTips) -> _Relations:
        key = tuple((part, refs[self._names.head(part.path)]) for part in parts)
        if key not in self._relations:
            self._relations[key] = self._find_relations(parts, refs)
        return self._relations[key]

    def _find_relations(self, parts: Sequence[GroupPart], refs: RefTips) -> _Relations:
        built_on = {part.path: self._others_in(part, parts, refs) for part in parts}
        by_chance: dict[str, AbstractSet[str]] = {}
        repetitions: dict[str, Repetition] = {}
        # A part comes after those that it is built on, so that it is repeated on their repetitions.
        for part in sorted(parts, key=lambda part: len(built_on[part.path])):
            needed = _reached(part.path, {each.path: each.after for each in parts})
            others = frozenset(built_on[part.path]) - needed
            if not others or part.needs is None:
                continue
            replaced = {self._names.head(path): each.head for path, each in repetitions.items()}
            request = WorkspaceRequest(path=part.path, after=part.needs, without=tuple(sorted(others)))
            with suppress(NotApplicableError, HeldError):
                outer = refs[self._names.head(around(part.path))]
                repetitions[part.path] = self._rebuild.repeat(request, outer, _Overlay(refs, replaced))
                by_chance[part.path] = others
                built_on[part.path] = [path for path in built_on[part.path] if path in needed]
        return _Relations(built_on, by_chance, repetitions)

    def _others_in(self, part: GroupPart, parts: Sequence[GroupPart], refs: RefTips) -> list[str]:
        head = refs[self._names.head(part.path)]
        merged = self._repository.merged_into(head)
        heads = {other.path: self._names.head(other.path) for other in parts}
        return [
            other
            for other, ref in heads.items()
            if other in part.after or (ref in merged and refs[ref] != head)
        ]

    def _merge_parts(self, request: MergeRequest, relations: _Relations, start: str, refs: RefTips) -> str:
        """Merges the remaining parts, each after those it is built on, which have fewer such parts themselves."""
        parts = {part.path: part for part in request.parts}
        names = relations.built_on.keys() - {*request.without}
        commit = start
        # "Is built on" is transitive, so a part has strictly more such parts than each of those it is built on.
        # Sorting by their number is therefore a topological order.
        remaining = [path for path in relations.built_on if path in names]
        for path in sorted(remaining, key=lambda path: len(relations.built_on[path])):
            head = relations.head(path, names) or refs[self._names.head(path)]
            commit = self._with(parts[path], commit, head)
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


def _reached(path: str, after: Mapping[str, Sequence[str]]) -> AbstractSet[str]:
    """Returns a part and all parts that it depends on, directly or indirectly."""
    reached = {path}
    waiting = [path]
    while waiting:
        new = set(after.get(waiting.pop(), ())) - reached
        reached |= new
        waiting += new
    return reached
