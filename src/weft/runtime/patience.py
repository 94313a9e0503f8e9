"""Work on workspaces, which waits while the machine lacks processes, space or memory.

A shortage says nothing about a step: neither may the next one fail for it, nor the work of the last one be lost.
Most shortages are over in a moment. If one lasts, its `OSError` ends the coordinator, as a full disk under the
journal does: the end of the order is not in the journal. The next coordinator repeats the order, or takes over the
end of the step, which the host keeps, and repeats the work. Both are harmless.
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

    async def do(self, work: Callable[[], _T], urgency: Urgency = Urgency.END) -> _T:
        """Returns the result of the work, which runs in a thread; repeats it during a shortage."""
        for pause in PAUSES:
            try:
                return await self._precedence.run_sync(urgency, work)
            except OSError as error:
                if not may_pass(error):
                    raise
            await self._clock.sleep_until(self._clock.now() + pause)
        return await self._precedence.run_sync(urgency, work)


def raise_shortage(error: Exception) -> None:
    """Raises the error again if it is a shortage, which says nothing about the step."""
    if isinstance(error, OSError) and may_pass(error):
        raise error
