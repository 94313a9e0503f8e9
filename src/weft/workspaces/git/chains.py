"""Chains of merges on the tip of the target, built in memory.

A chain costs two git processes for each entry (`merge-tree`, `commit-tree`) and a few for all of them together,
and no checkout, so its cost does not depend on the size of the repository. One process lists the commits that the
target lacks; from their parents and trailers follows, for each entry, which other subplans' work it would bring
along.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from weft.engine.run.facts import RefMove
from weft.ports.landing import Chain, Entry, Link, waits_for
from weft.ports.workspaces import HeldError
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.ground import Ground
from weft.workspaces.git.joining import moved_before
from weft.workspaces.git.merge_commits import MergeCommits, MergeInput
from weft.workspaces.git.refs import tip, tree_of
from weft.workspaces.git.unlanded import Unlanded, is_in, is_own, units_of

_NAMED = 5
"""Subplans that a message names."""


class _Draft(Struct):
    """A chain while it is built."""

    base: str
    commit: str
    links: list[Link] = field(default_factory=list[Link])
    landed: dict[str, tuple[RefMove, ...]] = field(default_factory=dict[str, tuple[RefMove, ...]])
    held: dict[str, HeldError] = field(default_factory=dict[str, HeldError])
    deferred: list[str] = field(default_factory=list[str])
    built_on: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    parts: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    together: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    @property
    def paths(self) -> list[str]:
        return [link.path for link in self.links]

    def chain(self, tree: str) -> Chain:
        return Chain(
            base=self.base,
            commit=self.commit,
            tree=tree,
            links=tuple(self.links),
            landed=self.landed,
            held=self.held,
            deferred=tuple(self.deferred),
            built_on=self.built_on,
            parts=self.parts,
            together=self.together,
        )


class _Unit(Struct, frozen=True):
    """Entries that hold each other's work; mostly a single one."""

    entries: Sequence[Entry]
    before: int
    """The number of links before it."""

    @property
    def paths(self) -> list[str]:
        return [entry.path for entry in self.entries]


