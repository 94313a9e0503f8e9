"""`make test-agents`: agents as they are, apart from the other tests, for they have to be installed.

$WEFT_AGENTS names those that are tried, all without it. One that is not there is skipped, and it is said why.
"""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hosts.places import Place
from real_agents.benches import Bench
from real_agents.installing import AGENTS, why_not


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "agent" in metafunc.fixturenames:
        tried = os.environ.get("WEFT_AGENTS", "").split() or AGENTS
        metafunc.parametrize("agent", [_tried(agent) for agent in tried])


def _tried(agent: str) -> object:
    """The tests of one agent go to one process: each would like to have all cores."""
    missing = why_not(agent)
    marks = [pytest.mark.xdist_group(agent), *([pytest.mark.skip(missing)] if missing else [])]
    return pytest.param(agent, marks=marks, id=agent)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "skip_agents(reasons): not for those that are in it, for the reason there"
    )


def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    for item in items:
        for mark in item.iter_markers("skip_agents"):
            agent = item.callspec.params["agent"]
            if agent in mark.args[0]:
                item.add_marker(pytest.mark.skip(f"{agent}: {mark.args[0][agent]}"))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def bench(agent: str, tmp_path: Path) -> AsyncIterator[Bench]:
    place = Place(tmp_path)
    host = place.host()
    await host.open()
    yield Bench(agent, place, host)
    await place.leave()
