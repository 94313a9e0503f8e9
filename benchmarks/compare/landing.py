"""Branches that come together, and those that could not, in a repository of 20,000 files, which lies in memory."""

from collections.abc import Sequence
from itertools import count as counter
from random import Random

from benchmarks.compare.measuring import Sizes
from benchmarks.compare.processes import Cost, median_costs
from benchmarks.compare.table import Row, at_most
from benchmarks.compare.worktrees import files_of, spent
from benchmarks.repositories import Files, Project, project
from weft.ports.target import LandingEntry
from weft.ports.workspaces import MergeRequest, StepWork, WorkspaceRequest
from weft.workspaces.git.base.names import RefNames
from weft.workspaces.git.merges.conflict_forecast import ConflictForecast
from weft.workspaces.worktrees import WorktreeWorkspaces

# Landing


class Landing:
    """Each time with branches of its own, of which each changes three files that no other does, and adds one."""

    def __init__(self, one: Project, branches: int) -> None:
        self._project = one
        self._slices = [f"s{number}" for number in range(branches)]
        self._plans = (f"p{number}" for number in counter())

    def by_git(self) -> Cost:
        """In a checkout, as a person does it."""
        plan = next(self._plans)
        names = self._begin(plan)
        self._project.plain_git("switch", "--create", plan, "main")
        branches = [names.branch(path) for path in self._slices]

        def work() -> None:
            for branch in branches:
                self._project.plain_git("merge", "--no-ff", "-m", branch, branch)

        return spent(work)

    def ours(self, *, checked_out: bool) -> Cost:
        """To the branch of the plan first, and then to the target."""
        plan = next(self._plans)
        self._begin(plan)
        self._project.git.do("branch", plan, "main")
        self._project.plain_git("switch", plan if checked_out else "main")
        workspaces = self._project.workspaces(plan, target=plan)
        return spent(lambda: merge_and_land(workspaces, self._slices))

    def ready(self) -> Cost:
        """The last hop alone: all branches land as one batch."""
        plan = next(self._plans)
        self._begin(plan)
        self._project.git.do("branch", plan, "main")
        self._project.plain_git("switch", "main")
        workspaces = self._project.workspaces(plan, target=plan)
        return spent(lambda: land(workspaces, self._slices))

    def _begin(self, plan: str) -> RefNames:
        names = RefNames(plan=plan)
        self._project.begun(names, {path: self._files(plan, at) for at, path in enumerate(self._slices)})
        return names

    def _files(self, plan: str, at: int) -> Files:
        one = self._project
        changed = {path: one.changed(path, plan, 5, 25) for path in one.paths[3 * at : 3 * at + 3]}
        return {**changed, f"{one.folder}/added{at}.py": plan}


class FromWorktrees:
    """The same for slices whose worktrees are there: a merge looks for changes in it that are in no commit."""

    def __init__(self, one: Project, slices: int) -> None:
        self._project = one
        self._slices = [f"s{number}" for number in range(slices)]
        one.git.do("branch", "landed", "main")
        self._workspaces = one.workspaces("whole", target="landed")
        self._attempts = counter(1)
        for path in self._slices:
            self._workspaces.prepare(WorkspaceRequest(path=path))

    def ours(self) -> Cost:
        """Of each."""
        attempt = next(self._attempts)
        for path in self._slices:
            (self._workspaces.place(path) / f"{path}.py").write_text(f"# {attempt}\n")
            self._workspaces.record(StepWork(path=path, step="t", attempt=attempt, subject="more"))
        cost = spent(lambda: merge_and_land(self._workspaces, self._slices))
        return Cost(cost.wall / len(self._slices), cost.cpu / len(self._slices))


def merge_and_land(workspaces: WorktreeWorkspaces, slices: Sequence[str]) -> None:
    """Merged one after the other, landed together."""
    for path in slices:
        assert workspaces.merge(MergeRequest(path=path, subject=f"Merge {path}")).moves
    land(workspaces, slices)


def land(workspaces: WorktreeWorkspaces, slices: Sequence[str]) -> None:
    """As one batch of the landing queue."""
    entries = [LandingEntry(path=path, subject=f"Merge {path}") for path in slices]
    chain = workspaces.target.build(entries, is_to_land=frozenset(slices).__contains__)
    assert len(chain.links) == len(slices)
    assert workspaces.target.advance(chain)


def landing(sizes: Sizes) -> list[Row]:
    branches = sizes(20, 2)
    with project(files_of(sizes)) as one:
        lands, there = Landing(one, branches), FromWorktrees(one, sizes(3, 1))
        git, memory, checkout, worktree = median_costs(
            sizes(5, 1),
            lands.by_git,
            lambda: lands.ours(checked_out=False),
            lambda: lands.ours(checked_out=True),
            there.ours,
        )
    return [*_ready(sizes), *_merged_and_landed(branches, git, memory, checkout, worktree)]


