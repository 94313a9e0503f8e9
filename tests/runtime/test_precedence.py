"""Calls in threads take turns: the most urgent first, and none waits for too long."""

import math
import threading

import pytest
from anyio import CancelScope, create_task_group, move_on_after, wait_all_tasks_blocked
from anyio.abc import TaskGroup

from weft.runtime.precedence import Precedence, Urgency

pytestmark = pytest.mark.anyio


class Calls:
    """Calls that note their names as they start."""

    def __init__(self, places: int = 1, *, patience: float = math.inf) -> None:
        self.precedence = Precedence(places, patience=patience)
        self.started: list[str] = []
        self.go = threading.Event()

    async def run(self, name: str, urgency: Urgency = Urgency.LATER) -> None:
        await self.precedence.run_sync(urgency, self.started.append, name)

    async def hold(self, name: str = "holds") -> None:
        """One that ends when `go` is set."""
        await self.precedence.run_sync(Urgency.LATER, self._hold, name)

    def _hold(self, name: str) -> None:
        self.started.append(name)
        assert self.go.wait(60)

    async def queue(self, tasks: TaskGroup, **names: Urgency) -> None:
        """Lets these wait behind a call that holds the only place, in this order."""
        tasks.start_soon(self.hold)
        await wait_all_tasks_blocked()
        for name, urgency in names.items():
            tasks.start_soon(self.run, name, urgency)
            await wait_all_tasks_blocked()


async def check_turns(calls: Calls) -> None:
    async with create_task_group() as tasks:
        await calls.queue(
            tasks,
            merge=Urgency.LATER,
            end=Urgency.END,
            forecast=Urgency.LATER,
            slice=Urgency.SLICE,
            step=Urgency.STEP,
        )
        calls.go.set()
    assert calls.started == ["holds", "step", "slice", "end", "merge", "forecast"]


async def test_the_most_urgent_call_that_waits_comes_next_and_equals_come_in_their_order() -> None:
    await check_turns(Calls())


async def test_as_many_calls_run_at_once_as_there_are_places() -> None:
    calls = Calls(places=2)
    both = threading.Barrier(2)  # breaks unless both are there
    async with create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(calls.precedence.run_sync, Urgency.LATER, both.wait, 60.0)


async def test_a_call_whose_patience_is_over_starts_without_a_place() -> None:
    calls = Calls(patience=0)
    async with create_task_group() as tasks:
        tasks.start_soon(calls.hold)
        await wait_all_tasks_blocked()
        await calls.run("impatient")
        calls.go.set()
    assert sorted(calls.started) == ["holds", "impatient"]


async def test_after_calls_without_a_place_the_next_ones_take_turns() -> None:
    calls = Calls(patience=0)
    async with create_task_group() as tasks:
        await calls.queue(tasks, first=Urgency.LATER, second=Urgency.STEP)
        calls.go.set()
    calls.started.clear()
    calls.go.clear()
    calls.precedence._patience = math.inf
    await check_turns(calls)


async def test_a_call_that_fails_leaves_its_place_to_the_next() -> None:
    calls = Calls()
    with pytest.raises(ZeroDivisionError):
        await calls.precedence.run_sync(Urgency.LATER, divmod, 1, 0)
    await check_turns(calls)


async def test_a_call_that_is_cancelled_while_it_waits_never_starts() -> None:
    calls = Calls()
    async with create_task_group() as tasks:
        await calls.queue(tasks, later=Urgency.LATER)
        with move_on_after(0):
            await calls.run("cancelled", Urgency.STEP)
        calls.go.set()
    assert calls.started == ["holds", "later"]


async def test_a_call_that_is_cancelled_when_its_turn_has_come_gives_the_place_back() -> None:
    calls = Calls()
    with CancelScope() as scope:
        calls.precedence._free = 0

        async def admit_and_cancel() -> None:
            calls.precedence._release()
            scope.cancel()

        async with create_task_group() as tasks:
            tasks.start_soon(admit_and_cancel)
            await calls.run("cancelled")
    assert calls.started == []
    await check_turns(calls)
