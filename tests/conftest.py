import pytest
from hypothesis import HealthCheck, settings

# No test asserts a time, so no example has a deadline; a failure prints what repeats it.
settings.register_profile(
    "weft", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("weft")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Async tests run on both event loops."""
    return str(request.param)
