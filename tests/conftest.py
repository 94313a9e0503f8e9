import pytest
import trio.testing

BACKENDS = {
    "asyncio": lambda: ("asyncio", {}),
    "trio": lambda: ("trio", {}),
}


@pytest.fixture(params=list(BACKENDS))
def anyio_backend(request: pytest.FixtureRequest) -> object:
    """Async tests run on both event loops."""
    return BACKENDS[request.param]()


@pytest.fixture
def virtual_time() -> tuple[str, dict[str, object]]:
    """An event loop whose clock jumps to the next deadline when nothing else is to be done."""
    return ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})
