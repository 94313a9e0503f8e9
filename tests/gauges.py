"""Instruments that stand inside the work: they count who is in, and hold them until enough are."""

import anyio


class Gauge:
    """Counts how many are inside at once. `hold_until`: nobody leaves before so many were inside together."""

    def __init__(self, *, hold_until: int = 1) -> None:
        self._hold_until = hold_until
        self._reached = anyio.Event()
        self.inside = 0
        self.peak = 0
        self.entered = 0

    async def __call__(self) -> int:
        self.inside += 1
        self.entered += 1
        self.peak = max(self.peak, self.inside)
        try:
            if self.inside >= self._hold_until:
                self._reached.set()
            await self._reached.wait()
            await anyio.lowlevel.checkpoint()  # whoever could come in beside us gets the chance
        finally:
            self.inside -= 1
        return self.entered


class Forever:
    """Work that ends only by cancellation."""

    def __init__(self) -> None:
        self.entered = anyio.Event()
        self.cancelled = False

    async def __call__(self) -> None:
        self.entered.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.cancelled = True
