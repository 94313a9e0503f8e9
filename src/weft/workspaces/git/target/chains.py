"""Chains of merges on the tip of the target, built in memory.

A chain costs two git processes for each entry (`merge-tree`, `commit-tree`) and a few for all of them together,
and no checkout, so its cost does not depend on the size of the repository. One process lists the commits that the
target lacks; from their parents and trailers follows, for each entry, which other subplans' work it would bring
along.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from msgspec import Struct, field

from weft.engine.messages.facts import RefMove
from weft.ports.target import Chain, ChainLink, LandingEntry, waits_for
from weft.ports.workspaces import HeldError
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.base.merge_tree import Ancestry
from weft.workspaces.git.base.refs import is_ancestor, tip, tips_below, tree_of
from weft.workspaces.git.base.unlanded_history import UnlandedHistory, is_in, is_own, units_of
from weft.workspaces.git.merges.integrate import moved_before
from weft.workspaces.git.merges.merge_commits import MergeCommit, MergeCommits, MergeInput
from weft.workspaces.git.plan_repository import PlanRepository

_NAMED = 5
"""The number of subplans that a message names."""


class _Draft(Struct):
    """A chain while it is built."""

    base: str
    commit: str
    tree: str
    """The tree of the commit."""
    reached: set[str] = field(default_factory=set[str])
    """The commits that the links have brought, besides their merges."""
    links: list[ChainLink] = field(default_factory=list[ChainLink])
    landed: dict[str, tuple[RefMove, ...]] = field(default_factory=dict[str, tuple[RefMove, ...]])
    held: dict[str, HeldError] = field(default_factory=dict[str, HeldError])
    deferred: list[str] = field(default_factory=list[str])
    built_on: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    parts: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    together: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    @property
    def paths(self) -> list[str]:
        return [link.path for link in self.links]

    def chain(self) -> Chain:
        return Chain(
            base=self.base,
            commit=self.commit,
            tree=self.tree,
            links=tuple(self.links),
            landed=self.landed,
            held=self.held,
            deferred=tuple(self.deferred),
            built_on=self.built_on,
            parts=self.parts,
            together=self.together,
        )


class _Unit(Struct, frozen=True):
    """Entries that hold each other's work; usually a single one."""

    entries: Sequence[LandingEntry]
    before: int
    """The number of links before it."""

    @property
    def paths(self) -> list[str]:
        return [entry.path for entry in self.entries]


