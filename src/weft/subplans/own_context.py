"""Runs async work in its own context, without its own task.

A dispatcher's worker runs one subplan after the other in one task, which is several times cheaper than a task
for each. Context variables would then leak from a subplan to the next one. So each subplan's steps run in a
copy of the caller's context, as they would in a task of their own.
"""

from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextvars import Context
from types import CoroutineType, coroutine
from typing import Any


@coroutine
def in_context(context: Context, work: Callable[[], Awaitable[Any]]) -> Generator[Any, Any, Any]:
    """Calls the work and awaits what it returns, all inside the context."""
    run = context.run
    steps = _coroutine(run(work))
    resume: Callable[[Any], Any] = steps.send
    argument: Any = None
    while True:
        try:
            awaited = run(resume, argument)
        except StopIteration as stop:
            return stop.value
        try:
            # Everything that the work awaits goes up to the event loop of the task; only the steps in between
            # run in the other context.
            argument = yield awaited
        except GeneratorExit:
            run(steps.close)
            raise
        except BaseException as error:  # noqa: BLE001 - it is the work's to handle
            resume, argument = steps.throw, error
        else:
            resume = steps.send


def _coroutine(awaitable: Any) -> Coroutine[Any, Any, Any]:  # noqa: ANN401 - whatever the work returned
    if type(awaitable) is CoroutineType:
        return awaitable  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(awaitable, Awaitable):
        raise TypeError(f"the work returned {awaitable!r}, which cannot be awaited; give an async function")
    return _await(awaitable)  # pyright: ignore[reportUnknownArgumentType]


async def _await(awaitable: Awaitable[Any]) -> object:
    return await awaitable
