"""The only place where the supervisor waits: for descriptors to become ready, each with its handler."""

import select
from collections.abc import Callable


class Watch:
    def __init__(self) -> None:
        self._poll = select.epoll()
        self._handlers: dict[int, Callable[[], object]] = {}

    def add(self, descriptor: int, handler: Callable[[], object]) -> None:
        self._poll.register(descriptor, select.EPOLLIN)
        self._handlers[descriptor] = handler

    def drop(self, descriptor: int) -> None:
        """Removes a descriptor before it is closed; the kernel forgets it by itself."""
        self._handlers.pop(descriptor, None)

    def expect(self, descriptor: int, *, readable: bool = True, writable: bool = False) -> None:
        self._poll.modify(descriptor, select.EPOLLIN * readable | select.EPOLLOUT * writable)

    def wait(self, seconds: float) -> None:
        """Each that is ready gets one turn."""
        for descriptor, _ in self._poll.poll(seconds):
            handler = self._handlers.get(descriptor)  # another one's handler may have closed it
            if handler is not None:
                handler()