def _ready(sizes: Sizes) -> list[Row]:
    entries = sizes(100, 2)
    with project(files_of(sizes)) as one:
        lands = Landing(one, entries)
        git, ours = median_costs(sizes(3, 1), lands.by_git, lands.ready)
    return [
        Row(name=f"{entries} ready entries landed beside `git merge --no-ff` in a checkout: wall",
            figure=ours.wall / git.wall, bar=at_most(0.1), ours=f"{ours.wall:.2f} s", beside=f"{git.wall:.2f} s"),
        Row(name="the same: CPU", figure=ours.cpu / git.cpu, bar=None,
            ours=f"{ours.cpu:.2f} s", beside=f"{git.cpu:.2f} s"),
    ]  # fmt: skip


def _merged_and_landed(branches: int, git: Cost, memory: Cost, checkout: Cost, worktree: Cost) -> list[Row]:
    name = f"{branches} branches merged and landed"
    return [
        Row(name=f"{name} beside `git merge --no-ff` in a checkout: wall", figure=memory.wall / git.wall,
            bar=at_most(0.2), ours=f"{memory.wall:.2f} s", beside=f"{git.wall:.2f} s"),
        Row(name="the same: CPU", figure=memory.cpu / git.cpu, bar=None,
            ours=f"{memory.cpu:.2f} s", beside=f"{git.cpu:.2f} s"),
        Row(name=f"{name} where the target is checked out: wall", figure=checkout.wall / git.wall, bar=None,
            ours=f"{checkout.wall:.2f} s", beside=f"{git.wall:.2f} s"),
        Row(name="one merged and landed, its worktree being there: wall", bar=None,
            figure=branches * worktree.wall / git.wall, ours=f"{1e3 * worktree.wall:.0f} ms",
            beside=f"{1e3 * git.wall / branches:.0f} ms"),
    ]  # fmt: skip


# Foresight

_COMMON = 16
"""Files that several branches change, so many each:"""
_SHARED = 2
_OWN = 5


class Overlapping:
    """Branches that change files of their own, and two common ones: of sixteen, or all the same."""

    def __init__(self, one: Project, branches: int, *, common: int) -> None:
        self._project = one
        self._shared, self._paths = one.paths[:common], one.paths[_COMMON:]
        self._branches = branches
        self._random = Random(f"{branches} {common}")
        self._rounds = counter()

    def round(self) -> Cost:
        """All have moved, and each asks with whom it is in conflict."""
        how = f"x{next(self._rounds)}"
        names = [f"s{number}" for number in range(self._branches)]
        start = self._project.git.line("rev-parse", "main")
        changes = {f"refs/heads/{how}/{name}": self._files(at, how) for at, name in enumerate(names)}
        tips = self._project.commits(changes)
        foresight = ConflictForecast(self._project.git)

        def work() -> None:
            for name, tip in zip(names, tips, strict=True):
                foresight.moved(name, start, tip)
            self.found = sum(len(foresight.conflicts(name)) for name in names) // 2

        return spent(work)

    def _files(self, at: int, how: str) -> Files:
        """In one common file all change the same line; in the other each changes one of its own."""
        one, own = self._project, self._paths[_OWN * at : _OWN * at + _OWN]
        same, other = sorted(self._random.sample(self._shared, _SHARED))
        return {
            **{path: one.changed(path, how, 5, 25) for path in own},
            same: one.changed(same, f"{how} of {at}", 20),
            other: one.changed(other, f"{how} of {at}", at),
        }


def foresight(sizes: Sizes) -> list[Row]:
    branches = sizes(32, 4)
    pairs = branches * (branches - 1) // 2
    with project(files_of(sizes)) as one:
        usual, worst = (Overlapping(one, branches, common=common) for common in (_COMMON, _SHARED))
        some, every = median_costs(sizes(7, 1), usual.round, worst.round)
    return [
        Row(name=f"conflicts foreseen among {branches} branches that have all moved: CPU", figure=some.cpu,
            bar=at_most(1, "s"), ours=f"{usual.found} of {pairs} pairs; {some.wall:.2f} s of wall"),
        Row(name="the same where all have changed the same files: CPU beside that", bar=None,
            figure=every.cpu / some.cpu, beside=f"{some.cpu:.2f} s",
            ours=f"{every.cpu:.2f} s; {worst.found} of {pairs} pairs; {every.wall:.2f} s of wall"),
    ]  # fmt: skip
