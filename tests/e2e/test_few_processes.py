"""The n-th process or thread of the coordinator cannot be started: nothing is lost, and no step runs twice."""

import errno
import os
import re
import subprocess
from collections.abc import Callable
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from e2e.kills import PLAN, Traces, check_losses, made, traces
from e2e.repositories import Repository
from store.books import quick_folder
from weft.errors import WeftError
from weft.runtime import patience

EVERY = 29
"""A run starts some hundred processes; each test lets every so many fail."""
FEW_THREADS = 5
SHORTAGE = "Resource temporarily unavailable|starts no further process or thread"


def no_process(*_: object, **__: object) -> None:
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def no_thread(*_: object, **__: object) -> None:
    """As CPython reports it."""
    raise RuntimeError("can't start new thread")


class Starts:
    """Starts of processes or threads, some of which fail."""

    def __init__(self, owner: type, name: str, failure: Callable[..., None]) -> None:
        self._owner = owner
        self._name = name
        self._failure = failure

    def fail(self, repository: Repository, *, first: int, last: float) -> bool:
        """Runs the plan while these starts fail, counted from 1. Returns whether one of them came.

        The run may end with the error of the shortage, and with no other.
        """
        numbers = count(1)
        came = False
        start = getattr(self._owner, self._name)

        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal came
            if first <= next(numbers) <= last:
                came = True
                return self._failure(*arguments, **named)
            return start(*arguments, **named)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self._owner, self._name, call)
            try:
                repository.run()
            except (WeftError, OSError) as error:
                if not re.search(SHORTAGE, str(error)):
                    raise
        return came


PROCESSES = Starts(subprocess.Popen, "_execute_child", no_process)
THREADS = Starts(Thread, "start", no_thread)


@pytest.fixture(scope="module", params=["worktree", "clone"])
def plan(request: pytest.FixtureRequest) -> str:
    return f"isolation: {request.param}\n{PLAN}"


@pytest.fixture(scope="module")
def whole(plan: str) -> Traces:
    """What an undisturbed run leaves."""
    with quick_folder() as folder:
        repository = made(folder / "project", plan)
        repository.run()
        lines = traces(repository)
        repository.end()
    return lines


@pytest.fixture(autouse=True)
def no_blocking() -> None:
    """The plan is run in this process, and its supervisor is started there."""


@pytest.mark.parametrize("first", [13, 24])
def test_a_process_cannot_be_started(folder: Path, plan: str, whole: Traces, first: int) -> None:
    for number in count(first, EVERY):
        repository = made(folder / str(number), plan)
        came = PROCESSES.fail(repository, first=number, last=number)
        check_losses(repository, whole)
        if not came:
            break


# asyncio starts a thread to wait for a process that it has started already, and forgets the process if it cannot.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_thread_cannot_be_started(folder: Path, plan: str, whole: Traces) -> None:
    for number in range(1, FEW_THREADS):
        repository = made(folder / str(number), plan)
        THREADS.fail(repository, first=number, last=number)
        check_losses(repository, whole)


def test_no_further_process_can_be_started(
    folder: Path, plan: str, whole: Traces, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slices fail, or the coordinator ends. What was done is taken over, and the rest is run again."""
    monkeypatch.setattr(patience, "PAUSES", ())
    for number in count(17, EVERY):
        repository = made(folder / str(number), plan)
        came = PROCESSES.fail(repository, first=number, last=float("inf"))
        repository.run()
        check_losses(repository, whole)
        if not came:
            break
