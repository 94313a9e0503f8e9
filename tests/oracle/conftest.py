"""Judges that nobody here wrote: pm4py for verdicts, SNAKES for single moves, SimPy for makespans."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=0, help="of the first random net; each test prints its own")


def pytest_report_header(config: pytest.Config) -> str:
    return f"random nets from seed {config.getoption('seed')} on (--seed N for others)"


@pytest.fixture
def first_seed(request: pytest.FixtureRequest) -> int:
    return request.config.getoption("seed")
