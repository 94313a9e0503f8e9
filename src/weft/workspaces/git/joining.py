"""How the work of a subplan comes to the branch around it, and at last to the target: the same merge either way.

A merge is made in memory, and a branch moves only from where it was when the merge was made. If the verify of the
subplan has not passed on that very tree, the merge is noted first, and checked out where it can be verified.

Whether something was merged is asked of the history, so what was done before a crash is found done after it.
"""

from collections.abc import Sequence
from pathlib import Path
from threading import Lock

from msgspec import Struct

from weft.engine.run.facts import RefMove
from weft.plan.order.globs import matches
from weft.ports.workspaces import HeldError, Merged, MergeRequest
from weft.workspaces.errors import WorkspaceError, listed, shown
from weft.workspaces.git.conflicts import Conflict, explain
from weft.workspaces.git.ground import Ground, Known, around, changes, wish
from weft.workspaces.git.landing import advance, checkout_of
from weft.workspaces.git.linked import git_dir_of, is_unfinished
from weft.workspaces.git.merging import try_merge
from weft.workspaces.git.refs import is_ancestor, move, tip, tips, tree_of
from weft.workspaces.git.unsaved import unsaved
from weft.workspaces.git.worktrees import Worktrees

_TRIES = 20
"""So often a merge is made anew because its branch has moved meanwhile, before we give up."""
_WHOSE = (
    *("log", "--no-show-signature"),
    "--format=%(trailers:key=Weft-Plan,valueonly,separator=)%x00%(trailers:key=Weft-Subplan,valueonly,separator=)",
)
"""The plan and the subplan that commits were made for."""


class _Into(Struct, frozen=True, kw_only=True):
    """Where work is to be brought."""

    ref: str
    name: str
    """As people call it."""
    group: str | None
    """Whose branch it is; None: the target."""


class _Made(Struct, frozen=True):
    tree: str
    commit: str


