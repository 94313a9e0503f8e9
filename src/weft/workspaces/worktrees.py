"""`isolation: worktree`: each slice in a worktree of its own, on a branch of its own.

The branch of a group is where the work of what is in it comes together; that of the whole plan is around them all.
A branch of a group is made when it is first needed, and follows the one around it as long as nothing is on it. All
that is known is in git: whether something was merged is asked of the history, so whatever was done before a crash
is found done after it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from threading import Lock

from msgspec import Struct

from weft.engine.run.facts import RefMove
from weft.plan.order.globs import matches
from weft.ports.workspaces import HeldError, Merged, MergeRequest, Work, WorkspaceRequest
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.brought import bring
from weft.workspaces.git.commits import record
from weft.workspaces.git.conflicts import Conflict, explain
from weft.workspaces.git.foreseeing import Foresight
from weft.workspaces.git.landing import advance
from weft.workspaces.git.merging import commit_merge, message, try_merge
from weft.workspaces.git.names import Names, dotted
from weft.workspaces.git.refs import is_ancestor, move, tip, tree_of
from weft.workspaces.git.repository import Ends, Repository
from weft.workspaces.git.worktrees import Worktrees

_TRIES = 20
"""So often a merge is made anew because its branch has moved meanwhile, before we give up."""
_SHOWN = 5
"""Files that a message names."""


class Ground(Struct, frozen=True, kw_only=True):
    """What the worktrees of a plan stand on."""

    repository: Repository
    ends: Ends
    names: Names
    plan: str
    folder: Callable[[str, str], Path]
    """The place of the worktree of a subplan, by its path and its flat name."""
    groups: Collection[str]
    """The paths of subplans that have others in them; they have no worktree but to be verified in."""


class WorktreeWorkspaces:
    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._names = ground.names
        self._git = ground.repository.git
        self._identity: Mapping[str, str] = ground.repository.identity
        self._worktrees = Worktrees(self._git, ground.repository.common)
        self._foresight = Foresight(self._git)
        self._branches = Lock()
        """Whoever makes or moves the branch of a group."""

    def start_anew(self) -> Sequence[RefMove]:
        """Branches of the plan that earlier runs left are put aside; those of slices go when those begin."""
        git, names = self._git, self._names
        moves: list[RefMove] = []
        for path in self._ground.groups:
            before = tip(git, names.head(path))
            if before is not None:
                moves += self._put_aside(path, before)
        return moves

    def _put_aside(self, path: str, commit: str) -> list[RefMove]:
        """The branch goes, and what it led to is kept."""
        kept = self._names.kept(path, commit)
        moves = [RefMove(ref=self._names.head(path), before=commit, after="")]
        if tip(self._git, kept) is None:
            moves.append(RefMove(ref=kept, before="", after=commit))
        self._move(moves, f"weft: {path or 'the plan'} is done anew")
        return moves

    # Places

    def place(self, path: str) -> Path:
        if path in self._ground.groups:
            return self.scratch(path)
        return self._worktree(path) / self._ground.repository.inside

    def scratch(self, path: str) -> Path:
        return self._scratch(path) / self._ground.repository.inside

    def _worktree(self, path: str) -> Path:
        return self._ground.folder(path, dotted(path))

    def _scratch(self, path: str) -> Path:
        return self._ground.folder(path, f"_check.{dotted(path)}")

    # A slice

    def has_history(self, path: str) -> bool:  # noqa: ARG002 - all have
        return True

    def prepare(self, request: WorkspaceRequest) -> Sequence[RefMove]:
        path, names, worktree = request.path, self._names, self._worktree(request.path)
        start, moves = self._start_of(request)
        moves += self._give_up(path, start)
        refs = (names.head(path), names.start(path), names.told(path))
        begins = [RefMove(ref=ref, before=tip(self._git, ref) or "", after=start) for ref in refs]
        self._move([one for one in begins if one.before != one.after], f"weft: {path} begins")
        self._worktrees.make(worktree, branch=names.head(path), commit=start)
        self._bring(worktree, request.copy, request.link)
        return [*moves, begins[0]]

    def _give_up(self, path: str, start: str) -> list[RefMove]:
        """What an earlier try left goes, once all of it has another name."""
        head, worktree = self._names.head(path), self._worktree(path)
        before = tip(self._git, head)
        if before is None or before == start:
            return []
        if worktree.is_dir():
            self._record(Work(path=path, step="@workspace", attempt=0, subject=f"{path}: what was left"))
            before = tip(self._git, head) or before
            self._worktrees.remove(worktree)
        return self._put_aside(path, before)

    def accept(self, path: str) -> None:
        """What was set up and is not ignored would be committed with the first step: it is what the slice did."""

    def prove(self, path: str) -> None:
        """Also notes where the branch is now, so that it can be told afterwards how far the step has moved it."""
        names = self._names
        self._worktrees.prove(self._worktree(path), names.head(path))
        before, now = tip(self._git, names.told(path)) or "", self._tip(path)
        if before != now:
            self._move([RefMove(ref=names.told(path), before=before, after=now)], f"weft: {path} goes on")

    def record(self, work: Work) -> Sequence[RefMove]:
        self._record(work)
        start = tip(self._git, self._names.start(work.path))
        if start is not None:
            self._foresight.moved(work.path, start, self._tip(work.path))
        before, after = tip(self._git, self._names.told(work.path)) or "", self._tip(work.path)
        return (
            [RefMove(ref=self._names.head(work.path), before=before, after=after)] if before != after else []
        )

    def _record(self, work: Work) -> None:
        worktree = self._git.at(self._worktree(work.path))
        record(worktree, work, plan=self._ground.plan, names=self._names, identity=self._identity)

    def _bring(self, worktree: Path, copy: Sequence[str], link: Sequence[str]) -> None:
        repository = self._ground.repository
        bring(
            repository.top / repository.inside,
            worktree / repository.inside,
            copy=copy,
            link=link,
            top=repository.top,
            worktree=worktree,
        )

    def foresee(self, path: str) -> Mapping[str, Sequence[str]]:
        return {found.other: found.files for found in self._foresight.conflicts(path)}

    # What a slice starts with

    def _start_of(self, request: WorkspaceRequest) -> tuple[str, list[RefMove]]:
        group = _around(request.path)
        with self._branches:
            start, moves = self._integration(group)
        names = self._names
        merged = self._merged_into(start)
        for other in request.after:
            head = names.head(other)
            if head in merged:
                continue
            commit = self._reached(other, request.path)
            if not is_ancestor(self._git, commit, start):
                start = self._brought_in(request.path, other, start, commit)
                merged = self._merged_into(start)
        return start, moves

    def _merged_into(self, commit: str) -> Collection[str]:
        """The branches of the plan whose work a commit has."""
        where = f"refs/heads/{self._names.prefix}{self._names.plan}/"
        lines = self._git.line("for-each-ref", f"--merged={commit}", "--format=%(refname)", where)
        return frozenset(lines.splitlines())

    def _reached(self, dependency: str, path: str) -> str:
        """The outermost branch that the work of a dependency has reached, short of the one that holds both."""
        found = self._tip(dependency)
        while True:
            around = _around(dependency)
            outer = tip(self._git, self._names.head(around))
            if outer is None or not is_ancestor(self._git, found, outer):
                return found
            found, dependency = outer, around
            if _holds(around, path):
                return found

    def _brought_in(self, path: str, other: str, start: str, commit: str) -> str:
        trial = try_merge(self._git, start, commit)
        if trial.conflicts:
            files = [conflict.path for conflict in trial.conflicts]
            raise HeldError(
                f"{path} cannot start: what it depends on does not go together; {other} and what came before it "
                f"changed the same files: {_listed(files)}",
                files,
                conflict=True,
            )
        return self._commit(trial.tree, (start, commit), f"{path}: start with {other}", path)

    def _integration(self, group: str) -> tuple[str, list[RefMove]]:
        """The newest state of a group's branch; made, or brought up to that of the branch around it."""
        names = self._names
        if group:
            outer, moves = self._integration(_around(group))
        else:
            outer, moves = self._ground.ends.base, []
        now, began = tip(self._git, names.head(group)), tip(self._git, names.start(group)) or ""
        if now is not None and now != outer and not is_ancestor(self._git, now, outer):
            return now, moves
        follows = RefMove(ref=names.head(group), before=now or "", after=outer)
        new = [follows, RefMove(ref=names.start(group), before=began, after=outer)]
        self._move([one for one in new if one.before != one.after], f"weft: {group or 'the plan'} follows")
        return outer, [*moves, follows] if follows.before != follows.after else moves

    # Merging

    def gather(self, request: MergeRequest) -> Sequence[RefMove]:
        """A group's own branch has it all."""
        with self._branches:
            commit, moves = self._integration(request.path)
        self._check_out(request, commit)
        self._set(self._names.tip(request.path), commit, "to be verified")
        return moves

    def merge(self, request: MergeRequest) -> Merged:
        group = _around(request.path)
        self._check(request)
        for _ in range(_TRIES):
            with self._branches:
                ours, moves = self._integration(group)
            done = self._merge(request, self._names.head(group), ours, self._names.branch(group))
            if done is not None:
                return Merged(moves=(*moves, *done.moves), verify_in=done.verify_in)
        raise WorkspaceError(f"{self._names.branch(group)} moves all the time; who else works on it?")

    def land(self, request: MergeRequest) -> Merged:
        ends = self._ground.ends
        self._check(request)
        for _ in range(_TRIES):
            ours = tip(self._git, ends.target_ref)
            if ours is None:
                raise HeldError(
                    f"the target branch {ends.target} is gone; make it again (git branch {ends.target} …), "
                    f"then type: weft merge {request.path}"
                )
            self._refuse_to_bring_along(request)
            done = self._merge(request, ends.target_ref, ours, ends.target)
            if done is not None:
                return done
        raise WorkspaceError(f"{ends.target} moves all the time; who else works on it?")

    def _refuse_to_bring_along(self, request: MergeRequest) -> None:
        merged = self._merged_into(self._tip(request.path))
        along = [
            other
            for other in request.not_landed
            if self._names.head(other) in merged and self._has_work(other)
        ]
        landed = self._merged_into(self._ground.ends.target_ref)
        along = [other for other in along if self._names.head(other) not in landed]
        if along:
            raise HeldError(
                f"{request.path} is built on what {' and '.join(along)} did, which has not landed; "
                f"to land all of it, type: weft merge {' '.join((*along, request.path))}",
                waits_for=along,
            )

    def _has_work(self, path: str) -> bool:
        """Whether there is anything on its branch but what it began with."""
        return tip(self._git, self._names.head(path)) != tip(self._git, self._names.start(path))

    def _check(self, request: MergeRequest) -> None:
        path, worktree = request.path, self._worktree(request.path)
        self._tip(path)
        if worktree.is_dir() and not self._worktrees.is_clean(worktree):
            raise HeldError(
                f"{worktree} has changes that are not committed; commit them there (git -C {worktree} commit -a), "
                f"then type: weft merge {path}"
            )
        if request.files is not None:
            self._check_files(request)

    def _check_files(self, request: MergeRequest) -> None:
        ends = (self._names.start(request.path), self._names.head(request.path))
        changed = self._git.fields("diff-tree", "-r", "-z", "--name-only", "--no-renames", *ends)
        allowed = request.files or ()
        others = [file for file in changed if not any(matches(glob, file) for glob in allowed)]
        if others:
            raise WorkspaceError(
                f"{request.path} changed files outside of its `files`, and `strict_files` forbids that: "
                f"{_listed(others)}"
            )

    def _merge(self, request: MergeRequest, into: str, ours: str, shown: str) -> Merged | None:
        """None if the branch has moved meanwhile."""
        theirs = self._tip(request.path)
        if is_ancestor(self._git, theirs, ours):
            return Merged(moves=self._moved_before(into, theirs, ours))
        if theirs == tip(self._git, self._names.start(request.path)):
            return Merged()  # it has changed nothing
        trial = try_merge(self._git, ours, theirs, take=request.take_branch)
        if trial.conflicts:
            raise self._conflict(request, trial.conflicts, shown)
        if not request.agreed:
            raise HeldError(
                f"{request.path} is ready to land on {shown}; type: weft merge {request.path}", asks=True
            )
        commit = self._commit(trial.tree, (ours, theirs), request.subject, request.path)
        if request.verifies and not self._has_passed(request.path, theirs, trial.tree):
            self._set(self._names.merging(request.path), commit, "to be verified")
            self._check_out(request, commit)
            return Merged(verify_in=self.scratch(request.path))
        return self._advance(into, ours, commit, request.path)

    def _has_passed(self, path: str, theirs: str, tree: str) -> bool:
        """Whether what would be there has been verified: nothing came to it, and nobody else changed it."""
        return theirs == tip(self._git, self._names.tip(path)) and tree == tree_of(self._git, theirs)

    def publish(self, path: str, *, landing: bool) -> Merged | None:
        into = self._ground.ends.target_ref if landing else self._names.head(_around(path))
        commit = tip(self._git, self._names.merging(path))
        if commit is None:  # it was published, and then we died
            ours, theirs = tip(self._git, into), self._tip(path)
            if ours is None or not is_ancestor(self._git, theirs, ours):
                return None
            return Merged(moves=self._moved_before(into, theirs, ours))
        ours, theirs = self._git.line("rev-parse", f"{commit}^1", f"{commit}^2").splitlines()
        if theirs != self._tip(path):
            return None
        done = self._advance(into, ours, commit, path)
        if done is not None:
            self.discard(path)
        return done

    def discard(self, path: str) -> None:
        scratch, note = self._scratch(path), self._names.merging(path)
        if scratch.is_dir():
            self._worktrees.remove(scratch, force=True)
        commit = tip(self._git, note)
        if commit is not None:
            self._move([RefMove(ref=note, before=commit, after="")], "weft: verified")

    def _advance(self, into: str, ours: str, commit: str, path: str) -> Merged | None:
        reason = f"weft: merge {path}"
        if into == self._ground.ends.target_ref:
            moved = advance(self._git, into, before=ours, after=commit, reason=reason, subplan=path)
        else:
            moved = move(self._git, [RefMove(ref=into, before=ours, after=commit)], reason=reason)
            if moved:
                self._foresight.gone(path)
                self._set(self._names.tip(_around(path)), commit, "has what was verified")
        return Merged(moves=(RefMove(ref=into, before=ours, after=commit),)) if moved else None

    def _check_out(self, request: MergeRequest, commit: str) -> None:
        """For a verify, as the slices in it were set up."""
        worktree = self._scratch(request.path)
        self._worktrees.make(worktree, branch=None, commit=commit)
        self._bring(worktree, request.copy, request.link)

    def _moved_before(self, ref: str, theirs: str, ours: str) -> tuple[RefMove, ...]:
        """The move by which a branch got what it has already; none if it was there when it began."""
        merges = self._git.line("rev-list", "--first-parent", "--merges", "--parents", f"{theirs}..{ours}")
        for line in merges.splitlines():
            commit, first, *others = line.split()
            if theirs in others:
                return (RefMove(ref=ref, before=first, after=commit),)
        return ()

    # What goes wrong

    def _tip(self, path: str) -> str:
        found = tip(self._git, self._names.head(path))
        if found is not None:
            return found
        branch = self._names.branch(path)
        last = tip(self._git, self._names.tip(path)) or tip(self._git, self._names.start(path))
        again = f"; it was at {last[:12]}: git branch {branch} {last[:12]}" if last else ""
        raise HeldError(f"the branch {branch} of {path} is gone{again}, then type: weft merge {path}")

    def _conflict(self, request: MergeRequest, conflicts: Sequence[Conflict], into: str) -> HeldError:
        """With a worktree in which a person can settle it; a group has none otherwise."""
        path, worktree = request.path, self._worktree(request.path)
        self._worktrees.make(worktree, branch=self._names.head(path), commit=self._tip(path))
        text = explain(
            self._git,
            conflicts,
            subplan=path,
            branch=self._names.branch(path),
            into=into,
            worktree=worktree,
            command=f"weft merge {path}",
        )
        return HeldError(text, [conflict.path for conflict in conflicts], conflict=True)

    # Git

    def _commit(self, tree: str, parents: Sequence[str], subject: str, path: str) -> str:
        trailers = {"Weft-Plan": self._ground.plan, "Weft-Subplan": path}
        return commit_merge(self._git, tree, parents, message(subject, trailers), identity=self._identity)

    def _set(self, ref: str, commit: str, why: str) -> None:
        before = tip(self._git, ref) or ""
        if before != commit:
            self._move([RefMove(ref=ref, before=before, after=commit)], f"weft: {why}")

    def _move(self, moves: Sequence[RefMove], reason: str) -> None:
        if moves and not move(self._git, moves, reason=reason):
            refs = ", ".join(one.ref for one in moves)
            raise WorkspaceError(f"{refs}: moved by somebody else at this moment; type `weft run` again")


def _around(path: str) -> str:
    return path.rpartition("/")[0]


def _holds(group: str, path: str) -> bool:
    return not group or path.startswith(f"{group}/")


def _listed(files: Sequence[str]) -> str:
    more = f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
    return ", ".join(files[:_SHOWN]) + more
