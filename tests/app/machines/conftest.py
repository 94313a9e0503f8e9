from collections.abc import Iterator
from pathlib import Path

import pytest

from hosts.far.boxes import Box


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    box = Box(tmp_path)
    yield box
    box.clean()
