"""What a plan has left in a repository: worktrees, branches and notes; and how that goes without loss.

All that belongs to one subplan goes together or stays together. It goes if the target is proven to have all that
any of it leads to, and if its worktree holds nothing that is in no commit. First the worktrees go, then all refs,
in one transaction, which is made only if the target is still where it was when all was proven. Killed anywhere in
between, nothing is lost, and the next time goes on from there.

A worktree in which something was to be verified holds nobody's work and always goes.
"""

import os
import shlex
from collections.abc import Callable, Collection, Iterator, Sequence
from enum import StrEnum
from pathlib import Path

from msgspec import Struct, field

from weft.engine.messages.facts import RefMove
from weft.workspaces.errors import WorkspaceError, listed, shown
from weft.workspaces.git.base.names import RefNames
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.reachability import ReachabilityProof
from weft.workspaces.git.base.refs import move, tips
from weft.workspaces.git.base.worktree_links import MAKING, operation_in, place_of
from weft.workspaces.git.checkouts.advance_branch import checkout_of
from weft.workspaces.git.checkouts.registrations import ListedWorktree
from weft.workspaces.git.clones.clone import holds_more
from weft.workspaces.git.worktrees.unsaved_work import unsaved
from weft.workspaces.git.worktrees.worktrees import Worktrees

SCRATCH = "_check."
"""What the name of a worktree begins with in which something is verified."""
_HEADS = "refs/heads/"
_MERGING = "merging"
_NOTES = ("start", "told", "tip", "passed", _MERGING)


class RetentionReason(StrEnum):
    """Why something stays."""

    UNMERGED = "unmerged"
    UNCOMMITTED = "uncommitted"
    ELSEWHERE = "checked_out"
    LOCKED = "locked"
    UNFINISHED = "unfinished"
    """A run that has not ended needs it."""
    NO_TARGET = "no_target"
    UNCLEAR = "unclear"
    """It could not be found out, or not be done."""


class RetainedRef(Struct, frozen=True, kw_only=True):
    why: RetentionReason
    message: str
    command: str = ""
    """What to type to see more of it, or to change it."""
    name: str = ""
    """The flat name of a subplan; empty: all of the plan."""
    files: tuple[str, ...] = ()
    commits: int = 0
    """How many the target does not have."""
    is_branch: bool = False
    """Whether it is those of the subplan's branch."""


class RemovableRef(Struct, frozen=True, kw_only=True):
    kind: str
    """worktree, branch, note or kept."""
    name: str
    """A directory, a branch as people name it, or a full ref."""
    commit: str


class SubplanLeftovers(Struct, kw_only=True):
    """All that belongs to one subplan."""

    name: str
    head: str
    """The full ref of its branch, whether there is one or not."""
    refs: dict[str, str] = field(default_factory=dict[str, str])
    kept: dict[str, str] = field(default_factory=dict[str, str])
    worktree: ListedWorktree | None = None
    scratch: ListedWorktree | None = None


class PlanLeftovers(Struct, frozen=True, kw_only=True):
    git: Git
    """At the top of the user's checkout."""
    worktrees: Worktrees
    names: RefNames
    places: Callable[[str], Sequence[Path]]
    """Where the worktree of that flat name can be."""
    known: Collection[str]
    """Flat names that the plan has."""

    def all(self) -> list[SubplanLeftovers]:
        """A branch that has no note, and that the plan does not know, is not ours, whatever its name is."""
        found: dict[str, SubplanLeftovers] = {}
        plan, branches = self.names.plan, f"{_HEADS}{self.names.prefix}{self.names.plan}/"
        refs = tips(self.git, *(f"refs/weft/{kind}/{plan}" for kind in (*_NOTES, "kept")))
        for ref, commit in refs.items():
            kind, _, name = ref.removeprefix("refs/weft/").partition(f"/{plan}/")
            one = self._one(found, name.partition("/")[0])
            (one.kept if kind == "kept" else one.refs)[ref] = commit
        for ref, commit in tips(self.git, branches.rstrip("/")).items():
            name = ref.removeprefix(branches)
            if name in found or name in self.known:
                self._one(found, name).refs[ref] = commit
        self._find_worktrees(found)
        return [found[name] for name in sorted(found)]

    def _one(self, found: dict[str, SubplanLeftovers], name: str) -> SubplanLeftovers:
        head = f"{_HEADS}{self.names.prefix}{self.names.plan}/{name}"
        return found.setdefault(name, SubplanLeftovers(name=name, head=head))

    def _find_worktrees(self, found: dict[str, SubplanLeftovers]) -> None:
        there = {os.path.realpath(one.path): one for one in self.worktrees.listed()[1:]}
        for name in {*found, *self.known}:
            for place in self.places(name):
                one = there.get(os.path.realpath(place))
                if one is not None:
                    self._one(found, name).worktree = one
            for place in self.places(SCRATCH + name):
                one = there.get(os.path.realpath(place))
                if one is not None:
                    self._one(found, name).scratch = one


