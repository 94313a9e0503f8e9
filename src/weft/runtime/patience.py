"""Work on the results of ended steps, which waits while the machine lacks processes, space or memory.

The step has been paid for, so a shortage must not count as its failure. Most shortages are over in a moment. If
one lasts, its `OSError` ends the coordinator, as a full disk under the journal does: the end of the step is not in
the journal, and the host keeps it. The next coordinator takes it over and repeats the work, which is harmless.
"""

from collections.abc import Callable
from typing import TypeVar

from weft.ports.clock import Clock
from weft.runtime.precedence import Precedence, Urgency
from weft.system_errors import may_pass

PAUSES = (0.1, 0.4, 1.5, 4.0, 10.0)
"""Seconds between the attempts."""

_T = TypeVar("_T")


class Patience:
    def __init__(self, clock: Clock, precedence: Precedence) -> None:
        self._clock = clock
        self._precedence = precedence

    async def do(self, work: Callable[[], _T]) -> _T:
        """Returns the result of the work, which runs in a thread; repeats it during a shortage."""
        for pause in PAUSES:
            try:
                return await self._precedence.run_sync(Urgency.END, work)
            except OSError as error:
                if not may_pass(error):
                    raise
            await self._clock.sleep_until(self._clock.now() + pause)
        return await self._precedence.run_sync(Urgency.END, work)


def raise_shortage(error: Exception) -> None:
    """Raises the error again if it is a shortage, which says nothing about the step."""
    if isinstance(error, OSError) and may_pass(error):
        raise error
