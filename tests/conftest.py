import os

import pytest
from hypothesis import HealthCheck, settings

# Modules that hold assertions and are no tests themselves: a failure in them is to say what it saw, too.
pytest.register_assert_rewrite("contracts", "store.books")

# No test asserts a time, so no example has a deadline; a failure prints what repeats it. Whoever develops gets
# other examples in each run; a gate (`.ci/run`) judges the same change always in the same way.
settings.register_profile(
    "weft", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("gate", settings.get_profile("weft"), derandomize=True)
settings.load_profile(os.environ.get("WEFT_EXAMPLES", "weft"))


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Async tests run on both event loops."""
    return str(request.param)
