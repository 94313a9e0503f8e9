"""A repository with a plan whose slices work in worktrees, and what slices, groups and people do there."""

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from msgspec import structs

from weft.engine.messages.facts import RefMove
from weft.ports.target import Chain, LandingEntry
from weft.ports.workspaces import (
    Breach,
    ClosedConflict,
    GroupPart,
    MergeRequest,
    MergeResult,
    OpenConflict,
    StepWatch,
    StepWork,
    WorkspaceRequest,
)
from weft.workspaces.git.base.names import RefNames
from weft.workspaces.git.base.program import PATIENCE, Git
from weft.workspaces.git.base.repository import Ends, open_repository
from weft.workspaces.git.plan_repository import PlanRepository
from weft.workspaces.worktrees import WorktreeWorkspaces
from workspaces.git.repositories import commit, contents, empty_repository, surroundings
from workspaces.trees import Tree, put

NAMES = RefNames(plan="notes")
GROUPS = ("", "group", "group/deep", "other")
TARGET = "refs/heads/main"


def repository_in(top: Path, files: Mapping[str, str]) -> Git:
    """With one commit on `main`; it is checked out, and ignores what is Weft's."""
    git = empty_repository(top, "--template=")
    (top / ".git" / "info").mkdir()
    (top / ".git" / "info" / "exclude").write_text(".weft\n*.ignored\n")
    commit(git, files)
    return git


