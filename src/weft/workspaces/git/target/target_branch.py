"""The target branch: chains of merges built on its tip, and the one move that lands them.

The target moves by a compare-and-swap against the tip that the chain was built on. Where it is checked out, git
moves it by a fast-forward in that checkout, which refuses if a local change is in the way.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from threading import Lock

from weft.ports.target import Chain, ChainLink, LandingEntry, ScratchFiles
from weft.ports.workspaces import HeldError, WorkspaceRequest
from weft.workspaces.git.base.names import RefNames
from weft.workspaces.git.base.refs import tip, tips_of, tree_of
from weft.workspaces.git.checkouts.advance_branch import advance
from weft.workspaces.git.merges.merge_commits import MergeCommits
from weft.workspaces.git.plan_repository import PlanRepository
from weft.workspaces.git.slices.rebuild import SliceRebuild
from weft.workspaces.git.target.chains import ChainBuilder
from weft.workspaces.git.target.remote import Remote
from weft.workspaces.git.worktrees.worktrees import Worktrees

_SCRATCH = "_land"
"""The name of the worktree in which chains are verified."""


class TargetBranch:
    """The target of a plan."""

    def __init__(
        self,
        plan_repository: PlanRepository,
        worktrees: Worktrees,
        commits: MergeCommits,
        *,
        release: Callable[[str], object],
    ) -> None:
        """`release` removes the worktree of a slice that is merged, unless it holds something else."""
        self._repository = plan_repository
        self._names = plan_repository.names
        self._git = plan_repository.git
        self._ref = plan_repository.ends.target_ref
        self._worktrees = worktrees
        self._commits = commits
        self._remote = Remote(plan_repository)
        self._moving = Lock()
        self._release = release

    @property
    def name(self) -> str:
        return self._repository.ends.target

    def branch(self, path: str) -> str:
        return self._names.branch(path)

    # Building

    def build(
        self, entries: Sequence[LandingEntry], *, is_to_land: Callable[[str], bool], onto: str | None = None
    ) -> Chain:
        refs = tips_of(self._git, self._ref, *self._refs_of(entries))
        base = onto or refs.get(self._ref) or self._missing_target()
        return ChainBuilder(self._repository, self._commits, refs, is_to_land).build(entries, base)

    def _refs_of(self, entries: Sequence[LandingEntry]) -> list[str]:
        names = self._names
        return [ref for entry in entries for ref in (names.head(entry.path), names.start(entry.path))]

    def _missing_target(self) -> str:
        raise HeldError(
            f"the target branch {self.name} does not exist; create it again (git branch {self.name} COMMIT), "
            "then type: weft merge"
        )

    def rebuild(self, request: WorkspaceRequest, *, releases: bool) -> str:
        if releases:
            # Usually that has happened already, or happens at this moment.
            self._release(request.path)
        return SliceRebuild(self._repository).rebuild(request)

    # Verifying

    @property
    def scratch(self) -> Path:
        return self._root / self._repository.repository.inside

    def check_out(self, commit: str, files: ScratchFiles) -> None:
        self._worktrees.make(self._root, branch=None, commit=commit, clone=self._repository.scratch_clone)
        self._repository.copy_in(self._root, files.copy, files.link)

    def discard(self) -> None:
        self._worktrees.discard(self._root)

    @property
    def _root(self) -> Path:
        return self._repository.folder("", _SCRATCH)

    def passed_trees(self, paths: Mapping[str, bool]) -> Mapping[str, Collection[str]]:
        """Reads all notes of the plan at once, whatever the number of paths."""
        if not paths:
            return {}
        names = self._names
        kinds = [f"refs/weft/{kind}/{names.plan}" for kind in ("passed", "tip")]
        # git prints the tree of each commit in the same pass, so there is no process per subplan.
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
        file_set = set(files)
        return [link.path for link in chain.links if file_set.intersection(self._changed_files(link))]

    def _changed_files(self, link: ChainLink) -> list[str]:
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


def _notes(names: RefNames, path: str, *, by_steps: bool) -> list[str]:
    return [names.passed(path), names.tip(path)] if by_steps else [names.passed(path)]
