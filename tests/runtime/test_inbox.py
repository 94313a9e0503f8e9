"""Facts wait until they are taken up."""

import anyio
import pytest

from weft.engine.messages.facts import Woke
from weft.runtime.inbox import Inbox

pytestmark = pytest.mark.anyio


async def test_facts_are_taken_in_the_order_they_came_but_the_first_comes_first() -> None:
    inbox = Inbox()
    inbox.put(Woke(at=1.0))
    inbox.put(Woke(at=2.0))
    inbox.put_first(Woke(at=0.0))
    assert inbox
    assert [fact.at for fact in inbox.take()] == [0.0, 1.0, 2.0]
    assert not inbox
    assert inbox.take() == []


async def test_who_waits_wakes_when_a_fact_comes() -> None:
    inbox = Inbox()
    taken: list[float] = []

    async def wait() -> None:
        await inbox.wait()
        taken.extend(fact.at for fact in inbox.take())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.lowlevel.checkpoint()
        inbox.put(Woke(at=1.0))
    assert taken == [1.0]
