"""Random steps leave the same, whether they work here or in a copy on another machine."""

import random
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest

from workspaces.copied_world import CopiedWorld
from workspaces.git.repositories import surroundings
from workspaces.trees import Tree, put, tree
from workspaces.worlds import World

pytestmark = pytest.mark.thorough
_SEEDS = range(4)
_NAMES = (
    "README",
    "lines",
    "new",
    "deep/er/file",
    "deep/other",
    "ünï códe",
    "-dash",
    "with\nbreak",
    "x.ignored",
)
_STEPS = 5


def edits(chance: random.Random) -> Tree:
    table: dict[str, str | list[str] | tuple[str] | None] = {}
    for name in chance.sample(_NAMES, chance.randrange(1, 5)):
        text = f"{chance.randrange(4)}\n"
        table[name] = chance.choice([text, [text], (text.strip(),), None])
    return table


def work(place: Path, top: Path, chance: random.Random) -> None:
    """Changes files, and at times commits, amends, or leaves files staged."""

    def git(*command: str) -> None:
        environ = {
            **surroundings(top),
            "GIT_AUTHOR_DATE": "1000000000 +0000",
            "GIT_COMMITTER_DATE": "1000000000 +0000",
        }
        subprocess.run(("git", *command), cwd=place, env=environ, check=True, capture_output=True)

    for _ in range(chance.randrange(1, 4)):
        put(place, edits(chance))
        match chance.randrange(5):
            case 0:
                git("add", "--all")
                git("commit", "--quiet", "--allow-empty", "--message", "by the agent")
            case 1:
                git("add", "--all")
                git("commit", "--quiet", "--allow-empty", "--amend", "--message", "amended")
            case 2:
                git("add", "--all")
            case _:
                pass


def visible(place: Path) -> dict[str, object]:
    return {
        name: made for name, made in tree(place).items() if name != ".git" and not name.endswith(".ignored")
    }


@pytest.mark.parametrize("seed", _SEEDS)
def test_steps_in_a_copy_leave_what_steps_here_leave(new_repository: Path, tmp_path: Path, seed: int) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        shutil.copytree(new_repository, tmp_path / name / "repository")
    here, there = World(tmp_path / "here/repository"), CopiedWorld(tmp_path / "there/repository")
    here.prepare("a")
    there.prepare("a")
    for number in range(_STEPS):
        name = f"{seed}.{number}"
        here.workspaces.prove("a")
        work(here.place("a"), tmp_path / "here", random.Random(name))
        here.record("a", step=f"step{number}")
        far_work = partial(work, top=tmp_path / "there", chance=random.Random(name))
        there.far_step("a", far_work, step=f"step{number}")
        assert there.files(there.tip("a")) == here.files(here.tip("a")), f"seed {name}"
        assert there.entries(there.tip("a")) == here.entries(here.tip("a")), f"seed {name}"
        assert there.subjects(f"{there.base}..{there.tip('a')}") == here.subjects(
            f"{here.base}..{here.tip('a')}"
        )
        assert visible(there.place("a")) == visible(there.copy("a")), f"seed {name}"
