import pytest

from runtime.sandbox.bubblewrap import need_sandboxes


@pytest.fixture(scope="session")
def bwrap() -> str:
    return need_sandboxes()
