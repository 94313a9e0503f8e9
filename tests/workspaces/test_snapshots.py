"""The digest of a directory changes with everything that the next command could notice, and with nothing else."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from workspaces.git.repositories import commit
from workspaces.snapshots import digest
from workspaces.worlds import World, repository_in

CHANGES: dict[str, Callable[[World], object]] = {
    "content": lambda world: (world.top / "README").write_text("other\n"),
    "mode": lambda world: (world.top / "README").chmod(0o755),
    "kind": lambda world: (world.top / "link").symlink_to("README"),
    "directory": lambda world: (world.top / "empty").mkdir(),
    "index": lambda world: world.git.do("update-index", "--force-remove", "README"),
    "ref": lambda world: world.git.do("branch", "other"),
    "commit": lambda world: commit(world.git, {"README": "two\n"}),
    "lock": lambda world: (world.top / ".git" / "index.lock").touch(),
}


@pytest.fixture
def world(tmp_path: Path) -> World:
    repository_in(tmp_path / "home" / "repository", {"README": "hello\n", "deep/er/file": "1\n"})
    return World(tmp_path / "home" / "repository")


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_shows(world: World, name: str) -> None:
    before = digest(world.top)
    CHANGES[name](world)
    assert digest(world.top) != before


def test_a_copy_has_the_same_digest_although_git_has_looked_at_its_files_again(
    world: World, tmp_path: Path
) -> None:
    before = digest(world.top)
    shutil.copytree(world.top.parent, tmp_path / "copy", symlinks=True)
    shutil.rmtree(world.top.parent)
    (tmp_path / "copy").rename(world.top.parent)
    world.git.do("update-index", "--refresh")
    assert digest(world.top) == before
