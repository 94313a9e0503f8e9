"""Real runs of subplans that do nothing: what is left is the dispatcher's own cost."""

import asyncio
import tracemalloc
from time import process_time

from benchmarks import shapes
from weft.subplans.dispatch import Dispatch
from weft.subplans.dispatcher import ParallelSubplanDispatcher
from weft.subplans.model import AnySubplan, ParallelExecutionConfig
from weft.subplans.results import SubplanEvent, SubplanResult
from weft.subplans.simulate import Simulation, simulate
from weft.subplans.tree import read_tree

TEN_AT_ONCE = ParallelExecutionConfig(max_parallel=10)


def run(subplans: list[AnySubplan], *, listening: bool = False) -> dict[str, SubplanResult]:
    heard: list[SubplanEvent] = []
    dispatcher = ParallelSubplanDispatcher(TEN_AT_ONCE, on_event=heard.append if listening else None)
    return dict(asyncio.run(dispatcher.run(subplans)))


def bytes_per_pending(count: int) -> float:
    """All that a subplan costs before it starts: itself, its row, its net, its place in the agenda."""
    tracemalloc.start()
    dispatch = Dispatch(read_tree(shapes.leaves(count), TEN_AT_ONCE))
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert not dispatch.in_flight
    return held / count


async def a_turn_of_the_loop() -> None:
    await asyncio.sleep(0)


class FifteenSubplans:
    """The plan of the demonstration: fifteen subplans, ten at a time."""

    def time_no_work(self) -> dict[str, SubplanResult]:
        return run([*shapes.leaves(15)])

    def time_one_turn_of_the_loop_each(self) -> dict[str, SubplanResult]:
        return run([*shapes.leaves(15, a_turn_of_the_loop)])

    def time_simulated(self) -> Simulation:
        return simulate(shapes.leaves(15), TEN_AT_ONCE)


class Scaling:
    params = (10, 100, 1_000, 10_000)
    param_names = ("subplans",)
    timeout = 300

    def time_no_work(self, subplans: int) -> dict[str, SubplanResult]:
        return run([*shapes.leaves(subplans)])

    def time_no_work_with_a_listener(self, subplans: int) -> dict[str, SubplanResult]:
        return run([*shapes.leaves(subplans)], listening=True)

    def time_one_turn_of_the_loop_each(self, subplans: int) -> dict[str, SubplanResult]:
        return run([*shapes.leaves(subplans, a_turn_of_the_loop)])

    def track_microseconds_per_subplan(self, subplans: int) -> float:
        def measured() -> float:
            plan = [*shapes.leaves(subplans)]
            before = process_time()
            run([*plan], listening=True)
            return process_time() - before

        return 1e6 * shapes.best_of(3, measured) / subplans

    track_microseconds_per_subplan.unit = "us"  # type: ignore[attr-defined]

    def track_bytes_per_pending_subplan(self, subplans: int) -> float:
        return bytes_per_pending(subplans)

    track_bytes_per_pending_subplan.unit = "bytes"  # type: ignore[attr-defined]


class Groups:
    """Ten subplans in each group, two at a time in a group, ten in all."""

    params = (10, 1_000)
    param_names = ("groups",)
    timeout = 300

    def time_no_work(self, groups: int) -> dict[str, SubplanResult]:
        return run([*shapes.groups_of_leaves(groups, 10)])