class ChainBuilder:
    def __init__(
        self, ground: Ground, commits: MergeCommits, refs: Mapping[str, str], not_landed: Sequence[str]
    ) -> None:
        """`refs` has the target, and of each entry its branch and where that started, as far as they exist."""
        self._ground = ground
        self._names = ground.names
        self._git = ground.git
        self._ref = ground.ends.target_ref
        self._commits = commits
        self._refs = refs
        self._not_landed = not_landed

    def build(self, entries: Sequence[Entry], base: str) -> Chain:
        heads = {entry.path: self._refs.get(self._names.head(entry.path), "") for entry in entries}
        self._heads = heads
        self._within = {entry.path: entry.within for entry in entries if heads[entry.path]}
        self._history = Unlanded.read(
            self._git, self._ground.plan, sorted(filter(None, heads.values())), base
        )
        draft = _Draft(base=base, commit=base)
        for unit in units_of(entries, heads, self._history, self._not_landed):
            self._add_unit(draft, _Unit(unit, len(draft.links)))
        return draft.chain(tree_of(self._git, draft.commit))

    def _add_unit(self, draft: _Draft, unit: _Unit) -> None:
        """Adds all entries of the unit, or none of them."""
        end = draft.commit
        for entry in unit.entries:
            self._add(draft, entry, unit)
        linked = draft.paths[unit.before :]
        held = [path for path in unit.paths if path in draft.held]
        if not held and not any(path in draft.deferred for path in unit.paths):
            if len(linked) > 1:
                draft.together.update(dict.fromkeys(linked, tuple(linked)))
            return
        del draft.links[unit.before :]
        draft.commit = end
        for path in linked:
            del draft.built_on[path]
        rest = [path for path in unit.paths if path in linked or path in draft.deferred]
        draft.deferred = [path for path in draft.deferred if path not in rest]
        if held:
            draft.held.update({path: waits_for(path, held) for path in rest})
        else:
            draft.deferred += rest

    def _add(self, draft: _Draft, entry: Entry, unit: _Unit) -> None:
        path = entry.path
        head, start = self._heads[path], self._refs.get(self._names.start(path))
        try:
            if not head:
                if path in self._ground.groups and start is None:
                    draft.landed[path] = ()  # no slice of the group has a branch
                    return
                head = self._ground.head(path)  # raises with the way to get the branch back
            if entry.within:
                draft.parts[path] = self._parts(entry, head, draft.base)
            if head not in self._history.commits:
                draft.landed[path] = moved_before(self._ground, self._ref, head, draft.base)
                return
            if head == start:
                draft.landed[path] = ()  # it has changed nothing
                return
            self._link(draft, entry, unit, head)
        except HeldError as error:
            draft.held[path] = error

    def _parts(self, entry: Entry, head: str, base: str) -> tuple[str, ...]:
        """The subplans inside the group whose work a commit holds, whether it has landed or not."""
        start = tip(self._git, self._names.start(entry.within)) or base
        commits = Unlanded.read(self._git, self._ground.plan, [head], start).commits.values()
        return tuple(sorted({each.subplan for each in commits if is_in(each.subplan, entry.within)}))

    def _link(self, draft: _Draft, entry: Entry, unit: _Unit, head: str) -> None:
        """Merges the entry onto the end of the chain."""
        path, linked = entry.path, draft.paths
        known = [entry.within or path, *self._not_landed, *linked, *unit.paths]
        self._refuse_strangers(path, self._history.strangers(head, known))
        others = [other for other in (*self._not_landed, *linked) if not is_own(entry, other)]
        along = self._along(others, {*linked, *unit.paths}, head)
        if any(other in draft.deferred for other in along):
            draft.deferred.append(path)
            return
        if along:
            raise waits_for(path, along)
        if entry.checks_worktree:
            self._commits.refuse_unsaved(path)
        commit = self._merge(draft, entry, unit, head)
        if commit is None:
            draft.deferred.append(path)  # it may be in conflict with a link that does not land
            return
        draft.links.append(Link(path=path, head=head, before=draft.commit, commit=commit))
        draft.built_on[path] = tuple(self._history.brings(head, [each for each in others if each in linked]))
        draft.commit = commit

    def _refuse_strangers(self, path: str, strangers: Sequence[str]) -> None:
        """An earlier run has integrated work that this run does not know, so nothing here has verified it."""
        if strangers:
            names = ", ".join(strangers[:_NAMED]) + (", …" if len(strangers) > _NAMED else "")
            raise HeldError(
                f"{path} is built on the work of {names}, which has not landed and is not part of this run; to "
                "land it as well, run the whole plan (or, if the plan has it no more, merge its branch yourself); "
                "to leave it out, run the plan with --fresh"
            )

    def _along(self, others: Sequence[str], linked: set[str], head: str) -> list[str]:
        """The subplans that are not in the chain, and whose work the entry with this commit would bring."""
        along = self._history.brings(head, [other for other in others if other not in linked])
        return [other for other in along if not self._is_covered(other, linked, head)]

    def _is_covered(self, group: str, linked: set[str], head: str) -> bool:
        """Whether the completed parts of the group that are in the chain have all that the commit has of it."""
        parts = [self._heads[path] for path in linked if self._within.get(path) == group]
        return bool(parts) and not self._history.brings(head, [group], beside=parts)

    def _merge(self, draft: _Draft, entry: Entry, unit: _Unit, head: str) -> str | None:
        """The merge commit; None if the entry is in conflict with a link of another unit."""
        own = draft.links[unit.before :]
        merge = MergeInput(
            path=entry.path,
            subject=entry.subject,
            into=self._names.branch(own[-1].path) if own else self._ground.ends.target,
            take_branch=entry.take_branch,
            files=entry.files,
        )
        try:
            return self._commits.make(merge, draft.commit, head).commit
        except WorkspaceError as error:  # it changed files that it may not change
            raise HeldError(
                f"{error}; take these changes back, then type: weft merge {entry.path}"
            ) from error
        except HeldError:
            if not unit.before:
                raise
            return None
