"""Running steps as processes: beside tools that do the same and keep no journal, or less of one."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count as counter
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.compare.going import WEFT, steps_plan, write_plan
from benchmarks.compare.measuring import Sizes
from benchmarks.compare.processes import Cost, cost_of, median_costs
from benchmarks.compare.rivals import NINJA, SLOWER, Rival, installed
from benchmarks.compare.table import Row, at_least, at_most

QUIETLY = (*WEFT, "--quiet")


def ours(folder: Path, steps: int) -> Cost:
    write_plan(folder, steps_plan(steps))
    return cost_of(QUIETLY, folder)


def beside_ninja(sizes: Sizes) -> list[Row]:
    steps = sizes(1_000, 20)
    if not [*installed(NINJA)]:
        return []
    with _folders() as fresh:
        ours(next(fresh), 1)  # from now on all is compiled
        mine, theirs, one = median_costs(
            sizes(7, 1),
            lambda: ours(next(fresh), steps),
            lambda: NINJA.cost(next(fresh), steps),
            lambda: ours(next(fresh), 1),
        )
    name = f"{steps:,} times `true`, ten at a time, beside {NINJA.name}"
    return [
        Row(name=f"{name}: wall", figure=mine.wall / theirs.wall, bar=at_most(2),
            ours=f"{mine.wall:.2f} s", beside=f"{theirs.wall:.2f} s"),
        Row(name=f"{name}: CPU", figure=mine.cpu / theirs.cpu, bar=at_most(2.5),
            ours=f"{mine.cpu:.2f} s", beside=f"{theirs.cpu:.2f} s"),
        Row(name="the same without what a run of one step costs: wall", bar=None,
            figure=(mine.wall - one.wall) / theirs.wall, ours=f"one step: {one.wall:.2f} s"),
        Row(name="the same without what a run of one step costs: CPU", bar=None,
            figure=(mine.cpu - one.cpu) / theirs.cpu, ours=f"one step: {one.cpu:.2f} s"),
    ]  # fmt: skip


def beside_others(sizes: Sizes) -> list[Row]:
    steps = sizes(1_000, 20)
    rivals = [*installed(*SLOWER)]
    with _folders() as fresh:
        mine, *theirs = median_costs(
            sizes(3, 1),
            lambda: ours(next(fresh), steps),
            *(partial(_cost, rival, fresh, steps) for rival in rivals),
        )
    return [_slower(rival, mine, cost, steps) for rival, cost in zip(rivals, theirs, strict=True)]


def _cost(rival: Rival, fresh: Iterator[Path], steps: int) -> Cost:
    return rival.cost(next(fresh), steps)


def _slower(rival: Rival, mine: Cost, theirs: Cost, steps: int) -> Row:
    did = rival.steps(steps)
    return Row(
        name=f"{did:,} times `true`: {rival.name} beside ours" + (", each" if did != steps else ""),
        figure=(theirs.wall / did) / (mine.wall / steps),
        bar=at_least(1) if rival.judged else None,
        ours=f"{1e3 * mine.wall / steps:.2f} ms each, {1e3 * mine.cpu / steps:.2f} of CPU",
        beside=f"{1e3 * theirs.wall / did:.2f} ms each, {1e3 * theirs.cpu / did:.2f} of CPU",
    )


@contextmanager
def _folders() -> Iterator[Iterator[Path]]:
    """Directories that are not there yet, in one that goes in the end."""
    with TemporaryDirectory() as parent:
        yield (Path(parent, str(number)) for number in counter())
