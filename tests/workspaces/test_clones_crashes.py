"""Killed before any change of a file while foreign work enters, and done again: all is as if nothing had happened.

Kills between commands of git are in `test_worktrees_crashes`.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from workspaces.cloned_world import ClonedWorld
from workspaces.faults import CHANGES, KilledError, machine, operations_of, quick_folder
from workspaces.git.repositories import commit
from workspaces.killing import ALWAYS
from workspaces.snapshots import digest
from workspaces.trees import put
from workspaces.worlds import repository_in

ACTIONS: dict[str, Callable[[ClonedWorld], object]] = {
    "take commits": lambda world: world.take_commits("a"),
    "record": lambda world: world.record("a"),
    "retry": lambda world: world.prepare("a"),
}
ALL = os.environ.get("WEFT_CLONES") == "all"
"""As in `make soak`."""


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as made:
        yield made


def step(world: ClonedWorld) -> None:
    """One that has replaced a commit which is in the repository already, and leaves a file."""
    world.prepare("a")
    world.workspaces.prove("a")
    commit(world.at("a"), {"two": "2"})
    world.take_commits("a")
    world.at("a").do("commit", "--quiet", "--amend", "--message", "rewritten")
    commit(world.at("a"), {"three": "3"})
    put(world.place("a"), {"four": "4"})


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", [name for name in ACTIONS if ALL or name != "retry"])
def test_killed_before_any_change_and_done_again_all_is_as_if_nothing_had_happened(
    name: str, folder: Path
) -> None:
    action, top, template = ACTIONS[name], folder / "home" / "repository", folder / "template"
    repository_in(top, {"README": "hello\n"})
    step(ClonedWorld(top, environ=ALWAYS))
    top.parent.rename(template)

    def world() -> ClonedWorld:
        shutil.rmtree(top.parent, ignore_errors=True)
        shutil.copytree(template, top.parent, symlinks=True)
        return ClonedWorld(top, environ=ALWAYS)

    undisturbed = world()
    count = operations_of(lambda: action(undisturbed), operations=CHANGES)
    expected = undisturbed.everything()
    assert count > 20
    seen: set[bytes] = set()
    for number in range(1, count + 1):
        killed = world()
        with pytest.raises(KilledError), machine(number, dies=True, operations=CHANGES):
            action(killed)
        if (left := digest(top.parent)) in seen:
            continue
        seen.add(left)
        again = ClonedWorld(top, environ=ALWAYS)
        action(again)
        assert again.everything() == expected, f"killed before change {number} of {count}"
        assert again.git.ask("fsck", "--connectivity-only").exit_code == 0
    assert len(seen) > 3