class LeftoverJudgement(Struct, kw_only=True):
    goes: list[SubplanLeftovers] = field(default_factory=list[SubplanLeftovers])
    """Without what stays of it."""
    stays: list[RetainedRef] = field(default_factory=list[RetainedRef])

    def told(self) -> list[RemovableRef]:
        return [what for left in self.goes for what in _told(left)]


def _told(left: SubplanLeftovers) -> Iterator[RemovableRef]:
    for place in (left.worktree, left.scratch):
        if place is not None:
            yield RemovableRef(kind="worktree", name=str(place.path), commit=place.head)
    for ref, commit in sorted(left.refs.items(), key=lambda one: one[0] != left.head):
        kind = "branch" if ref == left.head else "note"
        yield RemovableRef(kind=kind, name=ref.removeprefix(_HEADS), commit=commit)
    for ref, commit in left.kept.items():
        yield RemovableRef(kind="kept", name=ref, commit=commit)


class LeftoverJudge:
    def __init__(self, git: Git, target: str, commit: str, checkouts: Sequence[ListedWorktree]) -> None:
        """`target` is a branch as people name it, and `commit` where it is; `checkouts` are all there are."""
        self._git = git
        self._target = target
        self._proof = ReachabilityProof(git, commit)
        there = [one for one in checkouts if one.prunable is None]
        self._places = {one.branch: one.path for one in there if one.branch is not None}
        self._may_be_lent = any(one.detached and not one.path.name.startswith(SCRATCH) for one in there)

    def judge(self, lefts: Sequence[SubplanLeftovers]) -> LeftoverJudgement:
        result = LeftoverJudgement()
        for left in lefts:
            goes = SubplanLeftovers(name=left.name, head=left.head, scratch=left.scratch)
            stays = list(self._stays(left))
            if not stays:
                goes.refs, goes.worktree = left.refs, left.worktree
            for ref, commit in left.kept.items():
                if self._proof.holds(commit):
                    goes.kept[ref] = commit
                else:
                    stays.append(self._unmerged(left, commit, ref, " of an earlier try"))
            result.stays += stays
            if goes.refs or goes.kept or goes.worktree or goes.scratch:
                result.goes.append(goes)
        return result

    def _stays(self, left: SubplanLeftovers) -> Iterator[RetainedRef]:
        if left.worktree is not None:
            yield from self._of_worktree(left, left.worktree)
        yield from self._of_checkout(left)
        yield from self._of_refs(left)

    def _of_worktree(self, left: SubplanLeftovers, worktree: ListedWorktree) -> Iterator[RetainedRef]:
        if worktree.locked == MAKING or worktree.prunable is not None:
            return  # nobody has worked there, or nothing is there
        if worktree.locked is not None:
            reason = f" ({worktree.locked})" if worktree.locked else ""
            yield RetainedRef(
                why=RetentionReason.LOCKED,
                name=left.name,
                message=f"its worktree is locked{reason}",
                command=f"git worktree unlock {_quoted(worktree.path)}",
            )
        yield from self._dirt(left, worktree.path)
        git_dir = place_of(worktree.path)
        if git_dir is not None and holds_more(git_dir, left.head):
            yield RetainedRef(
                why=RetentionReason.UNCLEAR,
                name=left.name,
                message="the clone of its steps holds what is not in the repository",
            )
        if worktree.branch != left.head and not self._proof.holds(worktree.head):
            yield self._unmerged(left, worktree.head, worktree.head[:12], " that its worktree is at")

    def _dirt(self, left: SubplanLeftovers, place: Path) -> Iterator[RetainedRef]:
        try:
            found = unsaved(self._git.at(place))
        except WorkspaceError as error:
            yield RetainedRef(why=RetentionReason.UNCLEAR, name=left.name, message=str(error))
            return
        operation = operation_in(found.git_dir)
        files = [shown(path) for path in found.paths]
        if files or operation:
            what = [*files, *([f"an unfinished `git {operation}`"] if operation else [])]
            yield RetainedRef(
                why=RetentionReason.UNCOMMITTED,
                name=left.name,
                message=f"not committed in its worktree: {listed(what)}",
                command=f"git -C {_quoted(place)} status",
                files=tuple(files),
            )

    def _of_checkout(self, left: SubplanLeftovers) -> Iterator[RetainedRef]:
        place = self._checkout(left) if left.head in left.refs else None
        if place is not None:
            yield RetainedRef(
                why=RetentionReason.ELSEWHERE,
                name=left.name,
                message=f"its branch is checked out in {place}",
                command=f"git -C {_quoted(place)} switch {self._target}",
            )

    def _checkout(self, left: SubplanLeftovers) -> Path | None:
        """Where else the branch is checked out. A rebase takes it off a checkout and means to put it back."""
        place = self._places.get(left.head)
        if place is None and self._may_be_lent:
            place = checkout_of(self._git, left.head)
        ours = None if left.worktree is None else left.worktree.path
        return None if place == ours else place

    def _of_refs(self, left: SubplanLeftovers) -> Iterator[RetainedRef]:
        """Notes mostly lead to where the branch has been, so they are of interest only if the branch may go."""
        commit = left.refs.get(left.head)
        if commit is not None and not self._proof.holds(commit):
            yield self._unmerged(left, commit, left.head.removeprefix(_HEADS), "", is_branch=True)
            return
        for ref, noted in left.refs.items():
            is_merge = ref.startswith(f"refs/weft/{_MERGING}/")
            if not (self._proof.holds(noted) or (is_merge and self._proof.holds_parents(noted))):
                yield self._unmerged(left, noted, ref, f" that {ref} leads to")

    def _unmerged(
        self, left: SubplanLeftovers, commit: str, shown_as: str, which: str, *, is_branch: bool = False
    ) -> RetainedRef:
        count = self._proof.missing(commit)
        are, commits = ("is", "1 commit") if count == 1 else ("are", f"{count:,} commits")
        return RetainedRef(
            why=RetentionReason.UNMERGED,
            name=left.name,
            message=f"{commits}{which} {are} not on {self._target}",
            command=f"git log {self._target}..{shown_as}",
            commits=count,
            is_branch=is_branch,
        )


