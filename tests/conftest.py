import os
import signal
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from measurement import Measurement, import_all_modules, is_thorough

# Modules that hold assertions and are no tests themselves: a failure in them is to say what it saw, too.
pytest.register_assert_rewrite("contracts", "store.books")

_TESTS = Path(__file__).parent

# No test asserts a time, so no example has a deadline; a failure prints what repeats it. Whoever develops gets
# other examples in each run, and more of them; a gate (`.ci/run`) judges the same change always in the same way.
settings.register_profile(
    "weft", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("gate", settings.get_profile("weft"), derandomize=True, max_examples=25)
settings.load_profile(os.environ.get("WEFT_EXAMPLES", "weft"))

_MEASUREMENT = pytest.StashKey[Measurement]()


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Async tests run on both event loops."""
    return str(request.param)


@pytest.hookimpl(trylast=True)  # coverage is on by then
def pytest_sessionstart(session: pytest.Session) -> None:
    """Tests find the same, wherever they are started from."""
    _heed_signals()
    _be_in_no_project()
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        os.environ.pop(name, None)
    if session.config.pluginmanager.hasplugin("_cov"):  # `pytest --cov`
        if _runs_tests(session.config):
            import_all_modules()
        session.config.stash[_MEASUREMENT] = Measurement()


def _runs_tests(config: pytest.Config) -> bool:
    """Returns whether tests run in this process, and not in processes that it starts."""
    return hasattr(config, "workerinput") or config.getoption("dist", "no") == "no"


def _heed_signals() -> None:
    """Who starts tests with `nohup`, or in the background, has them ignored, and all programs inherit that."""
    for each, usual in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGQUIT, signal.SIG_DFL),
        (signal.SIGHUP, signal.SIG_DFL),
    ):
        if signal.getsignal(each) == signal.SIG_IGN:
            signal.signal(each, usual)


def _be_in_no_project() -> None:
    from weft.app.project.places import project_around  # noqa: PLC0415 - at the top it would not be measured

    around = project_around(Path(tempfile.gettempdir()))
    if around is not None:
        pytest.exit(
            f"tests are not to be in the project {around}: remove its .weft or .git, or set TMPDIR", 4
        )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks properties and whole runs as thorough; see the marker."""
    for item in items:
        is_property = hasattr(getattr(item, "obj", None), "hypothesis")
        if is_property or is_thorough(item.path.relative_to(_TESTS)):
            item.add_marker(pytest.mark.thorough)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Sets up, runs and tears down a test, which is measured unless it is thorough."""
    measurement = item.config.stash.get(_MEASUREMENT, None)
    if measurement is None:
        return (yield)
    thorough = item.get_closest_marker("thorough") is not None
    with measurement.of_test(item.path.relative_to(_TESTS), thorough=thorough):
        return (yield)
