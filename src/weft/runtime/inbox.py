"""Where facts come in, from wherever, until the coordinator takes them up."""

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
        """All there are, in the order they came."""
        facts = list(self._facts)
        self._facts.clear()
        self._news = anyio.Event()
        return facts

    async def wait(self) -> None:
        """Until there is one."""
        await self._news.wait()

    def __bool__(self) -> bool:
        return bool(self._facts)