def _quoted(place: Path) -> str:
    return shlex.quote(shown(os.fsencode(place)))


def remove(
    git: Git, worktrees: Worktrees, judgement: LeftoverJudgement, *, target: RefMove
) -> LeftoverJudgement:
    """What has gone, and what stays after all. `target` leads from where it was when it was judged to there."""
    done = LeftoverJudgement(stays=list(judgement.stays))
    for left in judgement.goes:
        try:
            _remove_worktrees(worktrees, left)
        except WorkspaceError as error:
            done.stays.append(RetainedRef(why=RetentionReason.UNCLEAR, name=left.name, message=str(error)))
        else:
            done.goes.append(left)
    refs = {ref: commit for left in done.goes for ref, commit in (left.refs | left.kept).items()}
    moves = [RefMove(ref=ref, before=commit, after="") for ref, commit in refs.items()]
    if moves and not move(git, [target, *moves], reason="weft: clean"):
        raise WorkspaceError(
            "a branch was moved by somebody else at this moment, so no branch was removed; type `weft clean` again"
        )
    return done


def _remove_worktrees(worktrees: Worktrees, left: SubplanLeftovers) -> None:
    for place, is_scratch in ((left.scratch, True), (left.worktree, False)):
        if place is not None:
            worktrees.remove(place.path, force=is_scratch or place.locked == MAKING)
