import os
import signal
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Modules that hold assertions and are no tests themselves: a failure in them is to say what it saw, too.
pytest.register_assert_rewrite("contracts", "store.books")

# No test asserts a time, so no example has a deadline; a failure prints what repeats it. Whoever develops gets
# other examples in each run, and more of them; a gate (`.ci/run`) judges the same change always in the same way.
settings.register_profile(
    "weft", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("gate", settings.get_profile("weft"), derandomize=True, max_examples=25)
settings.load_profile(os.environ.get("WEFT_EXAMPLES", "weft"))


_TESTS = Path(__file__).parent
_THOROUGH = {
    "e2e", "sim", "benchmarks", "plan/compile/test_soundness.py", "plan/compile/test_equal_plans.py",
    "workspaces/test_worktrees_crashes.py", "workspaces/test_worktrees_machine.py", "hosts/test_faults.py",
    "runtime/test_recovery.py", "net/test_soundness.py", "subplans/test_simulate.py",
}  # fmt: skip
# A process of ours takes twice the time while it is measured. So only these tests measure the processes that they
# start: they cover the modules that run in no process of the tests themselves.
_WITH_MEASURED_PROCESSES = {
    "agents", "hosts", "testing", "app/run/test_background.py", "cli/commands/test_init_command.py",
    "cli/test_steering_commands.py",
}  # fmt: skip
_MEASURES_PROCESSES = "COVERAGE_PROCESS_CONFIG"


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Async tests run on both event loops."""
    return str(request.param)


def pytest_sessionstart() -> None:
    """Tests find the same, wherever they are started from."""
    _heed_signals()
    _be_in_no_project()
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        os.environ.pop(name, None)


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
    from weft.app.project.places import project_around  # noqa: PLC0415 - what is imported here is not measured

    around = project_around(Path(tempfile.gettempdir()))
    if around is not None:
        pytest.exit(
            f"tests are not to be in the project {around}: remove its .weft or .git, or set TMPDIR", 4
        )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks properties and whole runs as thorough; see the marker."""
    for item in items:
        is_property = hasattr(getattr(item, "obj", None), "hypothesis")
        path = item.path.relative_to(_TESTS)
        if is_property or _THOROUGH & {path.parts[0], path.as_posix()}:
            item.add_marker(pytest.mark.thorough)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Sets up, runs and tears down a test; its processes are measured where that adds to the coverage."""
    path = item.path.relative_to(_TESTS)
    if _WITH_MEASURED_PROCESSES & {path.parts[0], path.as_posix()}:
        return (yield)
    setting = os.environ.pop(_MEASURES_PROCESSES, None)
    try:
        return (yield)
    finally:
        if setting is not None:
            os.environ[_MEASURES_PROCESSES] = setting
