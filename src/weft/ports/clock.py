"""What time it is."""

from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since 1970, UTC."""
        ...

    async def sleep_until(self, at: float) -> None: ...
