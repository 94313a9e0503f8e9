"""What the worktrees of a plan stand on: a repository and its ends, names and places."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from weft.engine.messages.facts import RefMove
from weft.ports.workspaces import HeldError
from weft.workspaces.errors import ANEW, WorkspaceError
from weft.workspaces.git.base.commit_object import SigningFailure
from weft.workspaces.git.base.merge_tree import commit_merge, message
from weft.workspaces.git.base.names import RefNames, dotted
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.refs import move, tip
from weft.workspaces.git.base.repository import Ends, Repository
from weft.workspaces.git.checkouts.untracked_files import bring

Known = Mapping[str, str]
"""Where refs lead, each as it was when it was first asked for."""


class _RefsAsked(Known):
    """Reads a ref when it is first asked for, so that it costs nothing how many there are; it holds those only."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._found: dict[str, str | None] = {}

    def __getitem__(self, ref: str) -> str:
        if ref not in self._found:
            self._found[ref] = tip(self._git, ref)
        oid = self._found[ref]
        if oid is None:
            raise KeyError(ref)
        return oid

    def __iter__(self) -> Iterator[str]:
        return (ref for ref, oid in self._found.items() if oid is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class PlanRepository(Struct, frozen=True, kw_only=True):
    repository: Repository
    ends: Ends
    names: RefNames
    plan: str
    folder: Callable[[str, str], Path]
    """The place of the worktree of a subplan, by its path and its flat name."""
    groups: Collection[str]
    """The paths of subplans that have others in them; they have no worktree but to be verified in."""
    landed: Collection[str] = frozenset()
    """Those that an earlier run has landed: the base has their work, even if their branches are gone."""
    clones: Collection[str] = frozenset()
    """The slices whose steps have a git directory of their own."""
    opened: Collection[str] = frozenset()
    """Those of them whose steps find it by the file `.git` of the workspace: no sandbox shows it to them."""

    @property
    def git(self) -> Git:
        """Git for the work of a run, with the filters and merge drivers of the repository."""
        return self.repository.git.working()

    @property
    def shared_refs(self) -> Known:
        """What a clone knows of the branches of the repository."""
        return {self.ends.target_ref: self.ends.base}

    @property
    def scratch_clone(self) -> Known | None:
        """The same for a worktree in which something is verified; None if it needs no clone."""
        return self.shared_refs if self.clones else None

    def worktree(self, path: str) -> Path:
        return self.folder(path, dotted(path))

    def scratch(self, path: str) -> Path:
        """Where the subplan is verified together with others."""
        return self.folder(path, f"_check.{dotted(path)}")

    def bring(self, worktree: Path, copy: Sequence[str], link: Sequence[str]) -> None:
        """The files that slices need and the repository does not have."""
        top, inside = self.repository.top, self.repository.inside
        bring(top / inside, worktree / inside, copy=copy, link=link, top=top, worktree=worktree)

    # Refs

    def known(self) -> Known:
        """The branches and notes of the plan."""
        return _RefsAsked(self.git)

    def head(self, path: str) -> str:
        """Where the branch of a subplan is; raises `HeldError` if it is gone."""
        found = tip(self.git, self.names.head(path))
        if found is not None:
            return found
        branch, whose = self.names.branch(path), path or "the plan"
        last = tip(self.git, self.names.tip(path)) or tip(self.git, self.names.start(path))
        if last is None:
            raise HeldError(f"there is no branch {branch}, and nothing is known of what {whose} did; {ANEW}")
        raise HeldError(
            f"the branch {branch} of {whose} is gone; to have it back, type: git branch {branch} {last[:12]}, "
            "then run the plan again"
        )

    def kept(self, path: str, commit: str) -> list[RefMove]:
        """What keeps a commit of a subplan that nothing else may lead to."""
        ref = self.names.kept(path, commit)
        return changes([RefMove(ref=ref, before=tip(self.git, ref) or "", after=commit)])

    def has_landed(self, path: str) -> bool:
        """By itself, or with a group around it."""
        while path and path not in self.landed:
            path = around(path)
        return bool(path)

    def missing_in(self, commit: str, others: Collection[str]) -> Collection[str]:
        """Those among other commits that did not lead to this one."""
        wanted = frozenset(others)
        if not wanted:
            return wanted
        lines = self.git.line("rev-list", *sorted(wanted), "--not", commit)
        return wanted.intersection(lines.splitlines())

    def merged_into(self, commit: str) -> Collection[str]:
        """The branches of the plan whose work a commit has."""
        where = f"refs/heads/{self.names.prefix}{self.names.plan}/"
        lines = self.git.line("for-each-ref", f"--merged={commit}", "--format=%(refname)", where)
        return frozenset(lines.splitlines())

    def move(self, moves: Sequence[RefMove], reason: str) -> None:
        wishes = changes(moves)
        if not move(self.git, wishes, reason=f"weft: {reason}"):
            refs = ", ".join(one.ref for one in wishes)
            raise WorkspaceError(f"{refs}: moved by somebody else at this moment; run the plan again")

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
        """A merge for a subplan; with a date, it is the same commit if it is made again."""
        trailers = {"Weft-Plan": self.plan, "Weft-Subplan": path}
        dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date} if date else {}
        identity = {**self.repository.identity, **dates}
        text = message(subject, trailers)
        return commit_merge(self.git, tree, parents, text, identity=identity, sign=sign, once=bool(date))


def around(path: str) -> str:
    """The group that a subplan is in; the whole plan is in itself."""
    return path.rpartition("/")[0]


def wish(known: Known, ref: str, after: str) -> RefMove:
    """That a ref be moved from where it is known to be; to nothing: that it be removed."""
    return RefMove(ref=ref, before=known.get(ref, ""), after=after)


def changes(moves: Sequence[RefMove]) -> list[RefMove]:
    """Without those that leave everything as it is."""
    return [one for one in moves if one.before != one.after]
