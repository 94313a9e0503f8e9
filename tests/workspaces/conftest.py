import shutil
from pathlib import Path

import pytest

from workspaces.worlds import World, repository_in


@pytest.fixture(scope="session")
def new_repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """To be copied, which is quicker than to ask git for another one."""
    top = tmp_path_factory.mktemp("new") / "repository"
    repository_in(top, {"README": "hello\n", "lines": "".join(f"{number}\n" for number in range(20))})
    return top


@pytest.fixture
def world(new_repository: Path, tmp_path: Path) -> World:
    shutil.copytree(new_repository, tmp_path / "repository")
    return World(tmp_path / "repository")
