"""Nothing is left behind. Not under the test plugin's own event loop, which has threads of its own."""

import asyncio
import gc
import threading
from pathlib import Path

import anyio
import pytest
import trio

from gauges import Gauge
from weft import ParallelExecutionConfig, ParallelSubplanDispatcher, Subplan, SubplanEvent


def tasks_alive(backend: str) -> int:
    gc.collect()
    return (
        len(asyncio.all_tasks()) if backend == "asyncio" else trio.lowlevel.current_statistics().tasks_living
    )


def held(backend: str) -> tuple[list[str], int, int]:
    """Threads, file descriptors and tasks of this process."""
    return (
        [t.name for t in threading.enumerate()],
        len([*Path("/proc/self/fd").iterdir()]),
        tasks_alive(backend),
    )


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_thousand_queued_leave_no_tasks_threads_or_descriptors_behind(backend: str) -> None:
    async def main() -> None:
        heard: list[SubplanEvent] = []
        gauge = Gauge(hold_until=32)
        subplans = [Subplan(f"s{n}", gauge) for n in range(1000)]
        before = held(backend)
        config = ParallelExecutionConfig(max_parallel=32)
        results = await ParallelSubplanDispatcher(config, on_event=heard.append).run(subplans)
        assert len(results) == gauge.entered == 1000
        assert gauge.peak == 32
        assert len(heard) == 2000
        assert held(backend) == before

    anyio.run(main, backend=backend)
