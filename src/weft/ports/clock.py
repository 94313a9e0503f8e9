"""The port to the clock."""

from typing import Protocol


class Clock(Protocol):
    """The time, as the runtime sees it. Tests replace it."""

    def now(self) -> float:
        """Returns the seconds since 1970, UTC."""
        ...

    async def sleep_until(self, at: float) -> None:
        """Waits until `now` would return `at`."""
        ...
