"""Listeners: they hear everything, in order, as it happens, and cannot hold up or break a run."""

import logging
import sys
import threading

import anyio
import pytest

from weft import (
    ParallelExecutionConfig,
    ParallelSubplanDispatcher,
    Subplan,
    SubplanEvent,
    SubplanExecutionError,
    SubplanGroup,
)
from weft.subplans.listeners import Listener, ListenerWarning, feed

pytestmark = pytest.mark.anyio


async def nothing() -> None: ...


def numbered(count: int) -> list[Subplan]:
    return [Subplan(f"s{n}", nothing) for n in range(count)]


def told(events: list[SubplanEvent]) -> list[tuple[str, str, str]]:
    return [(event.path, event.before, event.after) for event in events]


async def test_every_change_of_state_is_an_event_numbered_and_in_order() -> None:
    heard: list[SubplanEvent] = []
    config = ParallelExecutionConfig(max_parallel=1)
    await ParallelSubplanDispatcher(config, on_event=heard.append).run(numbered(3))
    assert told(heard) == [
        (f"s{n}", *change) for n in range(3) for change in (("pending", "running"), ("running", "completed"))
    ]
    assert [event.seq for event in heard] == [1, 2, 3, 4, 5, 6]
    assert [event.at for event in heard] == sorted(event.at for event in heard)


async def test_an_event_is_heard_while_the_work_it_tells_of_is_under_way() -> None:
    started = anyio.Event()

    async def listen(event: SubplanEvent) -> None:
        if event.after == "running":
            started.set()

    # The work ends only when its own start has been heard of.
    await ParallelSubplanDispatcher(on_event=listen).run([Subplan("a", started.wait)])
    assert started.is_set()


async def test_a_plain_function_hears_in_real_time_and_in_a_thread_of_its_own() -> None:
    started = threading.Event()
    threads: list[int] = []

    def listen(event: SubplanEvent) -> None:
        threads.append(threading.get_ident())
        started.set()

    async def until_heard() -> None:
        while not started.is_set():
            await anyio.lowlevel.checkpoint()

    await ParallelSubplanDispatcher(on_event=listen).run([Subplan("a", until_heard)])
    assert len(set(threads)) == 1
    assert threads[0] != threading.get_ident()


