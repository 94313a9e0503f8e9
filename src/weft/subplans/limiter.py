"""A limit on how many bodies run at once, for work that is not a plan."""

from types import TracebackType

import anyio

from weft.subplans.model import check_max_parallel


class AsyncSemaphoreLimiter:
    """`async with limiter:` — at most `max_parallel` bodies are inside at any time."""

    def __init__(self, max_parallel: int = 4) -> None:
        check_max_parallel(max_parallel, "")
        self.max_parallel = max_parallel
        self.active = 0
        """How many are inside."""
        self.waiting = 0
        """How many wait to get in."""
        self.peak = 0
        """The most that were inside at once."""
        self._semaphore = anyio.Semaphore(max_parallel)

    async def __aenter__(self) -> None:
        self.waiting += 1
        try:
            await self._semaphore.acquire()
        finally:
            self.waiting -= 1
        self.active += 1
        self.peak = max(self.peak, self.active)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.active -= 1
        self._semaphore.release()
