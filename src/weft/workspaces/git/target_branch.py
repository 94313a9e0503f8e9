"""The target branch: chains of merges built on its tip, and the one move that lands them.

A chain costs two git processes for each entry (`merge-tree`, `commit-tree`) and a few for all of them together,
and no checkout, so its cost does not depend on the size of the repository. One process lists the commits that the
target lacks; from their parents and trailers follows, for each entry, which other subplans' work it would bring
along.

The target moves by a compare-and-swap against the tip that the chain was built on. Where it is checked out, git
moves it by a fast-forward in that checkout, which refuses if a local change is in the way.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from threading import Lock

from msgspec import Struct, field

from weft.engine.run.facts import RefMove
from weft.ports.landing import Chain, Entry, Link, ScratchFiles
from weft.ports.workspaces import HeldError
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.ground import Ground
from weft.workspaces.git.joining import moved_before
from weft.workspaces.git.landing import advance
from weft.workspaces.git.merge_commits import MergeCommits, MergeInput
from weft.workspaces.git.merging import Ancestry
from weft.workspaces.git.names import Names
from weft.workspaces.git.refs import tip, tips_of, tree_of
from weft.workspaces.git.remote import Remote
from weft.workspaces.git.unlanded import UnlandedHistory
from weft.workspaces.git.worktrees import Worktrees

_NAMED = 5
"""Subplans that a message names."""
_SCRATCH = "_land"
"""The name of the worktree in which chains are verified."""


class _Draft(Struct):
    """A chain while it is built."""

    base: str
    commit: str
    tree: str
    """That of the commit."""
    linked: set[str] = field(default_factory=set[str])
    """The commits that the links have brought, besides their merges."""
    links: list[Link] = field(default_factory=list[Link])
    landed: dict[str, tuple[RefMove, ...]] = field(default_factory=dict[str, tuple[RefMove, ...]])
    held: dict[str, HeldError] = field(default_factory=dict[str, HeldError])
    deferred: list[str] = field(default_factory=list[str])
    built_on: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    parts: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


class TargetBranch:
    def __init__(self, ground: Ground, worktrees: Worktrees, commits: MergeCommits) -> None:
        self._ground = ground
        self._names = ground.names
        self._git = ground.git
        self._ref = ground.ends.target_ref
        self._worktrees = worktrees
        self._commits = commits
        self._remote = Remote(ground)
        self._moving = Lock()

    @property
    def name(self) -> str:
        return self._ground.ends.target

    def branch(self, path: str) -> str:
        return self._names.branch(path)

    # Building

    def build(
        self, entries: Sequence[Entry], *, is_to_land: Callable[[str], bool], onto: str | None = None
    ) -> Chain:
        refs = tips_of(self._git, self._ref, *self._refs_of(entries))
        base = onto or refs.get(self._ref) or self._missing_target()
        heads = {entry.path: refs.get(self._names.head(entry.path), "") for entry in entries}
        history = UnlandedHistory.read(
            self._git, self._ground.plan, sorted(filter(None, heads.values())), base
        )
        draft = _Draft(base=base, commit=base, tree=tree_of(self._git, base))
        for entry in _in_order(entries, heads, history):
            self._add(draft, entry, refs, history, is_to_land)
        return Chain(
            base=base,
            commit=draft.commit,
            tree=draft.tree,
            links=tuple(draft.links),
            landed=draft.landed,
            held=draft.held,
            deferred=tuple(draft.deferred),
            built_on=draft.built_on,
            parts=draft.parts,
        )

    def _refs_of(self, entries: Sequence[Entry]) -> list[str]:
        names = self._names
        return [ref for entry in entries for ref in (names.head(entry.path), names.start(entry.path))]

    def _missing_target(self) -> str:
        raise HeldError(
            f"the target branch {self.name} is gone; make it again (git branch {self.name} COMMIT), "
            "then type: weft merge"
        )

    def _add(
        self,
        draft: _Draft,
        entry: Entry,
        refs: Mapping[str, str],
        history: UnlandedHistory,
        is_to_land: Callable[[str], bool],
    ) -> None:
        path = entry.path
        head, start = refs.get(self._names.head(path)), refs.get(self._names.start(path))
        try:
            if head is None:
                if path in self._ground.groups and start is None:
                    draft.landed[path] = ()  # no slice of the group has a branch
                    return
                head = self._ground.head(path)  # raises with the way to get the branch back
            if entry.within:
                draft.parts[path] = self._parts(entry, head, draft.base)
            if head not in history.commits:
                draft.landed[path] = moved_before(self._ground, self._ref, head, draft.base)
                return
            if head == start:
                draft.landed[path] = ()  # it has changed nothing
                return
            is_other = _others(draft, entry, is_to_land)
            own = entry.within or path
            strangers = history.strangers(head, lambda other: other == own or is_other(other))
            self._refuse_strangers(path, strangers)
            self._link(draft, entry, head, history, history.brings(head, is_other))
        except HeldError as error:
            draft.held[path] = error

    def _parts(self, entry: Entry, head: str, base: str) -> tuple[str, ...]:
        """The subplans inside the group whose work a commit holds, whether it has landed or not."""
        start = tip(self._git, self._names.start(entry.within)) or base
        commits = UnlandedHistory.read(self._git, self._ground.plan, [head], start).commits.values()
        return tuple(sorted({each.subplan for each in commits if _is_in(each.subplan, entry.within)}))

    def _refuse_strangers(self, path: str, strangers: Sequence[str]) -> None:
        """An earlier run has integrated work that this run does not know, so nothing here has verified it."""
        if strangers:
            names = ", ".join(strangers[:_NAMED]) + (", …" if len(strangers) > _NAMED else "")
            raise HeldError(
                f"{path} is built on the work of {names}, which has not landed and is not part of this run; to "
                "land it as well, run the whole plan (or, if the plan has it no more, merge its branch yourself); "
                "to leave it out, run the plan with --fresh"
            )

    def _link(
        self, draft: _Draft, entry: Entry, head: str, history: UnlandedHistory, brings: Sequence[str]
    ) -> None:
        """Merges the entry onto the end of the chain."""
        path = entry.path
        linked = _paths(draft)
        along = [other for other in brings if other not in linked and other != path]
        if any(other in draft.deferred for other in along):
            draft.deferred.append(path)
            return
        if along:
            raise HeldError(
                f"{path} is built on the work of {' and '.join(along)}, which has not landed; "
                f"to land all of it, type: weft merge {' '.join((*along, path))}",
                waits_for=along,
            )
        if entry.checks_worktree:
            self._commits.refuse_unsaved(path)
        merge = MergeInput(
            path=path,
            subject=entry.subject,
            into=self.name,
            take_branch=entry.take_branch,
            files=entry.files,
        )
        ancestry = Ancestry(
            ours=draft.tree,
            theirs=history.commits[head].tree,
            shared=tuple(history.shared(head, draft.linked)),
        )
        try:
            made = self._commits.make(merge, draft.commit, head, ancestry)
        except WorkspaceError as error:  # it changed files that it may not change
            raise HeldError(f"{error}; take these changes back, then type: weft merge {path}") from error
        except HeldError:
            if not draft.links:
                raise
            draft.deferred.append(path)  # it may be in conflict with a link that does not land
            return
        draft.links.append(Link(path=path, head=head, before=draft.commit, commit=made.commit))
        draft.built_on[path] = tuple(other for other in brings if other in linked)
        draft.commit, draft.tree = made.commit, made.tree
        draft.linked.update(history.reached_from(head))

    # Verifying

    @property
    def scratch(self) -> Path:
        return self._root / self._ground.repository.inside

    def check_out(self, commit: str, files: ScratchFiles) -> None:
        self._worktrees.make(self._root, branch=None, commit=commit, clone=self._ground.scratch_clone)
        self._ground.bring(self._root, files.copy, files.link)

    def discard(self) -> None:
        self._worktrees.discard(self._root)

    @property
    def _root(self) -> Path:
        return self._ground.folder("", _SCRATCH)

    def passed_trees(self, paths: Mapping[str, bool]) -> Mapping[str, Collection[str]]:
        """Reads all notes of the plan at once, whatever the number of paths."""
        if not paths:
            return {}
        names = self._names
        kinds = [f"refs/weft/{kind}/{names.plan}" for kind in ("passed", "tip")]
        lines = self._git.line("for-each-ref", "--format=%(refname) %(tree)", *kinds).splitlines()
        trees = dict(line.split(" ", 1) for line in lines)
        return {
            path: {trees[note] for note in _notes(names, path, by_steps=by_steps) if note in trees}
            for path, by_steps in paths.items()
        }

    # Moving

    def advance(self, chain: Chain) -> bool:
        paths = [link.path for link in chain.links]
        with self._moving:
            return advance(
                self._git,
                self._ref,
                before=chain.base,
                after=chain.commit,
                reason=f"weft: land {', '.join(paths) or 'the remote branch'}",
                subplan=paths[0] if len(paths) == 1 else "",
            )

    def touched(self, chain: Chain, files: Sequence[str]) -> Sequence[str]:
        """Reads the changes of each merge commit against its first parent."""
        wanted = set(files)
        return [link.path for link in chain.links if wanted.intersection(self._changed(link))]

    def _changed(self, link: Link) -> list[str]:
        return self._git.fields(
            "diff-tree", "-r", "-z", "--name-only", "--no-renames", link.before, link.commit
        )

    # The remote

    def push(self, remote: str) -> str:
        commit = tip(self._git, self._ref) or self._missing_target()
        self._remote.push(remote, commit)
        return commit

    def hang_up(self) -> None:
        self._remote.hang_up()

    def fetch(self, remote: str) -> str:
        return self._remote.fetch(remote)

    def merge_fetched(self, remote: str, commit: str) -> Chain | None:
        base = tip(self._git, self._ref) or self._missing_target()
        merged = self._remote.merge(remote, base, commit)
        if merged is None:
            return None
        return Chain(base=base, commit=merged, tree=tree_of(self._git, merged))


def _notes(names: Names, path: str, *, by_steps: bool) -> list[str]:
    return [names.passed(path), names.tip(path)] if by_steps else [names.passed(path)]


def _paths(draft: _Draft) -> list[str]:
    return [link.path for link in draft.links]


def _others(draft: _Draft, entry: Entry, is_to_land: Callable[[str], bool]) -> Callable[[str], bool]:
    """Whether the work of a subplan, by its path, is not to come along with the entry unless it lands, too."""
    linked = frozenset(_paths(draft))

    def is_other(path: str) -> bool:
        if entry.within and _is_in(path, entry.within):
            return False  # completed parts of one group may hold each other's work
        return path in linked or is_to_land(path)

    return is_other


def _is_in(path: str, other: str) -> bool:
    return path == other or path.startswith(f"{other}/")


def _in_order(
    entries: Sequence[Entry], heads: Mapping[str, str], history: UnlandedHistory
) -> Sequence[Entry]:
    """As given, except that an entry comes after those whose work it holds."""
    paths = {entry.path for entry in entries}
    needs = {
        entry.path: set(history.brings(heads[entry.path], paths.__contains__)) - {entry.path}
        if heads[entry.path]
        else set[str]()
        for entry in entries
    }
    ordered: list[Entry] = []
    waiting = list(entries)
    while waiting:
        done = {entry.path for entry in ordered}
        ready = next((entry for entry in waiting if needs[entry.path] & paths <= done), waiting[0])
        waiting.remove(ready)
        ordered.append(ready)
    return ordered
