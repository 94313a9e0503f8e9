"""Threads, with an `OSError` if the system cannot start another one.

Python raises a bare `RuntimeError` in that case, which looks like a bug. For the callers it is a shortage, like a
failed fork or a full disk. It becomes the error of a failed fork, so that every place that handles a failed system
call handles it, too. No other module starts a thread; a test enforces that.
"""

import errno
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, TypeVar, TypeVarTuple, Unpack

if TYPE_CHECKING:
    from anyio import CapacityLimiter

_NO_ROOM = "can't start new thread"

_Arguments = TypeVarTuple("_Arguments")
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


async def run_sync(
    function: Callable[[Unpack[_Arguments]], _Result],
    *arguments: *_Arguments,
    abandon_on_cancel: bool = False,
    limiter: "CapacityLimiter | None" = None,
) -> _Result:
    """Calls the function in a worker thread, as anyio does."""
    from anyio import to_thread  # noqa: PLC0415 - commands without an event loop start threads, too

    with _as_os_error():
        return await to_thread.run_sync(
            function, *arguments, abandon_on_cancel=abandon_on_cancel, limiter=limiter
        )


def start_thread(thread: Thread) -> None:
    """Starts the thread; raises `OSError` if the system has no room for it."""
    with _as_os_error():
        thread.start()


def map_in_threads(
    function: Callable[[_Item], _Result], items: Iterable[_Item], *, most: int
) -> Iterator[_Result]:
    """Yields the results in the order of the items; at most `most` calls run at the same time."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - slow to load

    with _as_os_error(), ThreadPoolExecutor(most) as threads:
        yield from threads.map(function, items)


@contextmanager
def _as_os_error() -> Generator[None]:
    try:
        yield
    except RuntimeError as error:
        # CPython has no class of its own for this error, so its message decides.
        if str(error) != _NO_ROOM:
            raise
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from None