@pytest.mark.parametrize("kind", ["plain", "async", "object"])
async def test_a_listener_that_raises_breaks_nothing_and_is_told_once(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[SubplanEvent] = []

    def plain(event: SubplanEvent) -> None:
        heard.append(event)
        raise RuntimeError("listener")

    async def asynchronous(event: SubplanEvent) -> None:
        plain(event)

    class Callable:
        async def __call__(self, event: SubplanEvent) -> None:
            plain(event)

    listener: Listener = {"plain": plain, "async": asynchronous, "object": Callable()}[kind]  # type: ignore[assignment]
    with caplog.at_level(logging.ERROR, logger="weft"):
        results = await ParallelSubplanDispatcher(on_event=listener).run(numbered(5))
    assert len(results) == 5
    assert len(heard) == 10
    (record,) = caplog.records
    assert "raised; the run continues" in record.message


@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_a_listener_that_exits_has_raised_and_has_not_hung(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[SubplanEvent] = []

    def plain(event: SubplanEvent) -> None:
        heard.append(event)
        sys.exit(3)

    async def asynchronous(event: SubplanEvent) -> None:
        plain(event)

    listener = plain if kind == "plain" else asynchronous
    with caplog.at_level(logging.ERROR, logger="weft"):
        results = await ParallelSubplanDispatcher(on_event=listener).run(numbered(2))
    assert (len(results), len(heard)) == (2, 4)
    (record,) = caplog.records
    assert "raised; the run continues" in record.message


async def test_a_blocked_listener_does_not_hold_up_the_work() -> None:
    released = threading.Event()
    heard: list[SubplanEvent] = []

    def listen(event: SubplanEvent) -> None:
        assert released.wait(60)
        heard.append(event)

    async def release() -> None:
        released.set()

    # Everything before "last" completes while the listener is stuck at its first event.
    work = [*numbered(20), Subplan("last", release, tuple(f"s{n}" for n in range(20)))]
    await ParallelSubplanDispatcher(on_event=listen).run(work)
    assert len(heard) == 42


@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_a_listener_that_hangs_is_left_behind_with_a_warning(kind: str) -> None:
    released = threading.Event()

    def plain(event: SubplanEvent) -> None:
        released.wait(60)

    async def asynchronous(event: SubplanEvent) -> None:
        await anyio.sleep_forever()

    event = SubplanEvent(1, 0.0, "a", "pending", "running")  # type: ignore[arg-type]
    with pytest.warns(ListenerWarning, match="hung; it missed 3 events"):
        async with feed(plain if kind == "plain" else asynchronous, patience=0.01) as put:
            put([event, event, event])
    released.set()


@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_a_slow_listener_that_gets_on_is_waited_for_beyond_the_patience(kind: str) -> None:
    heard: list[int] = []
    pace = threading.Event()

    def plain(event: SubplanEvent) -> None:
        pace.wait(0.2)
        heard.append(event.seq)

    async def asynchronous(event: SubplanEvent) -> None:
        await anyio.sleep(0.2)
        heard.append(event.seq)

    events = [SubplanEvent(n, 0.0, "a", "pending", "running") for n in range(5)]  # type: ignore[arg-type]
    async with feed(plain if kind == "plain" else asynchronous, patience=0.7) as put:
        put(events)
    assert heard == list(range(5))


@pytest.mark.parametrize("kind", ["plain", "async"])
async def test_the_end_of_a_cancelled_run_is_heard_too(kind: str) -> None:
    heard: list[SubplanEvent] = []
    pace = threading.Event()

    def plain(event: SubplanEvent) -> None:
        pace.wait(0.05)  # far behind when the run ends
        heard.append(event)

    async def asynchronous(event: SubplanEvent) -> None:
        await anyio.lowlevel.checkpoint()
        heard.append(event)

    with anyio.CancelScope() as scope:

        async def cancel() -> None:
            scope.cancel()
            await anyio.sleep_forever()

        on_event = plain if kind == "plain" else asynchronous
        await ParallelSubplanDispatcher(on_event=on_event).run([Subplan("a", cancel)])
    assert told(heard) == [("a", "pending", "running"), ("a", "running", "failed")]
    assert heard[1].reason == "cancelled"


async def test_a_doomed_group_is_told_after_what_is_in_it() -> None:
    heard: list[SubplanEvent] = []

    async def boom() -> None:
        raise ValueError("boom")

    inner = SubplanGroup("h", (Subplan("x", nothing),))
    with pytest.raises(SubplanExecutionError):
        await ParallelSubplanDispatcher(on_event=heard.append).run(
            [Subplan("bad", boom), SubplanGroup("g", (inner, Subplan("y", nothing)), ("bad",))]
        )
    assert [event.path for event in heard[2:]] == ["g/h/x", "g/y", "g/h", "g"]


async def test_events_say_why_and_because_of_whom_and_go_to_json() -> None:
    heard: list[SubplanEvent] = []

    async def boom() -> None:
        raise ValueError("boom")

    with pytest.raises(SubplanExecutionError):
        await ParallelSubplanDispatcher(ParallelExecutionConfig(max_parallel=1), on_event=heard.append).run(
            [Subplan("bad", boom), Subplan("w", nothing)]
        )
    shown = [{k: v for k, v in event.to_json().items() if k != "at"} for event in heard]
    assert shown[1] == {
        "event": "subplan_state", "seq": 2, "subplan": "bad", "from": "running", "to": "failed",
        "reason": "error", "cause": None, "error": "ValueError: boom",
    }  # fmt: skip
    assert shown[2] == {
        "event": "subplan_state", "seq": 3, "subplan": "w", "from": "pending", "to": "failed",
        "reason": "cancelled", "cause": "bad", "error": None,
    }  # fmt: skip
