from collections.abc import Iterator
from pathlib import Path

import pytest

from hosts.far.boxes import Box, Watcher
from hosts.far.sshd import Sshd, require_sshd


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    box = Box(tmp_path)
    yield box
    box.clean()


@pytest.fixture
def watcher() -> Watcher:
    return Watcher()


@pytest.fixture
def sshd(tmp_path: Path, box: Box) -> Iterator[Sshd]:
    require_sshd()
    sshd = Sshd(tmp_path, box)
    yield sshd
    sshd.clean()
