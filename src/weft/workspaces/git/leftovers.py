"""The worktrees, branches and notes that a plan has left in a repository, and their removal without loss.

Everything that belongs to one subplan is removed together or stays together. It is removed if the target provably
has all its commits and its worktree has no uncommitted work. Worktrees are removed first, then all refs in one
transaction, which succeeds only if the target is still at the commit of the proof. After a crash in between
nothing is lost, and the next call continues from there.

A worktree that only served a verify holds no work and is always removed.
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
from weft.workspaces.git.checkouts.branch_checkouts import checkout_of
from weft.workspaces.git.checkouts.registrations import ListedWorktree
from weft.workspaces.git.clones.clone import holds_more
from weft.workspaces.git.worktrees.unsaved_work import unsaved
from weft.workspaces.git.worktrees.worktrees import Worktrees

SCRATCH = "_check."
"""The prefix of worktrees that serve a verify."""
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
    """The check or the removal failed."""


class RetainedRef(Struct, frozen=True, kw_only=True):
    """Something that stays."""

    why: RetentionReason
    message: str
    command: str = ""
    """A command that shows more about it, or changes it."""
    name: str = ""
    """The flat name of a subplan; empty for the whole plan."""
    files: tuple[str, ...] = ()
    commits: int = 0
    """The number of commits that the target lacks."""
    is_branch: bool = False
    """Whether these are commits of the subplan's branch."""


class RemovableRef(Struct, frozen=True, kw_only=True):
    """Something that is removed."""

    kind: str
    """worktree, branch, note or kept."""
    name: str
    """A directory, a short branch name, or a full ref."""
    commit: str


class SubplanLeftovers(Struct, kw_only=True):
    """Everything that belongs to one subplan."""

    name: str
    head: str
    """The full ref of its branch, which may not exist."""
    refs: dict[str, str] = field(default_factory=dict[str, str])
    kept: dict[str, str] = field(default_factory=dict[str, str])
    worktree: ListedWorktree | None = None
    scratch: ListedWorktree | None = None


class PlanLeftovers(Struct, frozen=True, kw_only=True):
    """A search for everything that belongs to a plan."""

    git: Git
    """git at the top of the user's checkout."""
    worktrees: Worktrees
    names: RefNames
    places: Callable[[str], Sequence[Path]]
    """Returns the possible directories of the worktree with that flat name."""
    known: Collection[str]
    """The flat names of the plan's subplans."""

    def all(self) -> list[SubplanLeftovers]:
        """Returns the leftovers by subplan. A branch without a note that the plan does not name is not Weft's."""
        by_name: dict[str, SubplanLeftovers] = {}
        plan, branches = self.names.plan, f"{_HEADS}{self.names.prefix}{self.names.plan}/"
        refs = tips(self.git, *(f"refs/weft/{kind}/{plan}" for kind in (*_NOTES, "kept")))
        for ref, commit in refs.items():
            kind, _, name = ref.removeprefix("refs/weft/").partition(f"/{plan}/")
            leftovers = self._entry(by_name, name.partition("/")[0])
            (leftovers.kept if kind == "kept" else leftovers.refs)[ref] = commit
        for ref, commit in tips(self.git, branches.rstrip("/")).items():
            name = ref.removeprefix(branches)
            if name in by_name or name in self.known:
                self._entry(by_name, name).refs[ref] = commit
        self._find_worktrees(by_name)
        return [by_name[name] for name in sorted(by_name)]

    def _entry(self, by_name: dict[str, SubplanLeftovers], name: str) -> SubplanLeftovers:
        head = f"{_HEADS}{self.names.prefix}{self.names.plan}/{name}"
        return by_name.setdefault(name, SubplanLeftovers(name=name, head=head))

    def _find_worktrees(self, by_name: dict[str, SubplanLeftovers]) -> None:
        listed_worktrees = {
            os.path.realpath(worktree.path): worktree for worktree in self.worktrees.listed()[1:]
        }
        for name in {*by_name, *self.known}:
            for place in self.places(name):
                worktree = listed_worktrees.get(os.path.realpath(place))
                if worktree is not None:
                    self._entry(by_name, name).worktree = worktree
            for place in self.places(SCRATCH + name):
                worktree = listed_worktrees.get(os.path.realpath(place))
                if worktree is not None:
                    self._entry(by_name, name).scratch = worktree


