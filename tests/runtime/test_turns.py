"""Orders are carried out before listeners receive the events."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from runtime.theatre import Deed, Theatre, slices
from weft.engine.messages.event_codec import kind_of
from weft.engine.messages.events import Recorded

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_what_is_sent_at_the_end_of_a_turn_is_sent_before_the_listener_hears(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, slices({"a": "[mark, say a]"}))
    order: list[str] = []

    def send_soon(deed: Deed) -> None:
        """As a connection does, which sends all that was ordered in one turn of the loop at once."""
        if deed.kind == "start":
            asyncio.get_running_loop().call_soon(order.append, "sent")

    def hear(events: Sequence[Recorded]) -> None:
        order.extend("heard" for item in events if kind_of(item.event) == "step_started")

    theatre.after = send_soon
    assert await theatre.run(hear) == "completed"
    assert order == ["sent", "heard"]
