"""The queue of facts from all sources, until the coordinator takes them."""

from collections import deque

import anyio

from weft.engine.messages.facts import AnyFact


class Inbox:
    def __init__(self) -> None:
        self._facts: deque[AnyFact] = deque()
        self._news = anyio.Event()

    def put(self, fact: AnyFact) -> None:
        self._facts.append(fact)
        self._news.set()

    def put_first(self, fact: AnyFact) -> None:
        self._facts.appendleft(fact)
        self._news.set()

    def take(self) -> list[AnyFact]:
        """Returns all waiting facts, in order of arrival."""
        facts = list(self._facts)
        self._facts.clear()
        # A new event: an anyio event cannot be cleared.
        self._news = anyio.Event()
        return facts

    async def wait(self) -> None:
        """Waits until there is a fact."""
        await self._news.wait()

    def __bool__(self) -> bool:
        return bool(self._facts)