class World:
    """One that already exists can be entered again, as by another process."""

    def __init__(
        self,
        top: Path,
        *,
        inside: str = "",
        groups: Collection[str] = GROUPS,
        environ: Mapping[str, str] | None = None,
        clones: Collection[str] = (),
        opened: bool = True,
        patience: float = PATIENCE,
    ) -> None:
        """`clones`: the slices whose steps have a clone, which without a sandbox is `opened` to them."""
        self.top = top
        self.environ = {**surroundings(top.parent), **(environ or {})}
        repository = open_repository(top / inside, environ=self.environ)
        git = Git(repository.git.directory, environ=self.environ, patience=patience)
        repository = structs.replace(repository, git=git.at_top(git.directory, signs=repository.git.signs))
        self.git = repository.git.working()
        base = self.git.ask("rev-parse", "--verify", "refs/weft-test/base")
        if base.exit_code:
            self.git.do("update-ref", "refs/weft-test/base", TARGET)
        self.base = self.git.line("rev-parse", "refs/weft-test/base")
        self.ground = PlanRepository(
            repository=repository,
            ends=Ends(target="main", target_ref=TARGET, base=self.base),
            names=NAMES,
            plan="notes",
            folder=lambda _, name: top / ".weft" / "worktrees" / name,
            groups=frozenset(groups),
            clones=clones,
            opened=clones if opened else (),
        )
        self.workspaces = WorktreeWorkspaces(self.ground)

    # What is asked of workspaces

    def prepare(self, path: str, *after: str) -> list[RefMove]:
        return list(self.workspaces.prepare(WorkspaceRequest(path=path, after=after)))

    def place(self, path: str) -> Path:
        return self.top / ".weft" / "worktrees" / (path.replace("/", ".") or "_plan")

    def at(self, path: str) -> Git:
        """git, in the worktree of a slice."""
        return self.git.at(self.place(path))

    def step(self, path: str, edits: Tree, *, step: str = "code", attempt: int = 1) -> list[RefMove]:
        self.workspaces.prove(path)
        put(self.place(path), edits)
        return self.record(path, step=step, attempt=attempt)

    def record(self, path: str, *, step: str = "code", attempt: int = 1) -> list[RefMove]:
        work = StepWork(path=path, step=step, attempt=attempt, subject=f"{path}: {step}")
        return list(self.workspaces.record(work))

    def take_commits(self, path: str) -> None:
        self.workspaces.take_commits(path)

    def watch(self, path: str, job: str, *beside: str, reads: bool = True) -> None:
        step = "read" if reads else "code"
        work = StepWork(path=path, step=step, attempt=1, subject=f"{path}: {step}")
        self.workspaces.watch(StepWatch(work=work, job=job, reads=reads, beside=beside))

    def restore(self, path: str, job: str) -> Breach | None:
        return self.workspaces.restore(path, job)

    def has_changed(self, path: str, job: str) -> bool | None:
        return self.workspaces.has_changed(path, job)

    def do(self, path: str, edits: Tree, *after: str) -> str:
        """A slice, but for its merge; its commit."""
        self.prepare(path, *after)
        self.step(path, edits)
        return self.tip(path)

    def merge(
        self,
        path: str,
        *,
        verifies: bool = False,
        files: tuple[str, ...] | None = None,
        take: tuple[str, ...] = (),
        resolved: bool = False,
    ) -> MergeResult:
        request = MergeRequest(
            path=path,
            subject=f"Merge {path}",
            verifies=verifies,
            files=files,
            take_branch=take,
            resolved=resolved,
        )
        return self.workspaces.merge(request)

    def open_conflict(self, path: str, *, take: tuple[str, ...] = (), attempt: int = 1) -> OpenConflict:
        request = MergeRequest(path=path, subject=f"Merge {path}", take_branch=take)
        return self.workspaces.open_conflict(request, self.resolving(path, attempt))

    def close_conflict(self, path: str, *, failed: str = "", attempt: int = 1) -> ClosedConflict:
        return self.workspaces.close_conflict(self.resolving(path, attempt), failed=failed)

    @staticmethod
    def resolving(path: str, attempt: int = 1) -> StepWork:
        return StepWork(path=path, step="@resolve", attempt=attempt, subject=f"{path}: resolve")

    def build(
        self, *paths: str, not_landed: tuple[str, ...] = (), files: tuple[str, ...] | None = None
    ) -> Chain:
        """The chain of these subplans on the target."""
        entries = [
            LandingEntry(path=path, subject=f"Land {path}", files=files, checks_worktree=True)
            for path in paths
        ]
        return self.workspaces.target.build(entries, is_to_land={*not_landed, *paths}.__contains__)

    def land(self, *paths: str, not_landed: tuple[str, ...] = ()) -> MergeResult:
        """These land as one chain. Raises what holds the first of them that is held."""
        chain = self.build(*paths, not_landed=not_landed)
        for error in chain.held.values():
            raise error
        moves = [move for each in chain.landed.values() for move in each]
        if chain.links:
            assert self.workspaces.target.advance(chain)
            moves += [RefMove(ref=TARGET, before=link.before, after=link.commit) for link in chain.links]
        return MergeResult(moves=tuple(moves))

    def rebuild(self, path: str, without: str, *after: str) -> None:
        request = WorkspaceRequest(path=path, after=after, without=(without,))
        self.workspaces.target.rebuild(request, releases=True)

    def publish(self, path: str) -> MergeResult:
        published = self.workspaces.publish(path)
        assert published is not None
        return published

    def gather(self, path: str) -> Path:
        self.workspaces.gather(MergeRequest(path=path, subject="together", is_group=True))
        return self.workspaces.place(path)

    def gather_without(self, path: str, parts: Collection[str], *without: str) -> None:
        self.workspaces.gather(self._parted(path, parts, without))

    def suspects(self, path: str, parts: Collection[str]) -> list[str]:
        """Returns the parts of which the branch of a group consists."""
        return [suspect.name for suspect in self.workspaces.suspects(self._parted(path, parts, ()))]

    def merge_without(self, path: str, parts: Collection[str], *without: str) -> MergeResult:
        return self.workspaces.merge(self._parted(path, parts, without))

    def _parted(self, path: str, parts: Collection[str], without: tuple[str, ...]) -> MergeRequest:
        wanted = tuple(GroupPart(path=part, subject=f"Merge {part}") for part in parts)
        subject = f"Merge {path}"
        return MergeRequest(path=path, subject=subject, is_group=True, parts=wanted, without=without)

    def discard(self, path: str) -> None:
        self.workspaces.discard(path)

    def follow_base(self) -> list[RefMove]:
        return list(self.workspaces.follow_base())

    def discard_groups(self) -> list[RefMove]:
        return list(self.workspaces.discard_groups())

    def done(self, path: str, edits: Tree, *after: str) -> str:
        """A slice, from its beginning to its end."""
        made = self.do(path, edits, *after)
        self.merge(path)
        return made

    # What git knows

    def tip(self, path: str) -> str:
        return self.git.line("rev-parse", "--verify", NAMES.head(path))

    @property
    def target(self) -> str:
        return self.git.line("rev-parse", "--verify", TARGET)

    def files(self, commit: str) -> dict[str, str]:
        listed = self.git.fields("ls-tree", "-r", "-z", "--name-only", commit)
        return {path: os.fsdecode(self.git.do("cat-file", "-p", f"{commit}:{path}")) for path in listed}

    def entries(self, commit: str) -> dict[str, str]:
        """The mode of each file."""
        listed = self.git.fields("ls-tree", "-r", "-z", commit)
        return {entry.split("\t", 1)[1]: entry.split(" ", 1)[0] for entry in listed}

    def refs(self, *prefixes: str) -> dict[str, str]:
        lines = self.git.line("for-each-ref", "--format=%(refname) %(objectname)", *prefixes).splitlines()
        return dict(line.split(" ", 1) for line in lines)

    def kept(self, path: str) -> set[str]:
        return set(self.refs(NAMES.kept(path, "").rstrip("/")).values())

    def subjects(self, *revisions: str) -> list[str]:
        return self.git.line("log", "--format=%s", "--reverse", *revisions).splitlines()

    def everything(self) -> dict[str, object]:
        """All refs, all worktrees with their files and branches, and the checkout, which git lists as one."""
        listed = self.git.fields("worktree", "list", "--porcelain", "-z")
        worktrees = self.top / ".weft" / "worktrees"
        return {
            **self.refs(),
            **{f"in {place.name}": contents(place) for place in worktrees.glob("*")},
            "worktrees": sorted(listed),
            "checkout": self.checkout(),
            "index": self.git.line("ls-files", "--stage"),
        }

    def checkout(self) -> dict[str, bytes | str]:
        """What a person sees."""
        return {name: made for name, made in contents(self.top).items() if not name.startswith(".weft/")}

    # People

    def commit(self, files: Mapping[str, str], message: str = "a person") -> str:
        """In the checkout of the repository."""
        return commit(self.git, files, message)


def heads(moves: list[RefMove] | tuple[RefMove, ...]) -> list[str]:
    """The branches that moved, as people call them, in order."""
    return [move.ref.removeprefix("refs/heads/") for move in moves]
