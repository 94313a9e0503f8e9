from collections.abc import Iterator

import pytest
from blockbuster import blockbuster_ctx


@pytest.fixture(autouse=True)
def no_blocking() -> Iterator[None]:
    """Weft's own code must not block an asyncio loop: not by sleeping, not by files, not by sockets."""
    with blockbuster_ctx("weft") as blockbuster:
        # To start a thread, and to join one that has nothing left to do, takes a lock for microseconds.
        blockbuster.functions["threading.Lock.acquire"].deactivate()
        yield
