"""Worktrees that are ready to be worked in, beside what git makes by itself, in a repository of 20,000 files.

It lies in memory, where there is such a place: on a disk, to make and remove hundreds of thousands of files takes
so long, and varies so much, that little else could be told. TMPDIR names another place.
"""

import gc
import subprocess
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import count as counter
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from threading import Lock
from typing import NamedTuple

from benchmarks.compare.measuring import Sizes
from benchmarks.compare.processes import Cost, median_costs
from benchmarks.compare.table import Row, at_most
from benchmarks.repositories import Project, project
from weft.ports.workspaces import WorkspaceRequest


class Disk(NamedTuple):
    """Megabytes."""

    files: float
    git_dir: float

    def __str__(self) -> str:
        return f"{self.files:.2f} MB, its git directory {self.git_dir:.2f} MB"


def files_of(sizes: Sizes) -> int:
    return sizes(20_000, 40)


def spent(work: Callable[[], object]) -> Cost:
    """By us, and by all processes that were started and waited for."""
    gc.collect()
    wall, cpu = time.perf_counter(), _cpu()
    work()
    return Cost(time.perf_counter() - wall, _cpu() - cpu)


def _cpu() -> float:
    both = (getrusage(RUSAGE_SELF), getrusage(RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)


class Making:
    """Worktrees, of which each is removed once its cost is known."""

    def __init__(self, one: Project, *, plan: str = "making", with_clones: bool = False) -> None:
        self._project = one
        self._names = (f"s{number}" for number in counter())
        clones = [f"s{number}" for number in range(100)] if with_clones else ()
        self._workspaces = one.workspaces(plan, clones=clones)

    def ours(self, *sparse: str) -> Cost:
        name = next(self._names)
        cost = spent(lambda: self._make(name, *sparse))
        self._remove(self._workspaces.place(name))
        return cost

    def plain(self) -> Cost:
        place = self._place()
        cost = spent(lambda: self._add(place))
        self._remove(place)
        return cost

    def several(self, count: int, *, at_once: bool) -> Cost:
        names = [next(self._names) for _ in range(count)]
        with ThreadPoolExecutor(max_workers=count if at_once else 1) as pool:
            cost = spent(lambda: [*pool.map(self._make, names)])
        self._remove(*map(self._workspaces.place, names))
        return cost

    def several_plain(self, count: int) -> Cost:
        """Under one lock, as git alone fails at times where several are made at once."""
        places = [self._place() for _ in range(count)]
        lock = Lock()

        def add(place: Path) -> None:
            with lock:
                self._add(place)

        with ThreadPoolExecutor(max_workers=count) as pool:
            cost = spent(lambda: [*pool.map(add, places)])
        self._remove(*places)
        return cost

    def disk(self, *sparse: str) -> Disk:
        name = next(self._names)
        self._make(name, *sparse)
        return self._looked_at(self._workspaces.place(name))

    def plain_disk(self) -> Disk:
        place = self._place()
        self._add(place)
        return self._looked_at(place)

    def _looked_at(self, place: Path) -> Disk:
        git_dir = Path((place / ".git").read_text("utf-8").removeprefix("gitdir: ").rstrip("\n"))
        found = Disk(megabytes((place, *place.rglob("*"))), megabytes((git_dir, *git_dir.rglob("*"))))
        self._remove(place)
        return found

    def _make(self, name: str, *sparse: str) -> None:
        self._workspaces.prepare(WorkspaceRequest(path=name, sparse=sparse))
        self._workspaces.prove(name)

    def _place(self) -> Path:
        return self._project.top.with_name(next(self._names))

    def _add(self, place: Path) -> None:
        self._project.plain_git("worktree", "add", "-b", place.name, str(place), "main")

    def _remove(self, *places: Path) -> None:
        # A program, and all at once: with hundreds of thousands of files, `shutil.rmtree` takes longer than what
        # is measured.
        subprocess.run(("rm", "-rf", "--", *map(str, places)), check=True)
        self._project.plain_git("worktree", "prune")


def megabytes(places: Iterable[Path]) -> float:
    return sum(512 * place.lstat().st_blocks for place in places) / 1e6


def ready(sizes: Sizes) -> list[Row]:
    with project(files_of(sizes)) as one:
        made = Making(one)
        mine, plain, few = median_costs(sizes(9, 1), made.ours, made.plain, lambda: made.ours(one.folder))
    return [
        Row(name=f"a worktree of {len(one.paths):,} files, proven, beside `git worktree add`: wall",
            figure=mine.wall / plain.wall, bar=at_most(1.2),
            ours=f"{mine.wall:.2f} s", beside=f"{plain.wall:.2f} s"),
        Row(name="the same: CPU", figure=mine.cpu / plain.cpu, bar=None,
            ours=f"{mine.cpu:.2f} s", beside=f"{plain.cpu:.2f} s"),
        Row(name="one with `sparse`, of one directory, beside the whole: wall", figure=few.wall / mine.wall,
            bar=at_most(1), ours=f"{few.wall:.2f} s, {few.cpu:.2f} s of CPU", beside=f"{mine.wall:.2f} s"),
    ]  # fmt: skip


def at_once(sizes: Sizes) -> list[Row]:
    count = sizes(15, 2)
    with project(files_of(sizes)) as one:
        made = Making(one)
        row, together = median_costs(
            sizes(2, 1),
            lambda: made.several(count, at_once=False),
            lambda: made.several(count, at_once=True),
        )
    return [
        Row(name=f"{count} worktrees of {len(one.paths):,} files at once beside one by one: wall", bar=None,
            figure=together.wall / row.wall, ours=f"{together.wall:.2f} s", beside=f"{row.wall:.2f} s"),
    ]  # fmt: skip


def many_at_once(sizes: Sizes) -> list[Row]:
    """Beside git alone under one lock: each round makes 64 worktrees, and at most 32 of them are there at once."""
    count = sizes(32, 3)
    with project(files_of(sizes)) as one:
        made = Making(one)
        mine, plain = median_costs(
            sizes(3, 1), lambda: made.several(count, at_once=True), lambda: made.several_plain(count)
        )
    return [
        Row(name=f"{count} worktrees of {len(one.paths):,} files beside `git worktree add` under a lock: wall",
            figure=mine.wall / plain.wall, bar=at_most(1.1),
            ours=f"{mine.wall:.2f} s", beside=f"{plain.wall:.2f} s"),
        Row(name="the same: CPU", figure=mine.cpu / plain.cpu, bar=None,
            ours=f"{mine.cpu:.2f} s", beside=f"{plain.cpu:.2f} s"),
    ]  # fmt: skip


def disk(sizes: Sizes) -> list[Row]:
    with project(files_of(sizes)) as one:
        made = Making(one)
        mine, plain, few = made.disk(), made.plain_disk(), made.disk(one.folder)
    return [
        Row(name=f"disk of a worktree of {len(one.paths):,} files beside `git worktree add`", bar=None,
            figure=sum(mine) / sum(plain), ours=str(mine), beside=str(plain)),
        Row(name="disk of one with `sparse`, of one directory, beside the whole", bar=None,
            figure=sum(few) / sum(mine), ours=str(few), beside=str(mine)),
    ]  # fmt: skip
