"""Delivers events to a listener: each one, in order, without ever delaying the run.

A plain function is called in a thread of its own, so that it may block; an async function is awaited in a task of
the run. The first exception of a listener is logged, and the listener keeps receiving events. After the work, the
run waits until the listener has received the rest. If the listener makes no progress for `patience` seconds, it
loses the remaining events, and a warning gives their number.
"""

import inspect
import logging
import warnings
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from queue import SimpleQueue
from threading import Thread
from typing import Any

import anyio
from anyio import from_thread
from anyio.lowlevel import current_token

from weft.subplans.results import SubplanEvent
from weft.threads import start_thread

Listener = Callable[[SubplanEvent], Any]
Put = Callable[[list[SubplanEvent]], None]

PATIENCE = 5.0

_log = logging.getLogger("weft")


class ListenerWarning(RuntimeWarning):
    """A listener did not receive all events."""


@asynccontextmanager
async def feed(listener: Listener | None, *, patience: float = PATIENCE) -> AsyncGenerator[Put]:
    """Yields a function that takes events; leaving the context waits until the listener has received them."""
    if listener is None:
        yield lambda _: None
        return
    # An object with an async __call__ is as good as an async function.
    is_async = any(inspect.iscoroutinefunction(f) for f in (listener, type(listener).__call__))
    delivery = (_TaskDelivery if is_async else _ThreadDelivery)(listener)
    async with delivery.under_way():
        try:
            yield delivery.put
        finally:
            with anyio.CancelScope(shield=True):
                await delivery.end(patience)
            if delivery.undelivered:
                warnings.warn(
                    f"the listener {listener!r} hung; it missed {delivery.undelivered} events",
                    ListenerWarning,
                    stacklevel=3,
                )


class _Delivery:
    """The common part of both kinds of listeners: the number of waiting events, and the report of an exception."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._accepted = 0
        self._delivered: int = 0
        self._complained = False

    @property
    def undelivered(self) -> int:
        return self._accepted - self._delivered

    def _complain(self) -> None:
        if not self._complained:  # only the first exception is reported
            self._complained = True
            _log.exception("the listener %r raised; the run continues", self._listener)


class _ThreadDelivery(_Delivery):
    def __init__(self, listener: Listener) -> None:
        super().__init__(listener)
        self._queue: SimpleQueue[list[SubplanEvent] | None] = SimpleQueue()
        self._thread = Thread(target=self._listen, name="weft-listener", daemon=True)
        self._token = current_token()

    @asynccontextmanager
    async def under_way(self) -> AsyncGenerator[None]:
        start_thread(self._thread)
        yield

    def put(self, events: list[SubplanEvent]) -> None:
        self._accepted += len(events)
        self._queue.put(events)

    def _listen(self) -> None:
        listener = self._listener
        while (events := self._queue.get()) is not None:
            for event in events:
                try:
                    listener(event)
                except BaseException:  # noqa: BLE001 - also `sys.exit`, which would end only this thread
                    self._complain()
                self._delivered += 1

    async def end(self, patience: float) -> None:
        self._queue.put(None)
        finished = anyio.Event()
        # A thread of its own, because the event loop may run on virtual time, in which a listener that blocks
        # would time out at once.
        watch = Thread(target=self._watch, args=(patience, finished), name="weft-listener-end", daemon=True)
        start_thread(watch)
        await finished.wait()
        watch.join()  # it returns right after setting the event

    def _watch(self, patience: float, finished: anyio.Event) -> None:
        """Waits, by the wall clock, while the listener makes progress; then sets `finished`."""
        is_progressing = True
        while is_progressing:
            before = self._delivered
            self._thread.join(patience)
            is_progressing = self._thread.is_alive() and self._delivered > before
        from_thread.run_sync(finished.set, token=self._token)


class _TaskDelivery(_Delivery):
    def __init__(self, listener: Listener) -> None:
        super().__init__(listener)
        self._events: deque[SubplanEvent] = deque()
        self._news = anyio.Event()
        self._ending = False

    @asynccontextmanager
    async def under_way(self) -> AsyncGenerator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._listen)
            yield

    def put(self, events: list[SubplanEvent]) -> None:
        self._accepted += len(events)
        self._events.extend(events)
        self._news.set()

    async def _listen(self) -> None:
        # Shielded, so that the listener also receives the last events of a cancelled run; `end` ends it.
        with anyio.CancelScope(shield=True) as self._scope:
            while True:
                while self._events:
                    await self._deliver(self._events.popleft())
                if self._ending:
                    self._ended.set()
                    return
                self._news = anyio.Event()
                await self._news.wait()

    async def _deliver(self, event: SubplanEvent) -> None:
        try:
            await self._listener(event)
        except (Exception, SystemExit):  # noqa: BLE001 - a cancellation and Ctrl-C are not the listener's
            self._complain()
        self._delivered += 1

    async def end(self, patience: float) -> None:
        self._ended = anyio.Event()
        self._ending = True
        self._news.set()
        is_progressing = True
        while is_progressing:
            before = self._delivered
            with anyio.move_on_after(patience) as limit:
                await self._ended.wait()
            is_progressing = limit.cancelled_caught and self._delivered > before
        self._scope.cancel()
