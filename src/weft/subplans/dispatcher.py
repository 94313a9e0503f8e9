"""Runs subplans: the driver between `Dispatch` and async work.

A worker task runs one leaf after the other: when a leaf ends, its worker takes the first leaf that may start now,
and a new worker starts for each further one. So there are never more tasks than leaves in flight, and most leaves
cost no task at all. Each worker has a cancel scope; once it was used, a new worker with a new scope replaces it.
Each leaf has a copy of the caller's context.

`Dispatch` makes all decisions, in plain calls from the worker of the leaf that has just ended. No task waits for
another, and nothing is polled. `run` ends when its task group does, so no task can outlive it.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextvars import copy_context
from math import inf

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from weft.engine.states import SubplanTracker
from weft.errors import StateError
from weft.garbage import without_gc
from weft.subplans.compile import CANCELLED, COMPLETED, FAILED
from weft.subplans.dispatch import Dispatch, Orders
from weft.subplans.listeners import Listener, Put, feed
from weft.subplans.model import AnySubplan, ParallelExecutionConfig
from weft.subplans.own_context import in_context
from weft.subplans.results import SubplanResult
from weft.subplans.tree import read_tree


class ParallelSubplanDispatcher:
    """Runs a set of subplans: as many at once as allowed, to their ends, whatever happens.

    `on_event` receives every change of state, in order and as it happens: a plain function in a thread of its own,
    an async function in the run's event loop. `tracker` answers at any time.
    """

    def __init__(
        self, config: ParallelExecutionConfig | None = None, *, on_event: Listener | None = None
    ) -> None:
        self.config = config or ParallelExecutionConfig()
        self._on_event = on_event
        self._running = False
        self.tracker = SubplanTracker()
        """The states of the subplans of the run under way, or of the last one."""

    async def run(self, subplans: Iterable[AnySubplan]) -> dict[str, SubplanResult]:
        """Returns the result of each subplan, by path and in plan order, when all have ended.

        Raises `SubplanExecutionError` (under `fail_fast`) or `AggregateSubplanError` (under
        `continue_on_error`) if any failed; each carries the results of all.
        """
        if self._running:
            raise StateError("this dispatcher is running; make another one to run two at once")
        with without_gc():  # a plan is a burst of small objects that live as long as its run
            dispatch = Dispatch(read_tree(subplans, self.config))
        self.tracker = dispatch.tracker
        self._running = True
        try:
            async with feed(self._on_event) as put:
                await _Run(dispatch, put).drive()
        finally:
            self._running = False
        if (failure := dispatch.failure()) is not None:
            raise failure
        return dispatch.results()


_TURN = 64
"""Leaves after which the event loop gets a turn in any case."""


def _clock() -> Callable[[], float]:
    """Returns the clock of the event loop, which may be virtual. anyio's function looks up the loop each time."""
    try:
        return asyncio.get_running_loop().time
    except RuntimeError:
        return anyio.current_time


_Ended = tuple[int, object, BaseException | None]
"""The end of a leaf's work: the outcome, the returned value, the raised error."""


class _Run:
    def __init__(self, dispatch: Dispatch, put: Put) -> None:
        self._dispatch = dispatch
        self._put = put
        self._works = dispatch.works
        self._context = copy_context()
        self._cancelled_class = anyio.get_cancelled_exc_class()
        self._clock = _clock()
        self._began = self._clock()
        self._scopes: dict[int, anyio.CancelScope] = {}
        self._done = 0
        self._tasks: TaskGroup

    def _now(self) -> float:
        return self._clock() - self._began

    async def drive(self) -> None:
        try:
            async with anyio.create_task_group() as self._tasks:
                for leaf in self._take(self._dispatch.start(0.0)):
                    self._start_worker(leaf)
        except BaseExceptionGroup as group:
            # Failures of work never get here: this is a KeyboardInterrupt or the like.
            raise group.exceptions[0] from None
        finally:
            self._settle_unstarted()

    def _settle_unstarted(self) -> None:
        """Settles leaves of tasks that were cancelled before their first step; asyncio runs no code of these."""
        for leaf in self._dispatch.in_flight:
            self._take(self._dispatch.cancel(self._now()))
            error = StateError("its task was cancelled from outside before it started")
            self._settle(leaf, (FAILED, None, error))

    def _take(self, orders: Orders) -> list[int]:
        """Notifies listeners and cancels leaves, as ordered; returns the leaves to start."""
        events = self._dispatch.events
        if events:
            self._dispatch.events = []
            self._put(events)
        for leaf in orders.cancel:
            self._scopes[leaf].cancel()
        return orders.start

    def _start_worker(self, leaf: int) -> None:
        scope = self._scopes[leaf] = anyio.CancelScope()
        self._tasks.start_soon(self._worker, leaf, scope, name=f"weft: {self._dispatch.path(leaf)}")

    async def _worker(self, leaf: int, scope: anyio.CancelScope) -> None:
        """Runs this leaf and those that follow, as long as the scope is unused."""
        ended = _CANCELLED
        try:
            with scope:
                await checkpoint()  # cancelled before it began?
                while True:
                    ended = await self._work(leaf)
                    if scope.cancel_called or isinstance(ended[2], self._cancelled_class):
                        break  # scope or task may not be fit for more work
                    following = self._settle(leaf, ended)
                    if following is None:
                        return
                    leaf, ended = following, _CANCELLED
                    self._scopes[leaf] = scope
                    self._done += 1
                    if self._done % _TURN == 0:  # work that never waits must not keep others from their turn
                        await checkpoint()
        except BaseException as error:
            # Cancelled from outside, or a KeyboardInterrupt: nothing may start any more.
            self._take(self._dispatch.cancel(self._now()))
            outside = isinstance(error, self._cancelled_class)
            self._settle(leaf, _CANCELLED if outside else (FAILED, None, error))
            raise
        following = self._settle(leaf, ended)
        if following is not None:
            self._start_worker(following)

    async def _work(self, leaf: int) -> _Ended:
        try:
            value = await in_context(self._context.copy(), self._works[leaf])
        except self._cancelled_class as error:
            # A cancellation of an enclosing scope makes the deadline -inf, and must be passed on. Otherwise the
            # work cancelled itself, or a scope of its own, which is a failure of the work.
            if anyio.current_effective_deadline() == -inf:
                raise
            return FAILED, None, error  # the work was cancelled, but not by us
        except Exception as error:  # noqa: BLE001 - whatever the work raises is its result
            return FAILED, None, error
        return COMPLETED, value, None

    def _settle(self, leaf: int, ended: _Ended) -> int | None:
        """Reports the end of a leaf; returns the next leaf for this worker."""
        del self._scopes[leaf]
        outcome, value, error = ended
        orders = self._dispatch.settle(leaf, outcome, self._now(), value=value, error=error)
        begin = self._take(orders)
        # The first of them runs in this worker, without a new task.
        for leaf_to_start in begin[1:]:
            self._start_worker(leaf_to_start)
        return begin[0] if begin else None


_CANCELLED: _Ended = (CANCELLED, None, None)
