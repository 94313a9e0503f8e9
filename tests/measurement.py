"""Which tests measure the lines of Weft that they run, and the switch for it.

A process that is measured takes twice the time. So coverage is on while Weft's modules are imported and while a
test runs that adds to it. It is off for pytest's own work, for tests that try one thing in many ways (properties,
simulations, whole runs), and for tests whose subject runs in other processes.
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import PurePath
from pkgutil import walk_packages
from typing import Any

_THOROUGH = {
    "e2e", "sim", "benchmarks", "plan/compile/test_soundness.py", "plan/compile/test_equal_plans.py",
    "workspaces/test_worktrees_crashes.py", "workspaces/test_worktrees_machine.py", "hosts/test_faults.py",
    "runtime/test_recovery.py", "net/test_soundness.py", "subplans/test_simulate.py",
    "test_architecture.py",
}  # fmt: skip
_WITH_PROCESSES = {
    "agents", "hosts/far", "hosts/test_ending_jobs.py", "hosts/test_local_contract.py", "hosts/test_recovery.py",
    "hosts/test_starting_jobs.py", "hosts/test_supervisor.py", "testing", "web",
    "app/run/test_background.py", "cli/test_steering_commands.py", "cli/commands/project/test_init_command.py",
    "cli/commands/view/test_attach_command.py", "cli/commands/view/test_top_command.py",
}  # fmt: skip
"""These cover the modules that run in no process of the tests themselves."""
_PROCESSES = "COVERAGE_PROCESS_CONFIG"
"""The variable by which coverage measures the Python processes that a test starts."""


class Measurement:
    """The coverage of this process, which is off but within `of_test`, and of the processes that it starts."""

    def __init__(self) -> None:
        self._tracers: tuple[Any, Any] = sys.gettrace(), threading.gettrace()
        _trace(None, None)
        # What a fork of this process measures is lost, as it ends without cleaning up.
        os.register_at_fork(after_in_child=lambda: _trace(None, None))

    @contextmanager
    def of_test(self, path: PurePath, *, thorough: bool) -> Iterator[None]:
        """Measures what runs in this block; `path` names a module of tests, from their directory."""
        with_processes = not thorough and _is_among(path, _WITH_PROCESSES)
        setting = None if with_processes else os.environ.pop(_PROCESSES, None)
        if not thorough:
            _trace(*self._tracers)
        try:
            yield
        finally:
            _trace(None, None)
            if setting is not None:
                os.environ[_PROCESSES] = setting


def is_thorough(path: PurePath) -> bool:
    """Returns whether no test of a module is measured."""
    return _is_among(path, _THOROUGH)


def import_all_modules() -> None:
    """Imports all modules of Weft, but for those that are programs."""
    import weft  # noqa: PLC0415 - this is measured, too

    for module in walk_packages(weft.__path__, "weft."):
        if not module.name.endswith(".__main__"):
            import_module(module.name)


def _trace(tracer: Any, of_threads: Any) -> None:
    threading.settrace(of_threads)
    sys.settrace(tracer)


def _is_among(path: PurePath, names: set[str]) -> bool:
    return not names.isdisjoint({path.as_posix(), *(folder.as_posix() for folder in path.parents)})
