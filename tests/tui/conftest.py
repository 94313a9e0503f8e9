from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.running import Project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = Project(tmp_path / "project")
    yield project
    project.end()
