"""The commits that results have and the target lacks, and what follows from them for each result.

One git process lists these commits with their parents and trailers. From that follows which other subplans' work
a result would bring along, and what it has in common with the target. Neither depends on how much has landed
before: only on how much has not.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from msgspec import Struct

from weft.workspaces.git.program import Git

_FIELDS = (
    "%H",
    "%P",
    "%T",
    "%(trailers:key=Weft-Plan,valueonly,separator=)",
    "%(trailers:key=Weft-Subplan,valueonly,separator=)",
)
_LIST = ("log", "--no-show-signature", "--topo-order", f"--format={'%x00'.join(_FIELDS)}")
_OF_MERGE = 2
"""The parents that a merge commit has at least."""


class Commit(Struct, frozen=True):
    parents: tuple[str, ...]
    tree: str
    subplan: str
    """The subplan of this plan that it was made for; empty for other commits."""


class UnlandedHistory:
    def __init__(self, commits: Mapping[str, Commit]) -> None:
        self.commits = commits
        self._reached: dict[str, Collection[str]] = {}

    @classmethod
    def read(cls, git: Git, plan: str, heads: Sequence[str], base: str) -> "UnlandedHistory":
        """The commits that lead to `heads` and not to `base`."""
        if not heads:
            return cls({})
        commits: dict[str, Commit] = {}
        for line in git.line(*_LIST, *heads, f"^{base}").splitlines():
            commit, parents, tree, made_for, subplan = line.split("\0")
            commits[commit] = Commit(tuple(parents.split()), tree, subplan if made_for == plan else "")
        return cls(commits)

    def brings(self, head: str, is_other: Callable[[str], bool]) -> list[str]:
        """The subplans, among the others, whose work the commit would bring to the target, the oldest first."""
        subplans = dict.fromkeys(self.commits[each].subplan for each in self.reached_from(head))
        around = dict.fromkeys(path for subplan in reversed(subplans) for path in _around(subplan))
        return [path for path in around if is_other(path)]

    def strangers(self, head: str, is_expected: Callable[[str], bool]) -> list[str]:
        """The subplans whose work the commit would bring to the target, and neither they nor a group is expected.

        A merge commit is no work: that of a subplan that has landed may be on the branch of the plan alone.
        """
        reached = (self.commits[each] for each in self.reached_from(head))
        subplans = {commit.subplan for commit in reached if len(commit.parents) < _OF_MERGE}
        return sorted(path for path in subplans - {""} if not any(map(is_expected, _around(path))))

    def shared(self, head: str, linked: Collection[str]) -> list[str]:
        """Commits that lead to `head`, and to the target or to one `linked`; all others lead to one of these."""
        shared: dict[str, None] = {}
        seen: set[str] = set()
        waiting = [head]
        while waiting:
            commit = waiting.pop()
            if commit in seen:
                continue
            seen.add(commit)
            if commit not in self.commits or commit in linked:
                shared[commit] = None
            else:
                waiting.extend(self.commits[commit].parents)
        return list(shared)

    def reached_from(self, head: str) -> Collection[str]:
        """The commits that the target would receive with this one, the newest first."""
        if head not in self._reached:
            reached: dict[str, None] = {}
            waiting = [head]
            while waiting:
                commit = waiting.pop()
                if commit in self.commits and commit not in reached:
                    reached[commit] = None
                    waiting.extend(self.commits[commit].parents)
            self._reached[head] = reached.keys()
        return self._reached[head]


def _around(path: str) -> Iterator[str]:
    """A subplan and the groups that it is in; none for the whole plan."""
    while path:
        yield path
        path = path.rpartition("/")[0]