class LeftoverJudgement(Struct, kw_only=True):
    """The leftovers that are removed and those that stay."""

    goes: list[SubplanLeftovers] = field(default_factory=list[SubplanLeftovers])
    """Without the parts that stay."""
    stays: list[RetainedRef] = field(default_factory=list[RetainedRef])

    def list_removable(self) -> list[RemovableRef]:
        return [ref for leftovers in self.goes for ref in _list_removable(leftovers)]


def _list_removable(leftovers: SubplanLeftovers) -> Iterator[RemovableRef]:
    for place in (leftovers.worktree, leftovers.scratch):
        if place is not None:
            yield RemovableRef(kind="worktree", name=str(place.path), commit=place.head)
    for ref, commit in sorted(leftovers.refs.items(), key=lambda item: item[0] != leftovers.head):
        kind = "branch" if ref == leftovers.head else "note"
        yield RemovableRef(kind=kind, name=ref.removeprefix(_HEADS), commit=commit)
    for ref, commit in leftovers.kept.items():
        yield RemovableRef(kind="kept", name=ref, commit=commit)


class LeftoverJudge:
    """Decides which leftovers can be removed."""

    def __init__(self, git: Git, target: str, commit: str, checkouts: Sequence[ListedWorktree]) -> None:
        """`target` is a short branch name, `commit` its tip; `checkouts` are all that exist."""
        self._git = git
        self._target = target
        self._proof = ReachabilityProof(git, commit)
        existing = [checkout for checkout in checkouts if checkout.prunable is None]
        self._places = {
            checkout.branch: checkout.path for checkout in existing if checkout.branch is not None
        }
        # Only a detached checkout can be in the middle of a rebase, and asking for each branch would cost
        # processes.
        self._may_be_lent = any(
            checkout.detached and not checkout.path.name.startswith(SCRATCH) for checkout in existing
        )

    def judge(self, leftovers_by_subplan: Sequence[SubplanLeftovers]) -> LeftoverJudgement:
        result = LeftoverJudgement()
        for leftovers in leftovers_by_subplan:
            goes = SubplanLeftovers(name=leftovers.name, head=leftovers.head, scratch=leftovers.scratch)
            stays = list(self._stays(leftovers))
            if not stays:
                goes.refs, goes.worktree = leftovers.refs, leftovers.worktree
            for ref, commit in leftovers.kept.items():
                if self._proof.holds(commit):
                    goes.kept[ref] = commit
                else:
                    stays.append(self._unmerged_ref(leftovers, commit, ref, " of an earlier try"))
            result.stays += stays
            if goes.refs or goes.kept or goes.worktree or goes.scratch:
                result.goes.append(goes)
        return result

    def _stays(self, leftovers: SubplanLeftovers) -> Iterator[RetainedRef]:
        if leftovers.worktree is not None:
            yield from self._of_worktree(leftovers, leftovers.worktree)
        yield from self._of_checkout(leftovers)
        yield from self._of_refs(leftovers)

    def _of_worktree(self, leftovers: SubplanLeftovers, worktree: ListedWorktree) -> Iterator[RetainedRef]:
        if worktree.locked == MAKING or worktree.prunable is not None:
            return  # no step has worked there, or the directory is gone
        if worktree.locked is not None:
            reason = f" ({worktree.locked})" if worktree.locked else ""
            yield RetainedRef(
                why=RetentionReason.LOCKED,
                name=leftovers.name,
                message=f"its worktree is locked{reason}",
                command=f"git worktree unlock {_quote(worktree.path)}",
            )
        yield from self._dirt(leftovers, worktree.path)
        git_dir = place_of(worktree.path)
        if git_dir is not None and holds_more(git_dir, leftovers.head):
            yield RetainedRef(
                why=RetentionReason.UNCLEAR,
                name=leftovers.name,
                message="the clone of its steps has commits that are not in the repository",
            )
        # A person, or a step, may have checked out something else there; that commit counts as well.
        if worktree.branch != leftovers.head and not self._proof.holds(worktree.head):
            yield self._unmerged_ref(leftovers, worktree.head, worktree.head[:12], " that its worktree is at")

    def _dirt(self, leftovers: SubplanLeftovers, place: Path) -> Iterator[RetainedRef]:
        try:
            work = unsaved(self._git.at(place))
        except WorkspaceError as error:
            yield RetainedRef(why=RetentionReason.UNCLEAR, name=leftovers.name, message=str(error))
            return
        operation = operation_in(work.git_dir)
        files = [shown(path) for path in work.paths]
        if files or operation:
            dirt = [*files, *([f"an unfinished `git {operation}`"] if operation else [])]
            yield RetainedRef(
                why=RetentionReason.UNCOMMITTED,
                name=leftovers.name,
                message=f"not committed in its worktree: {listed(dirt)}",
                command=f"git -C {_quote(place)} status",
                files=tuple(files),
            )

    def _of_checkout(self, leftovers: SubplanLeftovers) -> Iterator[RetainedRef]:
        place = self._checkout(leftovers) if leftovers.head in leftovers.refs else None
        if place is not None:
            yield RetainedRef(
                why=RetentionReason.ELSEWHERE,
                name=leftovers.name,
                message=f"its branch is checked out in {place}",
                command=f"git -C {_quote(place)} switch {self._target}",
            )

    def _checkout(self, leftovers: SubplanLeftovers) -> Path | None:
        """Returns where else the branch is checked out, or will be again after a rebase."""
        place = self._places.get(leftovers.head)
        if place is None and self._may_be_lent:
            place = checkout_of(self._git, leftovers.head)
        ours = None if leftovers.worktree is None else leftovers.worktree.path
        return None if place == ours else place

    def _of_refs(self, leftovers: SubplanLeftovers) -> Iterator[RetainedRef]:
        """Yields unmerged refs. Notes usually lead to commits of the branch, so the branch comes first."""
        commit = leftovers.refs.get(leftovers.head)
        if commit is not None and not self._proof.holds(commit):
            yield self._unmerged_ref(
                leftovers, commit, leftovers.head.removeprefix(_HEADS), "", is_branch=True
            )
            return
        for ref, noted_commit in leftovers.refs.items():
            is_merge = ref.startswith(f"refs/weft/{_MERGING}/")
            if not (
                self._proof.holds(noted_commit) or (is_merge and self._proof.holds_parents(noted_commit))
            ):
                yield self._unmerged_ref(leftovers, noted_commit, ref, f" that {ref} leads to")

    def _unmerged_ref(
        self, leftovers: SubplanLeftovers, commit: str, shown_as: str, which: str, *, is_branch: bool = False
    ) -> RetainedRef:
        count = self._proof.missing(commit)
        are, commits = ("is", "1 commit") if count == 1 else ("are", f"{count:,} commits")
        return RetainedRef(
            why=RetentionReason.UNMERGED,
            name=leftovers.name,
            message=f"{commits}{which} {are} not on {self._target}",
            command=f"git log {self._target}..{shown_as}",
            commits=count,
            is_branch=is_branch,
        )


