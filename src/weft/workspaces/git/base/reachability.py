"""Whether all that a commit holds is on the target: then nothing is lost if no other name leads to it any more.

It is if the target has the commit in its history. Branches on which work came together hold more than that: their
merges are not those by which the same work landed. But a merge is nobody's work, if it comes out the same when it
is made again, or if the target has had that very tree. So a commit is proven, too, if all that the target does not
have of its history are such merges. Whatever cannot be told for certain is not proven.
"""

from weft.workspaces.git.base.merge_tree import try_merge
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.refs import is_ancestor, tree_of

_PARENTS = 2


class ReachabilityProof:
    def __init__(self, git: Git, target: str) -> None:
        """`git` is at the top of a checkout; `target` is the commit that the target is at."""
        self._git = git
        self._target = target
        self._known: dict[str, bool] = {}

    def holds(self, commit: str) -> bool:
        """Whether the target has all that the commit has."""
        if commit not in self._known:
            self._known[commit] = is_ancestor(self._git, commit, self._target) or (
                not self._count(commit, "--no-merges") and self._are_made_again(commit)
            )
        return self._known[commit]

    def holds_parents(self, commit: str) -> bool:
        """The same of a merge that was only made to be verified: what it was made of is what counts."""
        parents = self._git.line("rev-parse", f"{commit}^@").split()
        return bool(parents) and all(self.holds(parent) for parent in parents)

    def missing(self, commit: str) -> int:
        """How many commits the target does not have; without merges, unless there are no others."""
        return self._count(commit, "--no-merges") or self._count(commit)

    def _count(self, commit: str, *options: str) -> int:
        return int(self._git.line("rev-list", "--count", *options, commit, f"^{self._target}"))

    def _are_made_again(self, commit: str) -> bool:
        merges = self._git.line("rev-list", "--parents", commit, f"^{self._target}").splitlines()
        return all(self._is_made_again(*line.split()) for line in merges)

    def _is_made_again(self, commit: str, *parents: str) -> bool:
        tree = tree_of(self._git, commit)
        if len(parents) == _PARENTS:
            again = try_merge(self._git, *parents)
            if not again.conflicts and again.tree == tree:
                return True
        return tree in self._git.line("log", "--format=%T", self._target, f"^{commit}").split()
