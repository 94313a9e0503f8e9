"""Plans: the proof that one is sound, the order of its work, and what it costs to run it."""

import asyncio
import tracemalloc
from collections.abc import Awaitable, Callable, Coroutine
from statistics import mean

from benchmarks import shapes
from benchmarks.compare.measuring import Measured, Sizes, cpu, in_turn, micro
from benchmarks.compare.table import Row, at_most
from weft.net.soundness import Soundness, soundness
from weft.net.verdict import Answer
from weft.subplans.dispatch import Dispatch
from weft.subplans.dispatcher import ParallelSubplanDispatcher
from weft.subplans.model import ParallelExecutionConfig
from weft.subplans.results import SubplanEvent
from weft.subplans.simulate import simulate
from weft.subplans.tree import read_tree

AT_ONCE = 10
CONFIG = ParallelExecutionConfig(max_parallel=AT_ONCE)


def proof(sizes: Sizes) -> list[Row]:
    net = shapes.large_skeleton(sizes(1_000, 50))
    found: list[Soundness] = []
    (spent,) = in_turn(3, lambda: cpu(lambda: found.append(soundness(net))))
    assert all(each.verdict.answer is Answer.PROVED for each in found)
    transitions = len(net.transition_ids)
    return [
        Row(
            name=f"soundness of {transitions:,} transitions",
            figure=spent,
            bar=at_most(3, "s"),
            ours=f"{micro(spent / transitions)} a transition",
        )
    ]


def makespans(sizes: Sizes) -> list[Row]:
    counts = (30, 100, 300) if sizes.quick else (30, 100, 300, 1_000)
    return [_makespan(tasks, sizes(50, 5)) for tasks in counts]


def _makespan(tasks: int, rounds: int) -> Row:
    configs = [ParallelExecutionConfig(max_parallel=slots) for slots in (2, 4, 8)]
    ratios: list[float] = []
    for dag in shapes.random_dags(tasks, rounds):
        runs = [simulate(dag, config) for config in configs]
        ratios += [run.makespan / run.lower_bound for run in runs]
    return Row(
        name=f"makespan of {tasks:,} tasks beside the lower bound",
        figure=mean(ratios),
        bar=at_most(1.02),
        ours=f"worst of {len(ratios)}: {max(ratios):.3f}",
        beside="2, 4 and 8 at once",
    )


# The dispatcher beside bare asyncio


async def turn() -> None:
    await asyncio.sleep(0)


WORKS = {"no work": shapes.no_work, "sleep(0)": turn}


async def _bare(count: int, work: Callable[[], Awaitable[None]]) -> None:
    room = asyncio.Semaphore(AT_ONCE)

    async def one() -> None:
        async with room:
            await work()

    async with asyncio.TaskGroup() as tasks:
        for _ in range(count):
            tasks.create_task(one())


async def _dispatched(count: int, work: Callable[[], Awaitable[None]], *, in_loop: bool) -> None:
    heard: list[SubplanEvent] = []

    async def hear(event: SubplanEvent) -> None:
        heard.append(event)

    dispatcher = ParallelSubplanDispatcher(CONFIG, on_event=hear if in_loop else heard.append)
    results = await dispatcher.run(shapes.leaves(count, work))
    assert len(results) == count
    assert len(heard) == 2 * count


def dispatcher_beside_asyncio(sizes: Sizes) -> list[Row]:
    count = sizes(10_000, 1_000)
    return [row for name, work in WORKS.items() for row in _dispatcher_rows(name, work, count)]


def _dispatcher_rows(name: str, work: Callable[[], Awaitable[None]], count: int) -> list[Row]:
    def measured(run: Callable[[], Coroutine[None, None, None]]) -> Measured:
        return lambda: cpu(lambda: asyncio.run(run())) / count

    threaded, in_loop, bare = in_turn(
        5,
        measured(lambda: _dispatched(count, work, in_loop=False)),
        measured(lambda: _dispatched(count, work, in_loop=True)),
        measured(lambda: _bare(count, work)),
    )
    return [
        Row(
            name=f"{count:,} subplans, {name}, {listener} listener, beside bare asyncio",
            figure=cost / bare,
            bar=at_most(5),
            ours=micro(cost),
            beside=micro(bare),
        )
        for listener, cost in (("plain", threaded), ("async", in_loop))
    ]


def memory_of_pending(sizes: Sizes) -> list[Row]:
    count = sizes(10_000, 1_000)
    tracemalloc.start()
    dispatch = Dispatch(read_tree(shapes.leaves(count), CONFIG))
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert not dispatch.in_flight
    return [
        Row(
            name=f"memory of each of {count:,} pending subplans",
            figure=held / count / 1024,
            bar=at_most(2, "KiB"),
            ours=f"{held / count:,.0f} bytes",
            beside=f"{peak / count:,.0f} at the peak",
        )
    ]
