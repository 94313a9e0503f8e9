"""Long runs: what waiting costs, whether memory grows, and how soon a run goes on whose coordinator died."""

import os
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.compare.going import going, steps_plan, write_plan
from benchmarks.compare.measuring import Sizes, cpu, micro
from benchmarks.compare.processes import cpu_of, megabytes_of
from benchmarks.compare.table import Row, at_most
from weft.app.project.files import InputSource
from weft.app.project.plans import load
from weft.app.run.setup import recover_engine
from weft.garbage import without_gc
from weft.plan.compile.compile import compile_plan
from weft.store.sqlite import open_reader

# Waiting


def waiting(sizes: Sizes) -> list[Row]:
    """32 steps that say nothing: how busy we are."""
    steps = sizes(32, 4)
    rows: list[Row] = []
    for name, on_a_terminal in (("with the live view", True), ("without", False)):
        coordinator, supervisor = _busy(steps, sizes(10_000, 200) / 1e3, on_a_terminal=on_a_terminal)
        rows += [
            Row(name=f"a core of the coordinator, {steps} quiet steps, {name}", figure=100 * coordinator,
                bar=at_most(5, "%"), ours=f"{1e3 * coordinator:.1f} ms a second"),
            Row(name=f"a core of the supervisor, {steps} quiet steps, {name}", figure=100 * supervisor,
                bar=at_most(5, "%"), ours=f"{1e3 * supervisor:.1f} ms a second"),
        ]  # fmt: skip
    return rows


def _busy(steps: int, seconds: float, *, on_a_terminal: bool) -> tuple[float, float]:
    with TemporaryDirectory() as parent:
        folder = Path(parent, "plan")
        write_plan(folder, steps_plan(steps, command="sleep 600", at_once=steps))
        with going(folder, on_a_terminal=on_a_terminal) as run:
            run.until("step_started", steps)
            time.sleep(seconds / 5)  # what it takes to start them is not what is measured
            pids = run.pid, run.supervisor()
            before, began = [cpu_of(pid) for pid in pids], time.monotonic()
            time.sleep(seconds)
            after, took = [cpu_of(pid) for pid in pids], time.monotonic() - began
        run.wait()
    coordinator, supervisor = [(late - early) / took for late, early in zip(after, before, strict=True)]
    return coordinator, supervisor


# Memory


def memory(sizes: Sizes) -> list[Row]:
    steps = sizes(100, 5)
    first, last = 20 * steps, 100 * steps
    early, late = _memory_at(100, steps, first, last)
    few, many = sizes(1_000, 10), sizes(10_000, 100)
    (small,), (large,) = _memory_at(few, 1, few), _memory_at(many, 1, many)
    return [
        Row(name=f"memory after {last:,} steps of 100 slices beside that after {first:,}", figure=late / early,
            bar=at_most(1.1), ours=f"{late:.1f} MB", beside=f"{early:.1f} MB"),
        Row(name=f"memory of a run of {many:,} slices beside one of {few:,}", figure=large / small, bar=None,
            ours=f"{large:.1f} MB, {1e3 * (large - small) / (many - few):.1f} kB a slice",
            beside=f"{small:.1f} MB"),
    ]  # fmt: skip


def _memory_at(slices: int, steps: int, *counts: int) -> list[float]:
    """In megabytes, when so many steps are done."""
    with TemporaryDirectory() as parent:
        folder = Path(parent, "plan")
        write_plan(folder, steps_plan(slices, steps=steps))
        found: list[float] = []
        with going(folder, "--quiet") as run:
            for count in counts:
                run.until("step_finished", count)
                found.append(megabytes_of(run.pid))
        run.wait()
    return found


# Recovery

_SLEEPERS = "".join(f"  - {{id: z{number}, steps: [{{id: t, run: sleep 600}}]}}\n" for number in range(2))


def recovery(sizes: Sizes) -> list[Row]:
    deep = _recovery(sizes(2_000, 5), 10, rounds=sizes(3, 1))
    flat = _recovery(sizes(20_000, 50), 1, rounds=sizes(3, 1))
    return [
        Row(name=f"the facts of {deep.steps:,} steps, {deep.slices:,} slices, played again", figure=deep.replay,
            bar=at_most(1.5, "s"), ours=f"{micro(deep.replay / deep.steps)} a step"),
        Row(name="`weft run` until its first new event, whole process", figure=deep.whole, bar=at_most(1.5, "s"),
            ours="CPU of the coordinator"),
        Row(name=f"the same, {flat.slices:,} slices of one step", figure=flat.whole, bar=at_most(1.5, "s"),
            ours="CPU of the coordinator"),
        Row(name=f"a step played again of {flat.slices:,} slices beside one of {deep.slices:,}", bar=None,
            figure=(flat.replay / flat.steps) / (deep.replay / deep.steps), ours=f"{flat.replay:.2f} s",
            beside=f"{deep.replay:.2f} s"),
    ]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recovery:
    slices: int
    steps: int
    replay: float
    """Seconds of CPU, as below."""
    whole: float


def _recovery(slices: int, steps: int, *, rounds: int) -> _Recovery:
    """Of a run whose coordinator was killed when all was done but two steps that sleep."""
    with TemporaryDirectory() as parent:
        folder = Path(parent, "plan")
        write_plan(folder, steps_plan(slices, steps=steps) + _SLEEPERS)
        with going(folder, "--quiet") as run:
            run.until("step_finished", slices * steps)
            run.kill()
        try:
            replays = [_replayed(folder) for _ in range(rounds)]
            wholes = [_gone_on(folder) for _ in range(rounds)]
        finally:
            _stop(folder)
    return _Recovery(slices=slices, steps=slices * steps, replay=median(replays), whole=median(wholes))


def _stop(folder: Path) -> None:
    """The run, which goes on for that once more; nothing of it is left."""
    with going(folder, "--quiet") as run:
        run.until("recovered", 1)
    run.wait()


def _replayed(folder: Path) -> float:
    with without_gc():
        compiled = compile_plan(load(InputSource(name="weft.yaml", directory=folder), environ=os.environ))
    with closing(open_reader(folder / ".weft" / "weft.db")) as reader:
        (record,) = reader.runs()

        def replay() -> None:
            with without_gc():
                assert recover_engine(compiled, reader, record.run).state == "running"

        return cpu(replay)


def _gone_on(folder: Path) -> float:
    """What the coordinator has spent when it is in the journal that the run goes on; it is killed then."""
    with going(folder, "--quiet") as run:
        run.until("recovered", 1)
        spent = cpu_of(run.pid)
        run.kill()
    return spent
