"""Keys that are handled as soon as they are pressed, while the event loop runs the run."""

import asyncio
from collections.abc import Callable

from weft.cli.live.live_view import LiveView


class KeyReader:
    """Calls a function on the event loop when a key can be read, except while another program has the terminal."""

    def __init__(self, live: LiveView, show: Callable[[], None]) -> None:
        self._live = live
        self._show = show
        self._listens: tuple[asyncio.AbstractEventLoop, int] | None = None

    def update(self) -> None:
        """Starts or stops to listen, on the event loop that runs; `LiveView` decides which."""
        keys = None if self._live.is_suspended else self._live.keys
        if keys is not None and self._listens is None:
            self._listens = (asyncio.get_running_loop(), keys)
            self._listens[0].add_reader(keys, self._handle)
        elif keys is None and self._listens is not None:
            loop, descriptor = self._listens
            loop.remove_reader(descriptor)
            self._listens = None

    def _handle(self) -> None:
        self._show()
        self.update()