class ChainBuilder:
    """Builds a chain of merges."""

    def __init__(
        self,
        plan_repository: PlanRepository,
        commits: MergeCommits,
        refs: Mapping[str, str],
        is_to_land: Callable[[str], bool],
    ) -> None:
        """`refs` has the target and, for each entry, its branch and start, as far as they exist.

        `is_to_land` returns whether the result of a subplan, by its path, should land and has not.
        """
        self._repository = plan_repository
        self._names = plan_repository.names
        self._git = plan_repository.git
        self._ref = plan_repository.ends.target_ref
        self._commits = commits
        self._refs = refs
        self._is_to_land = is_to_land

    def build(self, entries: Sequence[LandingEntry], base: str) -> Chain:
        heads = {entry.path: self._refs.get(self._names.head(entry.path), "") for entry in entries}
        self._heads = heads
        self._within = {entry.path: entry.within for entry in entries if heads[entry.path]}
        self._history = UnlandedHistory.read(
            self._git, self._repository.plan, sorted(filter(None, heads.values())), base
        )
        draft = _Draft(base=base, commit=base, tree=tree_of(self._git, base))
        for unit in units_of(entries, heads, self._history, self._is_to_land):
            self._add_unit(draft, _Unit(unit, len(draft.links)))
        return draft.chain()

    def _add_unit(self, draft: _Draft, unit: _Unit) -> None:
        """Adds all entries of the unit, or none of them."""
        # A unit lands as a whole or not at all, so the state before it is restored if one of its entries cannot
        # be linked.
        before = draft.commit, draft.tree, set(draft.reached)
        for entry in unit.entries:
            self._add(draft, entry, unit)
        linked = draft.paths[unit.before :]
        held = [path for path in unit.paths if path in draft.held]
        if not held and not any(path in draft.deferred for path in unit.paths):
            if len(linked) > 1:
                draft.together.update(dict.fromkeys(linked, tuple(linked)))
            return
        del draft.links[unit.before :]
        draft.commit, draft.tree, draft.reached = before
        for path in linked:
            del draft.built_on[path]
        rest = [path for path in unit.paths if path in linked or path in draft.deferred]
        draft.deferred = [path for path in draft.deferred if path not in rest]
        # If one entry of the unit is held for a person, the others wait for that answer. If one is only
        # deferred, because of a conflict with another unit's link, all are tried again in the next batch.
        if held:
            draft.held.update({path: waits_for(path, held) for path in rest})
        else:
            draft.deferred += rest

    def _add(self, draft: _Draft, entry: LandingEntry, unit: _Unit) -> None:
        path = entry.path
        head, start = self._heads[path], self._refs.get(self._names.start(path))
        try:
            if not head:
                if path in self._repository.groups and start is None:
                    draft.landed[path] = ()  # no slice of the group has a branch
                    return
                head = self._repository.head(path)  # raises with the way to get the branch back
            if entry.within:
                draft.parts[path] = self._parts(entry, head, draft.base)
            if head not in self._history.commits:
                draft.landed[path] = moved_before(self._repository, self._ref, head, draft.base)
                return
            if head == start:
                draft.landed[path] = ()  # it has changed nothing
                return
            self._link(draft, entry, unit, head)
        except HeldError as error:
            draft.held[path] = error

    def _parts(self, entry: LandingEntry, head: str, base: str) -> tuple[str, ...]:
        """Returns the subplans inside the group that have work in a commit, whether it has landed or not."""
        # Since the group started, not since the target's tip: parts that landed earlier must pass their verify
        # again.
        start = tip(self._git, self._names.start(entry.within)) or base
        commits = UnlandedHistory.read(self._git, self._repository.plan, [head], start).commits.values()
        return tuple(sorted({commit.subplan for commit in commits if is_in(commit.subplan, entry.within)}))

    def _link(self, draft: _Draft, entry: LandingEntry, unit: _Unit, head: str) -> None:
        """Merges the entry onto the end of the chain."""
        path, linked = entry.path, frozenset(draft.paths)
        own = {entry.within or path, *linked, *unit.paths}
        strangers = self._history.strangers(head, lambda other: other in own or self._is_to_land(other))
        self._refuse_strangers(
            path, [other for other in strangers if not self._has_landed_rebuilt(other, head, draft.base)]
        )
        along = self._along(entry, {*linked, *unit.paths}, head)
        # It is built on an entry that waits for the next batch, and goes there together with it.
        if any(other in draft.deferred for other in along):
            draft.deferred.append(path)
            return
        if along:
            raise waits_for(path, along)
        if entry.checks_worktree:
            self._commits.refuse_unsaved(path)
        merge = self._merge(draft, entry, unit, head)
        if merge is None:
            draft.deferred.append(path)  # it may be in conflict with a link that does not land
            return
        draft.links.append(ChainLink(path=path, head=head, before=draft.commit, commit=merge.commit))
        earlier = {other for other in linked if not is_own(entry, other)}
        draft.built_on[path] = tuple(self._history.brings(head, earlier.__contains__))
        draft.commit, draft.tree = merge.commit, merge.tree
        draft.reached.update(self._history.reached_from(head))

    def _refuse_strangers(self, path: str, strangers: Sequence[str]) -> None:
        """Raises `HeldError` for unknown work that an earlier run integrated and nothing here verified."""
        if strangers:
            names = ", ".join(strangers[:_NAMED]) + (", …" if len(strangers) > _NAMED else "")
            raise HeldError(
                f"{path} is built on the work of {names}, which has not landed and is not part of this run; to "
                f"land it as well, run the whole plan (or, if it is no longer in the plan, merge its branch "
                f"yourself); to leave it out, run the plan with --fresh"
            )

    def _has_landed_rebuilt(self, path: str, head: str, base: str) -> bool:
        """Returns whether a commit holds only old commits of a slice that was rebuilt and has landed."""
        new = tip(self._git, self._names.head(path))
        if new is not None and not is_ancestor(self._git, new, base):
            return False
        kept = tips_below(self._git, self._names.kept(path, "").rstrip("/")).values()
        replaced = {commit for old in kept for commit in self._git.line("rev-list", old, f"^{base}").split()}
        reached = self._history.reached_from(head)
        return replaced.issuperset(each for each in reached if self._history.commits[each].is_work_of(path))

    def _along(self, entry: LandingEntry, linked: AbstractSet[str], head: str) -> list[str]:
        """Returns the subplans outside the chain that have work which the entry would bring along."""

        def is_missing(other: str) -> bool:
            return other not in linked and self._is_to_land(other) and not is_own(entry, other)

        along = self._history.brings(head, is_missing)
        return [other for other in along if not self._is_covered(other, linked, head)]

    def _is_covered(self, group: str, linked: AbstractSet[str], head: str) -> bool:
        """Returns whether the group's parts in the chain have all that the commit has of the group."""
        parts = [self._heads[path] for path in linked if self._within.get(path) == group]
        return bool(parts) and not self._history.brings(head, group.__eq__, beside=parts)

    def _merge(self, draft: _Draft, entry: LandingEntry, unit: _Unit, head: str) -> MergeCommit | None:
        """Returns the merge commit; None if the entry conflicts with a link of another unit."""
        own = draft.links[unit.before :]
        merge = MergeInput(
            path=entry.path,
            subject=entry.subject,
            into=self._names.branch(own[-1].path) if own else self._repository.ends.target,
            take_branch=entry.take_branch,
            files=entry.files,
        )
        ancestry = Ancestry(
            ours=draft.tree,
            theirs=self._history.commits[head].tree,
            shared=tuple(self._history.shared(head, draft.reached)),
        )
        try:
            return self._commits.make(merge, draft.commit, head, ancestry)
        except WorkspaceError as error:  # it changed files outside of its `files`
            raise HeldError(f"{error}; revert these changes, then type: weft merge {entry.path}") from error
        except HeldError:
            # With no link before it, the conflict is with the target itself, and only a person can resolve it.
            # Otherwise the other link may fail its verify and never land.
            if not unit.before:
                raise
            return None
