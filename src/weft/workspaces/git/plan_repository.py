"""The repository of a plan, with its base and target, its names and the directories of its worktrees."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from weft.engine.messages.facts import RefMove
from weft.ports.workspaces import HeldError
from weft.workspaces.errors import START_OVER, WorkspaceError
from weft.workspaces.git.base.commit_object import SigningFailure
from weft.workspaces.git.base.merge_tree import commit_merge, message
from weft.workspaces.git.base.names import RefNames, dotted
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.refs import move, tip
from weft.workspaces.git.base.repository import Ends, Repository
from weft.workspaces.git.checkouts.untracked_files import copy_in

RefTips = Mapping[str, str]
"""The commits of refs, each as of its first use."""


class _LazyRefs(RefTips):
    """Reads each ref at its first use, so that other refs cost nothing. Iterates over those in use."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._tips: dict[str, str | None] = {}

    def __getitem__(self, ref: str) -> str:
        if ref not in self._tips:
            self._tips[ref] = tip(self._git, ref)
        oid = self._tips[ref]
        if oid is None:
            raise KeyError(ref)
        return oid

    def __iter__(self) -> Iterator[str]:
        return (ref for ref, oid in self._tips.items() if oid is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class PlanRepository(Struct, frozen=True, kw_only=True):
    """The repository of a plan."""

    repository: Repository
    ends: Ends
    names: RefNames
    plan: str
    folder: Callable[[str, str], Path]
    """Returns the directory of a subplan's worktree, from its path and its flat name."""
    groups: Collection[str]
    """The paths of groups. A group has a worktree only for its verify."""
    landed: Collection[str] = frozenset()
    """Subplans that an earlier run has landed: the base has their work, even if their branches are gone."""
    clones: Collection[str] = frozenset()
    """The slices with a clone for their steps."""
    opened: Collection[str] = frozenset()
    """Those of them that run without a sandbox, so that the workspace's `.git` file must lead to the clone."""

    @property
    def git(self) -> Git:
        """Git for the work of a run, with the filters and merge drivers of the repository."""
        return self.repository.git.working()

    @property
    def shared_refs(self) -> RefTips:
        """The branches of the repository that a clone has."""
        return {self.ends.target_ref: self.ends.base}

    @property
    def scratch_clone(self) -> RefTips | None:
        """The same for a worktree that serves a verify; None if it needs no clone."""
        return self.shared_refs if self.clones else None

    def worktree(self, path: str) -> Path:
        return self.folder(path, dotted(path))

    def scratch(self, path: str) -> Path:
        """Returns the worktree in which the subplan is verified together with others."""
        return self.folder(path, f"_check.{dotted(path)}")

    def copy_in(self, worktree: Path, copy: Sequence[str], link: Sequence[str]) -> None:
        """Copies and links untracked files that slices need."""
        top, inside = self.repository.top, self.repository.inside
        copy_in(top / inside, worktree / inside, copy=copy, link=link, top=top, worktree=worktree)

    # Refs

    def refs(self) -> RefTips:
        """Returns the branches and notes of the plan."""
        return _LazyRefs(self.git)

    def head(self, path: str) -> str:
        """Returns the tip of a subplan's branch. Raises `HeldError` if the branch is gone."""
        commit = tip(self.git, self.names.head(path))
        if commit is not None:
            return commit
        branch, owner = self.names.branch(path), path or "the plan"
        # A person may have deleted the branch by accident. The notes still lead to its commits, so that the
        # message can name the command that restores it.
        last = tip(self.git, self.names.tip(path)) or tip(self.git, self.names.start(path))
        if last is None:
            raise HeldError(
                f"there is no branch {branch}, and no record of the work of {owner}; {START_OVER}"
            )
        raise HeldError(
            f"the branch {branch} of {owner} is gone; to restore it, type: git branch {branch} {last[:12]}, "
            "then run the plan again"
        )

    def kept(self, path: str, commit: str) -> list[RefMove]:
        """Returns the move that keeps a commit of a subplan."""
        ref = self.names.kept(path, commit)
        return changes([RefMove(ref=ref, before=tip(self.git, ref) or "", after=commit)])

    def has_landed(self, path: str) -> bool:
        """Returns whether a subplan has landed, by itself or with a group around it."""
        while path and path not in self.landed:
            path = around(path)
        return bool(path)

    def missing_in(self, commit: str, others: Collection[str]) -> Collection[str]:
        """Returns those of the other commits that are not in the history of this one."""
        candidates = frozenset(others)
        if not candidates:
            return candidates
        # rev-list prints what the commit lacks, and the candidates among that are the missing ones. One
        # process, whatever their number.
        lines = self.git.line("rev-list", *sorted(candidates), "--not", commit)
        return candidates.intersection(lines.splitlines())

    def merged_into(self, commit: str) -> Collection[str]:
        """Returns the branches of the plan that are in the history of a commit."""
        prefix = f"refs/heads/{self.names.prefix}{self.names.plan}/"
        lines = self.git.line("for-each-ref", f"--merged={commit}", "--format=%(refname)", prefix)
        return frozenset(lines.splitlines())

    def move(self, moves: Sequence[RefMove], reason: str) -> None:
        ref_moves = changes(moves)
        if not move(self.git, ref_moves, reason=f"weft: {reason}"):
            refs = ", ".join(ref_move.ref for ref_move in ref_moves)
            raise WorkspaceError(f"{refs}: moved by another process at this moment; run the plan again")

    # Commits

    def commit(
        self,
        tree: str,
        parents: Sequence[str],
        subject: str,
        path: str,
        date: str = "",
        *,
        sign: SigningFailure = SigningFailure.REQUIRED,
    ) -> str:
        """Creates a merge commit for a subplan. With a date, the same call gives the same commit."""
        trailers = {"Weft-Plan": self.plan, "Weft-Subplan": path}
        dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date} if date else {}
        identity = {**self.repository.identity, **dates}
        text = message(subject, trailers)
        return commit_merge(self.git, tree, parents, text, identity=identity, sign=sign, once=bool(date))


def around(path: str) -> str:
    """Returns the group that contains a subplan; for the plan, the plan itself."""
    return path.rpartition("/")[0]


def plan_move(refs: RefTips, ref: str, after: str) -> RefMove:
    """Returns a move of a ref from its present commit; an empty `after` removes it."""
    return RefMove(ref=ref, before=refs.get(ref, ""), after=after)


def changes(moves: Sequence[RefMove]) -> list[RefMove]:
    """Returns the moves that change something."""
    return [ref_move for ref_move in moves if ref_move.before != ref_move.after]


def branch_changes(moves: Sequence[RefMove]) -> list[RefMove]:
    """Returns the changes of branches, without those of notes."""
    return changes([ref_move for ref_move in moves if ref_move.ref.startswith("refs/heads/")])
