"""The commits that results have and the target lacks, and what follows from them for the order of landing.

Results may hold the work of others: a slice starts on what is there already, slices of two groups depend on each
other crosswise, and a person settles a conflict by merging the branch of the plan, or of another group. A result
comes after those whose work it holds. Results that hold each other's work have no such order: they are one *unit*,
which lands as a whole or not at all.

One git process lists these commits with their parents and trailers. What follows from them depends on how much has
not landed, and never on how much has.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from msgspec import Struct

from weft.ports.target import LandingEntry
from weft.workspaces.git.base.program import Git

_FIELDS = (
    "%H",
    "%P",
    "%T",
    "%(trailers:key=Weft-Plan,valueonly,separator=)",
    "%(trailers:key=Weft-Subplan,valueonly,separator=)",
)
_LOG = ("log", "--no-show-signature", "--topo-order", f"--format={'%x00'.join(_FIELDS)}")
_OF_MERGE = 2
"""The parents that a merge commit has at least."""


class UnlandedCommit(Struct, frozen=True):
    parents: tuple[str, ...]
    tree: str
    subplan: str
    """The subplan of this plan that it was made for; empty for other commits."""


class UnlandedHistory:
    """The commits that entries have and the target lacks."""

    def __init__(self, commits: Mapping[str, UnlandedCommit]) -> None:
        """`commits` has children before their parents."""
        self.commits = commits
        self._reached: dict[str, Collection[str]] = {}
        self._holders: dict[frozenset[str], AbstractSet[str]] = {}

    @classmethod
    def read(cls, git: Git, plan: str, heads: Sequence[str], base: str) -> "UnlandedHistory":
        """The commits that lead to `heads` and not to `base`."""
        if not heads:
            return cls({})
        commits: dict[str, UnlandedCommit] = {}
        for line in git.line(*_LOG, *heads, f"^{base}").splitlines():
            commit, parents, tree, made_for, subplan = line.split("\0")
            made_here = subplan if made_for == plan else ""
            commits[commit] = UnlandedCommit(tuple(parents.split()), tree, made_here)
        return cls(commits)

    def brings(
        self, head: str, is_other: Callable[[str], bool], *, beside: Collection[str] = ()
    ) -> list[str]:
        """The subplans, among the others, whose work the commit would bring to the target, the oldest first.

        Work that the commits `beside` bring as well does not count.
        """
        elsewhere = {commit for other in beside for commit in self.reached_from(other)}
        reached = [commit for commit in self.reached_from(head) if commit not in elsewhere]
        subplans = dict.fromkeys(self.commits[commit].subplan for commit in reached)
        around = dict.fromkeys(path for subplan in reversed(subplans) for path in _around(subplan))
        return [path for path in around if is_other(path)]

    def strangers(self, head: str, is_expected: Callable[[str], bool]) -> list[str]:
        """The subplans whose work the commit would bring to the target, and neither they nor a group is expected.

        A merge commit is no work: that of a subplan that has landed may be on the branch of the plan alone.
        """
        reached = (self.commits[commit] for commit in self.reached_from(head))
        subplans = {commit.subplan for commit in reached if len(commit.parents) < _OF_MERGE}
        return sorted(path for path in subplans - {""} if not any(map(is_expected, _around(path))))

    def shared(self, head: str, linked: Collection[str]) -> list[str]:
        """Commits that lead to `head`, and to the target or to a `linked` one; all others lead to one of these."""
        shared: dict[str, None] = {}
        visited: set[str] = set()
        waiting = [head]
        while waiting:
            commit = waiting.pop()
            if commit in visited:
                continue
            visited.add(commit)
            if commit not in self.commits or commit in linked:
                shared[commit] = None
            else:
                waiting.extend(self.commits[commit].parents)
        return list(shared)

    def before(self, head: str, others: Collection[str]) -> str:
        """The newest commit along the first parents of a commit that holds no work of the others."""
        while head in self._with_work_of(frozenset(others)) and self.commits[head].parents:
            head = self.commits[head].parents[0]
        return head

    def _with_work_of(self, others: frozenset[str]) -> AbstractSet[str]:
        """The commits that hold work of the others."""
        if others not in self._holders:
            holders: set[str] = set()
            for name, commit in reversed(list(self.commits.items())):  # parents come before their children
                if not others.isdisjoint(_around(commit.subplan)) or not holders.isdisjoint(commit.parents):
                    holders.add(name)
            self._holders[others] = holders
        return self._holders[others]

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


def is_in(path: str, other: str) -> bool:
    return path == other or path.startswith(f"{other}/")


def is_own(entry: LandingEntry, other: str) -> bool:
    """Whether another subplan is the entry, a part of it or a group around it.

    Completed parts of one group may hold each other's work, and land in any order.
    """
    path = entry.within or entry.path
    return is_in(other, path) or is_in(path, other)


def _around(path: str) -> Iterator[str]:
    """A subplan and the groups around it."""
    while path:
        yield path
        path = path.rpartition("/")[0]


def units_of(
    entries: Sequence[LandingEntry],
    heads: Mapping[str, str],
    history: UnlandedHistory,
    is_to_land: Callable[[str], bool],
) -> list[list[LandingEntry]]:
    """The entries as given, except that each comes after those whose work it holds, and units stay together."""
    relevant = [entry.path for entry in entries if is_to_land(entry.path)]
    needs: dict[str, AbstractSet[str]] = {}
    for entry in entries:
        others = {other for other in relevant if not is_own(entry, other)}
        brought = history.brings(heads[entry.path], others.__contains__) if heads[entry.path] else ()
        needs[entry.path] = frozenset(brought)
    units: list[list[LandingEntry]] = []
    waiting = list(entries)
    while waiting:
        unit = _first_unit([entry.path for entry in waiting], needs)
        units.append([entry for entry in waiting if entry.path in unit])
        waiting = [entry for entry in waiting if entry.path not in unit]
    return units


def _first_unit(paths: Sequence[str], needs: Mapping[str, AbstractSet[str]]) -> AbstractSet[str]:
    """The first of the paths that needs no other one; else the first that are needed by all that they need."""
    for path in paths:
        if needs[path].isdisjoint(paths):
            return {path}
    reached = {path: _needed(path, needs, frozenset(paths)) for path in paths}
    return next(reached[path] for path in paths if all(path in reached[other] for other in reached[path]))


def _needed(path: str, needs: Mapping[str, AbstractSet[str]], among: AbstractSet[str]) -> AbstractSet[str]:
    """A path, and all that it needs of some paths, near and far."""
    seen = {path}
    waiting = [path]
    while waiting:
        new = (needs[waiting.pop()] & among) - seen
        seen |= new
        waiting.extend(new)
    return seen
