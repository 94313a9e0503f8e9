import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from e2e.projects import Project
from e2e.repositories import Repository
from hosts.places import pids, proc
from store.books import quick_folder


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = Project(tmp_path / "project")
    yield project
    project.end()


@pytest.fixture
def repository() -> Iterator[Repository]:
    with quick_folder() as folder:
        repository = Repository(folder / "project")
        yield repository
        repository.end()


@pytest.fixture
def folder() -> Iterator[Path]:
    """For many projects, on a quick disk. Whatever a failed test leaves there is ended."""
    with quick_folder() as folder:
        yield folder
        name = os.fsencode(folder)
        for pid in pids():
            if name in proc(pid, "cmdline") + proc(pid, "environ"):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