class Joining:
    def __init__(self, ground: Ground, worktrees: Worktrees) -> None:
        self._ground = ground
        self._names = ground.names
        self._git = ground.git
        self._worktrees = worktrees
        self._made: dict[tuple[str, ...], _Made] = {}
        """By subplan, subject and the two commits: what lands has mostly been merged just so before."""
        self._whose: dict[tuple[str, str], list[str]] = {}
        """The same for what is asked of the history between two commits."""
        self._moving = Lock()
        """Held by whoever moves a branch: of two who do so in one checkout, one would find it half moved."""

    def merge(self, request: MergeRequest) -> Merged:
        return self._bring(request, self._into(request.path, landing=False))

    def land(self, request: MergeRequest) -> Merged:
        return self._bring(request, self._into(request.path, landing=True))

    def _into(self, path: str, *, landing: bool) -> _Into:
        ends, group = self._ground.ends, around(path)
        if landing:
            return _Into(ref=ends.target_ref, name=ends.target, group=None)
        return _Into(ref=self._names.head(group), name=self._names.branch(group), group=group)

    def _bring(self, request: MergeRequest, into: _Into) -> Merged:
        if self._never_began(request.path):
            return Merged()
        self._refuse_unsaved(request.path)
        for _ in range(_TRIES):
            done = self._try(request, into)
            if done is not None:
                if done.verify_in is None and self._ground.scratch(request.path).is_dir():
                    self.discard(request.path)
                return done
        raise WorkspaceError(f"{into.name} moves all the time; who else works on it?")

    def _never_began(self, path: str) -> bool:
        """Whether it is a group of which no slice has a branch."""
        refs = (self._names.head(path), self._names.start(path))
        return path in self._ground.groups and not tips(self._git, *refs)

    def _try(self, request: MergeRequest, into: _Into) -> Merged | None:
        """None if the branch has moved meanwhile."""
        path = request.path
        head, start = self._names.head(path), self._names.start(path)
        note = () if into.group is None else (self._names.tip(into.group),)
        known = tips(self._git, into.ref, head, start, *note)
        ours, theirs = (
            known.get(into.ref) or self._now(into, path),
            known.get(head) or self._ground.head(path),
        )
        whose = self._whose_work(theirs, ours)
        if not whose:
            return self._found_done(into, path, theirs, ours)
        if theirs == known.get(start):
            return Merged()  # it has changed nothing
        if into.group is None:
            self._refuse_to_bring_along(request, whose)
        made = self._merged(request, ours, theirs, into)
        if request.verifies and not self._has_passed(request, made.tree):
            return self._to_be_verified(request, made.commit)
        return self._advance(into, ours, made.commit, path, known)

    def _whose_work(self, theirs: str, ours: str) -> list[str]:
        """For whom the commits were made that one has and the other has not; that never changes."""
        key = (theirs, ours)
        if key not in self._whose:
            self._whose[key] = self._git.line(*_WHOSE, theirs, f"^{ours}").splitlines()
        return self._whose[key]

    def _merged(self, request: MergeRequest, ours: str, theirs: str, into: _Into) -> _Made:
        path = request.path
        key = (path, request.subject, ours, theirs)
        made = self._made.get(key)
        tree = self._tree(request, ours, theirs, into) if made is None else made.tree
        if not request.agreed:
            raise HeldError(f"{path} is ready to land on {into.name}; type: weft merge {path}", asks=True)
        if made is None:
            made = _Made(tree, self._ground.commit(tree, (ours, theirs), request.subject, path))
            self._made[key] = made
        return made

    def _tree(self, request: MergeRequest, ours: str, theirs: str, into: _Into) -> str:
        trial = try_merge(self._git, ours, theirs, take=request.take_branch)
        if request.files is not None:
            self._refuse_files(request.path, request.files, (ours, trial.tree))
        if trial.conflicts:
            raise self._conflict(request, theirs, trial.conflicts, into)
        return trial.tree

    def _now(self, into: _Into, path: str) -> str:
        if into.group is not None:
            return self._ground.head(into.group)
        found = tip(self._git, into.ref)
        if found is None:
            raise HeldError(
                f"the target branch {into.name} is gone; make it again (git branch {into.name} COMMIT), "
                f"then type: weft merge {path}"
            )
        return found

    def _found_done(self, into: _Into, path: str, theirs: str, ours: str) -> Merged:
        """It was merged before; what had to be done after that may be left to do."""
        moves = self._moved_before(into.ref, theirs, ours)
        with self._moving:
            notes = [] if into.group is None else [self._names.tip(into.group)]
            known = tips(self._git, *notes) if notes else {}
            late = [
                wish(known, note, one.after)
                for note in notes
                for one in moves
                if known.get(note) == one.before
            ]
            self._ground.move(late, f"merge {path}")
        self.discard(path)
        return Merged(moves=moves)

    def _moved_before(self, ref: str, theirs: str, ours: str) -> tuple[RefMove, ...]:
        """The move by which a branch got what it has already; none if it was there when it began."""
        merges = self._git.line("rev-list", "--first-parent", "--merges", "--parents", f"{theirs}..{ours}")
        for line in merges.splitlines():
            commit, first, *others = line.split()
            if theirs in others:
                return (RefMove(ref=ref, before=first, after=commit),)
        return ()

    # Verifying

    def _has_passed(self, request: MergeRequest, tree: str) -> bool:
        """Whether that is what a slice's steps have passed on, or what was verified before."""
        path = request.path
        notes = [self._names.passed(path)]
        if path not in self._ground.groups and not request.resolved:
            notes.append(self._names.tip(path))
        return any(tree == tree_of(self._git, commit) for commit in tips(self._git, *notes).values())

    def _to_be_verified(self, request: MergeRequest, commit: str) -> Merged:
        self.check_out(request, commit)
        note = self._names.merging(request.path)
        self._ground.move([wish(tips(self._git, note), note, commit)], f"{request.path} is to be verified")
        return Merged(verify_in=self._ground.scratch(request.path) / self._ground.repository.inside)

    def check_out(self, request: MergeRequest, commit: str) -> None:
        """With all that the slices in it were given."""
        scratch = self._ground.scratch(request.path)
        self._worktrees.make(scratch, branch=None, commit=commit, sparse=request.sparse)
        self._ground.bring(scratch, request.copy, request.link)

    def publish(self, path: str, *, landing: bool) -> Merged | None:
        into, theirs = self._into(path, landing=landing), self._ground.head(path)
        commit = tip(self._git, self._names.merging(path))
        if commit is None:  # it was published, and then we died
            ours = tip(self._git, into.ref)
            if ours is None or not is_ancestor(self._git, theirs, ours):
                return None
            return self._found_done(into, path, theirs, ours)
        ours, verified = self._git.line("rev-parse", f"{commit}^1", f"{commit}^2").splitlines()
        if verified != theirs:
            return None
        done = self._advance(into, ours, commit, path, verified=True)
        if done is not None:
            self.discard(path)
        return done

    def discard(self, path: str) -> None:
        note = self._names.merging(path)
        self._ground.move([wish(tips(self._git, note), note, "")], f"{path} was verified")
        self._worktrees.discard(self._ground.scratch(path))

    # Moving

    def _advance(
        self,
        into: _Into,
        ours: str,
        commit: str,
        path: str,
        known: Known | None = None,
        *,
        verified: bool = False,
    ) -> Merged | None:
        moves = [RefMove(ref=into.ref, before=ours, after=commit)]
        with self._moving:
            is_free = checkout_of(self._git, into.ref) is None
            notes = self._notes(into, commit, path, known if is_free else None, verified=verified)
            if is_free:
                moved = move(self._git, [*moves, *notes], reason=f"weft: merge {path}")
            else:
                moved = self._advance_in_checkout(moves[0], path)
                if moved:
                    self._ground.move(notes, f"merge {path}")
        return Merged(moves=tuple(moves)) if moved else None

    def _advance_in_checkout(self, wished: RefMove, path: str) -> bool:
        reason = f"weft: merge {path}"
        return advance(
            self._git, wished.ref, before=wished.before, after=wished.after, reason=reason, subplan=path
        )

    def _notes(
        self, into: _Into, commit: str, path: str, known: Known | None, *, verified: bool
    ) -> list[RefMove]:
        wanted: dict[str, str] = {}
        if into.group is not None:
            wanted[self._names.tip(into.group)] = commit
        if verified:
            wanted[self._names.passed(path)] = commit
        if known is None:
            known = tips(self._git, *wanted) if wanted else {}
        return changes([wish(known, ref, after) for ref, after in wanted.items()])

    # What goes wrong

    def _refuse_to_bring_along(self, request: MergeRequest, whose: Sequence[str]) -> None:
        """What lands may have been built on what others did. Who did what is in the trailers of commits."""
        found = {path for plan, path in (line.split("\0", 1) for line in whose) if plan == self._ground.plan}
        along = [
            other
            for other in request.not_landed
            if any(path == other or path.startswith(f"{other}/") for path in found)
        ]
        if along:
            raise HeldError(
                f"{request.path} is built on what {' and '.join(along)} did, which has not landed; "
                f"to land all of it, type: weft merge {' '.join((*along, request.path))}",
                waits_for=along,
            )

    def _refuse_unsaved(self, path: str) -> None:
        """What a person has left unfinished in the worktree may be meant to be a part of it."""
        worktree = self._ground.worktree(path)
        if not worktree.is_dir() or not any(worktree.iterdir()):
            return
        try:
            if is_unfinished(git_dir_of(worktree)):
                return  # nobody has worked there
            self._worktrees.prove(worktree, self._names.head(path))
            files = [shown(file) for file in unsaved(self._git.at(worktree)).paths]
        except WorkspaceError as error:
            raise HeldError(f"{path} cannot be merged: {error}; then type: weft merge {path}") from error
        if files:
            raise HeldError(
                f"{worktree} has changes that are not committed: {listed(files)}; commit them there (git -C "
                f"{worktree} commit -a), then type: weft merge {path}",
                files,
            )

    def _refuse_files(self, path: str, allowed: Sequence[str], merge: tuple[str, str]) -> None:
        """Only what the slice has changed, and would change: in its branch there may be what others did."""
        own = self._changed(self._names.start(path), self._names.head(path))
        others = [file for file in own if not any(matches(glob, file) for glob in allowed)]
        if others:
            brought = set(self._changed(*merge))
            others = [file for file in others if file in brought]
        if others:
            raise WorkspaceError(
                f"{path} changed files outside of its `files`, and `strict_files` forbids that: {listed(others)}"
            )

    def _changed(self, one: str, other: str) -> list[str]:
        return self._git.fields("diff-tree", "-r", "-z", "--name-only", "--no-renames", one, other)

    def _conflict(
        self, request: MergeRequest, theirs: str, conflicts: Sequence[Conflict], into: _Into
    ) -> HeldError:
        path = request.path
        text = explain(
            self._git,
            conflicts,
            subplan=path,
            branch=self._names.branch(path),
            into=into.name,
            worktree=self._where_to_settle(request, theirs),
            command=f"weft merge {path}",
        )
        return HeldError(text, [conflict.path for conflict in conflicts], conflict=True)

    def _where_to_settle(self, request: MergeRequest, commit: str) -> Path:
        """A worktree on the subplan's branch; a group has none otherwise."""
        head, worktree = self._names.head(request.path), self._ground.worktree(request.path)
        found = checkout_of(self._git, head)
        if found is not None and found != worktree.parent.resolve() / worktree.name:
            return found
        self._worktrees.make(worktree, branch=head, commit=commit, sparse=request.sparse)
        return worktree
