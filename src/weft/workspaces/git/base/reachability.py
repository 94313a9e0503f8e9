"""Proofs that the target holds all the work of a commit, so that the commit's other refs may be removed.

The target holds it if the commit is in the target's history. Integration branches need more than that, because
their merge commits differ from those by which the same work landed. A merge commit is no work of its own if
merging its parents again gives the same tree, or if the target's history has that tree. A commit is therefore also
proven if everything in its history that the target lacks consists of such merges. In doubt, the proof fails.
"""

from weft.workspaces.git.base.merge_tree import try_merge
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.refs import is_ancestor, tree_of

_PARENTS = 2


class ReachabilityProof:
    """Answers for one target, with a cache."""

    def __init__(self, git: Git, target: str) -> None:
        """`git` runs at the top of a checkout; `target` is the commit of the target."""
        self._git = git
        self._target = target
        self._proofs: dict[str, bool] = {}

    def holds(self, commit: str) -> bool:
        """Returns whether the target holds all the work of the commit."""
        if commit not in self._proofs:
            self._proofs[commit] = is_ancestor(self._git, commit, self._target) or (
                # The count is one cheap process, and a single commit that is no merge decides. Merges are
                # repeated only if there is none.
                not self._count(commit, "--no-merges") and self._are_reproducible(commit)
            )
        return self._proofs[commit]

    def holds_parents(self, commit: str) -> bool:
        """Returns the same for a merge commit that only served a verify: its parents count."""
        parents = self._git.line("rev-parse", f"{commit}^@").split()
        return bool(parents) and all(self.holds(parent) for parent in parents)

    def missing(self, commit: str) -> int:
        """Returns how many commits the target lacks; merges count only if there are no others."""
        return self._count(commit, "--no-merges") or self._count(commit)

    def _count(self, commit: str, *options: str) -> int:
        return int(self._git.line("rev-list", "--count", *options, commit, f"^{self._target}"))

    def _are_reproducible(self, commit: str) -> bool:
        merges = self._git.line("rev-list", "--parents", commit, f"^{self._target}").splitlines()
        return all(self._is_reproducible(*line.split()) for line in merges)

    def _is_reproducible(self, commit: str, *parents: str) -> bool:
        tree = tree_of(self._git, commit)
        if len(parents) == _PARENTS:
            trial = try_merge(self._git, *parents)
            if not trial.conflicts and trial.tree == tree:
                return True
        # A person may have resolved a conflict in this merge. If the target has had exactly this tree, the
        # resolution landed too.
        return tree in self._git.line("log", "--format=%T", self._target, f"^{commit}").split()
