"""What steps do in workspaces that have a clone."""

import shutil
import subprocess
from collections.abc import Collection, Iterator
from pathlib import Path

from typing_extensions import override

from workspaces.git.repositories import surroundings
from workspaces.trees import put
from workspaces.worlds import World


class Every(Collection[str]):
    """All slices."""

    @override
    def __contains__(self, path: object) -> bool:
        return True

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(("a",))

    @override
    def __len__(self) -> int:
        return 1


def enter(top: Path, *, opened: bool = True) -> World:
    return World(top, clones=Every(), opened=opened)


def cloned_world(repository: Path, folder: Path, *, opened: bool = True) -> World:
    """A world in a copy of a repository, in which each slice has a clone."""
    shutil.copytree(repository, folder / "repository")
    return enter(folder / "repository", opened=opened)


def step_git(world: World, path: str, *command: str, check: bool = True) -> str:
    """git as a step types it: it finds its directory by itself."""
    place = world.place(path)
    environ = {**surroundings(world.top.parent), "GIT_EDITOR": "true"}
    done = subprocess.run(
        ("git", *command), cwd=place, env=environ, check=check, capture_output=True, text=True
    )
    return done.stdout.strip()


def clone(world: World, path: str) -> Path:
    return world.top / ".git" / "worktrees" / path / "weft-clone" / "git"


def begun(world: World, path: str = "a") -> None:
    world.prepare(path)
    world.workspaces.prove(path)


def committed(world: World, path: str, files: dict[str, str], message: str = "by the agent") -> str:
    """A commit that a step makes in its clone."""
    put(world.place(path), files)
    step_git(world, path, "add", "--all")
    step_git(world, path, "commit", "--quiet", "--message", message)
    return step_git(world, path, "rev-parse", "HEAD")