def _quote(place: Path) -> str:
    return shlex.quote(shown(os.fsencode(place)))


def remove(
    git: Git, worktrees: Worktrees, judgement: LeftoverJudgement, *, target: RefMove
) -> LeftoverJudgement:
    """Removes leftovers; returns what was removed and what stays.

    `target` requires that the target has not moved.
    """
    result = LeftoverJudgement(stays=list(judgement.stays))
    for leftovers in judgement.goes:
        try:
            _remove_worktrees(worktrees, leftovers)
        except WorkspaceError as error:
            result.stays.append(
                RetainedRef(why=RetentionReason.UNCLEAR, name=leftovers.name, message=str(error))
            )
        else:
            result.goes.append(leftovers)
    # Refs last, and only of subplans without a worktree any more: a branch that is checked out cannot be
    # removed.
    refs = {
        ref: commit for leftovers in result.goes for ref, commit in (leftovers.refs | leftovers.kept).items()
    }
    moves = [RefMove(ref=ref, before=commit, after="") for ref, commit in refs.items()]
    # The target is part of the transaction, with equal ends, as a condition: the proof holds for exactly that
    # commit.
    if moves and not move(git, [target, *moves], reason="weft: clean"):
        raise WorkspaceError(
            "a branch was moved by another process at this moment, so no branch was removed; "
            "type `weft clean` again"
        )
    return result


def _remove_worktrees(worktrees: Worktrees, leftovers: SubplanLeftovers) -> None:
    for place, is_scratch in ((leftovers.scratch, True), (leftovers.worktree, False)):
        if place is not None:
            worktrees.remove(place.path, force=is_scratch or place.locked == MAKING)
