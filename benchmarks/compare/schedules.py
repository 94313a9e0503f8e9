"""How well real processes fill the time: random plans of steps that sleep, beside the least time they can take.

The least time is the longest path, or all work shared by the slots. There a step counts for as long as it sleeps,
and for what it costs this machine to start a shell that sleeps and to notice its end: the median of some tries
with Python's `subprocess`, just before. All else is ours: the journal, the supervisor, the choice of what is next.
A makespan is from the start of the first process to the end of the last, as the journal has them.
"""

import subprocess
import time
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory

from benchmarks import shapes
from benchmarks.compare.going import WEFT, events_of, write_plan
from benchmarks.compare.measuring import Sizes
from benchmarks.compare.processes import cost_of
from benchmarks.compare.table import Row, at_most
from weft.engine.messages.facts import Ended
from weft.subplans.model import ParallelExecutionConfig, Subplan
from weft.subplans.simulate import Simulation, simulate

SLOTS = 4
TASKS = 16
TRIES = 20


def makespans(sizes: Sizes) -> list[Row]:
    dags = [_in_seconds(dag, sizes(20, 1) / 1e3) for dag in shapes.random_dags(TASKS, sizes(50, 2))]
    spawn = _spawn_cost(sizes(TRIES, 3))
    real = [_makespan(dag) for dag in dags]
    ideal = [_simulated(dag, spawn) for dag in dags]
    beside_bound = [took / least.lower_bound for took, least in zip(real, ideal, strict=True)]
    beside_simulation = [took / least.makespan for took, least in zip(real, ideal, strict=True)]
    return [
        Row(
            name=f"makespan of {TASKS} sleeping steps, {SLOTS} at once, beside the lower bound",
            figure=mean(beside_bound),
            bar=at_most(1.05),
            ours=f"worst of {len(real)}: {max(beside_bound):.3f}, median {median(beside_bound):.3f}",
            beside=f"{1e3 * spawn:.1f} ms to spawn",
        ),
        Row(
            name="the same, beside the same order of work at no cost",
            figure=mean(beside_simulation),
            bar=None,
            ours=f"worst of {len(real)}: {max(beside_simulation):.3f}",
        ),
    ]


def _in_seconds(dag: list[Subplan], unit: float) -> list[Subplan]:
    """Tasks of 6 to 25 units; below that, it would be the machine's noise that is measured."""
    return [Subplan(one.id, one.work, one.depends_on, (5 + one.estimate) * unit) for one in dag]


def plan_of(dag: list[Subplan]) -> str:
    head = f"weft: 1\nplan: sleeping\nisolation: none\nmax_parallel: {SLOTS}\nsubplans:\n"
    return head + "".join(
        f"  - {{id: {one.id}, depends_on: [{', '.join(one.depends_on)}], "
        f"estimate: {{minutes: {one.estimate / 60:.8f}}}, "
        f"steps: [{{id: t, run: sleep {one.estimate:.4f}}}]}}\n"
        for one in dag
    )


def _makespan(dag: list[Subplan]) -> float:
    with TemporaryDirectory() as parent:
        folder = Path(parent, "plan")
        write_plan(folder, plan_of(dag))
        cost_of((*WEFT, "--quiet"), folder)
        ends = [one.event.fact for one in events_of(folder) if isinstance(one.event.fact, Ended)]
    steps = [end for end in ends if end.seconds]
    assert len(steps) == len(dag)
    return max(end.at for end in steps) - min(end.at - end.seconds for end in steps)


def _simulated(dag: list[Subplan], spawn: float) -> Simulation:
    slower = [Subplan(one.id, one.work, one.depends_on, one.estimate + spawn) for one in dag]
    return simulate(slower, ParallelExecutionConfig(max_parallel=SLOTS))


def _spawn_cost(tries: int) -> float:
    def once() -> float:
        before = time.perf_counter()
        subprocess.run(["/bin/sh", "-c", "sleep 0.05"], check=True)
        return time.perf_counter() - before - 0.05

    return median(once() for _ in range(tries))
