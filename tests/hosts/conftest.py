from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from blockbuster import blockbuster_ctx

from hosts.places import Place
from weft.hosts.local import LocalHost


@pytest.fixture
def anyio_backend() -> str:
    """The local host is made for asyncio."""
    return "asyncio"


@pytest.fixture(autouse=True)
def no_blocking() -> Iterator[None]:
    """The coordinator's side must not block its loop."""
    with blockbuster_ctx("weft") as blockbuster:
        blockbuster.functions["threading.Lock.acquire"].deactivate()
        yield


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    place = Place(tmp_path)
    yield place
    await place.leave()


@pytest.fixture
async def host(place: Place) -> AsyncIterator[LocalHost]:
    """One that is open, at the place."""
    host = place.host()
    await host.open()
    yield host
    await host.close()
