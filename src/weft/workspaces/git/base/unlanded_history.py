"""The commits that results have and the target lacks, and the order of landing that follows from them.

Results may hold the work of others: a slice starts on work that exists already, slices of two groups depend on
each other crosswise, and a person resolves a conflict by merging the branch of the plan or of another group. A
result lands after the results that it contains. Results that hold each other's work have no such order: they are
one *unit*, which lands as a whole or not at all.

One git process lists these commits with their parents and trailers. The cost depends on how much has not landed,
never on how much has.
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
"""The least number of parents of a merge commit."""


class UnlandedCommit(Struct, frozen=True):
    """A commit that the target lacks."""

    parents: tuple[str, ...]
    tree: str
    subplan: str
    """The subplan of this plan that it was made for; empty for other commits."""

    def is_work_of(self, path: str) -> bool:
        """Returns whether it has work of the subplan; a merge commit has none of its own."""
        return self.subplan == path and len(self.parents) < _OF_MERGE


class UnlandedHistory:
    """The commits that entries have and the target lacks."""

    def __init__(self, commits: Mapping[str, UnlandedCommit]) -> None:
        """`commits` has children before their parents."""
        self.commits = commits
        self._reached: dict[str, Collection[str]] = {}
        self._holders: dict[frozenset[str], AbstractSet[str]] = {}

    @classmethod
    def read(cls, git: Git, plan: str, heads: Sequence[str], *bases: str) -> "UnlandedHistory":
        """Reads the commits that lead to `heads` and not to `bases`."""
        if not heads:
            return cls({})
        # The bases cut the walk off, so git reads only what has not landed.
        commits: dict[str, UnlandedCommit] = {}
        for line in git.line(*_LOG, *heads, "--not", *bases).splitlines():
            commit, parents, tree, commit_plan, subplan = line.split("\0")
            own_subplan = subplan if commit_plan == plan else ""
            commits[commit] = UnlandedCommit(tuple(parents.split()), tree, own_subplan)
        return cls(commits)

    def brings(
        self, head: str, is_other: Callable[[str], bool], *, beside: Collection[str] = ()
    ) -> list[str]:
        """Returns the matching subplans that have work the target would receive with the commit, oldest first.

        Work that the commits `beside` hold as well does not count.
        """
        # The commits beside this one are in the chain themselves, so their work arrives with them.
        elsewhere = {commit for head_beside in beside for commit in self.reached_from(head_beside)}
        reached = [commit for commit in self.reached_from(head) if commit not in elsewhere]
        subplans = dict.fromkeys(self.commits[commit].subplan for commit in reached)
        around = dict.fromkeys(path for subplan in reversed(subplans) for path in _around(subplan))
        return [path for path in around if is_other(path)]

    def strangers(self, head: str, is_expected: Callable[[str], bool]) -> list[str]:
        """Returns the unexpected subplans that have work the target would receive with the commit.

        A subplan in an expected group is expected. A merge commit is no work: that of a landed subplan may be on
        the branch of the plan alone.
        """
        reached = (self.commits[commit] for commit in self.reached_from(head))
        subplans = {commit.subplan for commit in reached if len(commit.parents) < _OF_MERGE}
        return sorted(path for path in subplans - {""} if not any(map(is_expected, _around(path))))

    def shared(self, head: str, linked: Collection[str]) -> list[str]:
        """Returns common ancestors of `head` and of the target or a `linked` commit.

        Every such ancestor leads to one of those returned.
        """
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
        """Returns the newest first-parent ancestor of a commit that holds no work of `others`."""
        while head in self._with_work_of(frozenset(others)) and self.commits[head].parents:
            head = self.commits[head].parents[0]
        return head

    def _with_work_of(self, others: frozenset[str]) -> AbstractSet[str]:
        """Returns the commits that hold work of the others."""
        if others not in self._holders:
            holders: set[str] = set()
            # One pass is enough: in this order the answer for each parent is known before that for its
            # children.
            for name, commit in reversed(list(self.commits.items())):  # parents come before their children
                if not others.isdisjoint(_around(commit.subplan)) or not holders.isdisjoint(commit.parents):
                    holders.add(name)
            self._holders[others] = holders
        return self._holders[others]

    def reached_from(self, head: str) -> Collection[str]:
        """Returns the commits that the target would receive with this one, newest first."""
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


def is_in(path: str, ancestor: str) -> bool:
    """Returns whether a subplan is the other one or a part of it."""
    return path == ancestor or path.startswith(f"{ancestor}/")


def is_own(entry: LandingEntry, other_path: str) -> bool:
    """Returns whether a subplan is the entry, a part of it, or a group around it.

    Completed parts of one group may hold each other's work and land in any order.
    """
    path = entry.within or entry.path
    return is_in(other_path, path) or is_in(path, other_path)


def _around(path: str) -> Iterator[str]:
    """Yields a subplan and the groups around it."""
    while path:
        yield path
        path = path.rpartition("/")[0]


def units_of(
    entries: Sequence[LandingEntry],
    heads: Mapping[str, str],
    history: UnlandedHistory,
    is_to_land: Callable[[str], bool],
) -> list[list[LandingEntry]]:
    """Returns the entries as units. A unit follows the units that have work in it; the order is kept otherwise."""
    relevant = [entry.path for entry in entries if is_to_land(entry.path)]
    needs: dict[str, AbstractSet[str]] = {}
    for entry in entries:
        others = {path for path in relevant if not is_own(entry, path)}
        brought = history.brings(heads[entry.path], others.__contains__) if heads[entry.path] else ()
        needs[entry.path] = frozenset(brought)
    units: list[list[LandingEntry]] = []
    waiting = list(entries)
    while waiting:
        # Quadratic in the entries of one batch, which `merge.batch` bounds.
        unit = _first_unit([entry.path for entry in waiting], needs)
        units.append([entry for entry in waiting if entry.path in unit])
        waiting = [entry for entry in waiting if entry.path not in unit]
    return units


def _first_unit(paths: Sequence[str], needs: Mapping[str, AbstractSet[str]]) -> AbstractSet[str]:
    """Returns the first path that needs no other, or else the first paths that all need each other."""
    for path in paths:
        if needs[path].isdisjoint(paths):
            return {path}
    # All remaining paths need another one, so there is a cycle. The first strongly connected component without
    # a need outside itself is the unit: each of its paths reaches every other.
    reached = {path: _needed_paths(path, needs, frozenset(paths)) for path in paths}
    return next(
        reached[path] for path in paths if all(path in reached[needed_path] for needed_path in reached[path])
    )


def _needed_paths(
    path: str, needs: Mapping[str, AbstractSet[str]], among: AbstractSet[str]
) -> AbstractSet[str]:
    """Returns a path and all paths `among` these that it needs, directly or indirectly."""
    reached = {path}
    waiting = [path]
    while waiting:
        new = (needs[waiting.pop()] & among) - reached
        reached |= new
        waiting.extend(new)
    return reached
