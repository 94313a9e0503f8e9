"""A kill between any two git commands, or within one, and a repetition: the result is as without the kill.

All moves are reported.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest
from msgspec import structs

from weft.engine.messages.facts import RefMove
from weft.ports.workspaces import HeldError
from weft.workspaces.git.base.child_records import LeftoverLocks
from workspaces.cloned_world import ClonedWorld
from workspaces.faults import quick_folder
from workspaces.git.repositories import commit
from workspaces.killing import ALWAYS, WITHIN, Kill, Killer, Outcome, Wish, killer
from workspaces.snapshots import digest
from workspaces.trees import put
from workspaces.worlds import World, repository_in


def nothing(world: World) -> None:
    """The world is as it was made."""


def far_work(world: World) -> None:
    """What a slice elsewhere depends on, in two groups; and the group that it is in follows."""
    world.done("group/a", {"one": "1"})
    world.prepare("other/x")
    world.done("b", {"two": "2"})


def old_work(world: World) -> None:
    """Commits, commits that were undone, and changes that were never committed."""
    world.do("group/a", {"one": "1"})
    world.at("group/a").do("commit", "--quiet", "--amend", "--message", "rewritten")
    world.step("group/a", {"two": "2"})
    world.at("group/a").do("switch", "--quiet", "--detach")
    commit(world.at("group/a"), {"three": "3"})
    put(world.place("group/a"), {"four": "4", "README": None})


def a_step(world: World) -> None:
    world.do("group/a", {"one": "1"})
    world.workspaces.prove("group/a")
    world.at("group/a").do("commit", "--quiet", "--amend", "--message", "rewritten")
    put(world.place("group/a"), {"two": "2", "README": None, "link": ("two",)})


def started_on_another(world: World) -> None:
    world.done("a", {"one": "1"})
    world.done("b", {"two": "2"})
    for path in ("a", "b"):
        world.workspaces.release(path)


def two_slices(world: World) -> None:
    world.do("group/a", {"one": "1"})
    world.done("group/b", {"two": "2"})


def to_be_verified(world: World) -> None:
    two_slices(world)
    world.merge("group/a", verifies=True)


def a_conflict(world: World) -> None:
    """In a group, which gets a worktree for it."""
    world.done("group/a", {"new": "one"})
    world.done("b", {"new": "two"})


def a_settled_conflict(world: World) -> None:
    """The group's branch is checked out."""
    a_conflict(world)
    world.do("group/c", {"three": "3"})
    with pytest.raises(HeldError):
        world.merge("group")


def to_land(world: World) -> None:
    """On a branch that is checked out, with a change that is not in the way."""
    world.done("group/a", {"one": "1", "README": None})
    put(world.top, {"lines": "being written\n"})


def to_land_elsewhere(world: World) -> None:
    world.done("group/a", {"one": "1"})
    world.git.do("switch", "--quiet", "--create", "mine")


def to_land_together(world: World) -> None:
    """Two results, and a commit of a person."""
    to_land(world)
    world.done("other/x", {"x": "x"})
    world.done("b", {"three": "3"})
    world.commit({"two": "2"})


def to_resolve(world: World) -> None:
    world.do("a", {"lines": "a\n", "mine": "a"})
    world.done("b", {"lines": "b\n", "new": "b"})


def resolved(world: World) -> None:
    to_resolve(world)
    world.open_conflict("a")
    put(world.place("a"), {"lines": "both\n", "more": "too"})


def badly_resolved(world: World) -> None:
    """With a commit of the agent's own, and on another branch."""
    resolved(world)
    world.at("a").do("commit", "--quiet", "--all", "--message", "mine")
    world.at("a").do("switch", "--quiet", "--detach")
    put(world.place("a"), {"half": "done"})


def to_be_watched(world: World) -> None:
    """With something that a person has left there."""
    world.do("group/a", {"one": "1"})
    world.workspaces.prove("group/a")
    put(world.place("group/a"), {"mine": "a person's"})


def read_badly(world: World) -> None:
    """Files, commits, and another branch."""
    world.do("a", {"one": "1", "lines": "1\n2\n"})
    world.workspaces.prove("a")
    world.watch("a", "job")
    commit(world.at("a"), {"two": "2"})
    world.at("a").do("switch", "--quiet", "--detach")
    commit(world.at("a"), {"three": "3"})
    put(world.place("a"), {"four": "4", "README": None, "lines": "5\n"})


def idle(world: World) -> None:
    world.do("a", {"one": "1"})
    world.watch("a", "job", reads=False)
    world.record("a")


def committed_early(world: World) -> None:
    """By a step that has replaced a commit which is in the repository already."""
    world.do("a", {"one": "1"})
    world.workspaces.prove("a")
    commit(world.at("a"), {"two": "2"})
    world.workspaces.take_commits("a")
    world.at("a").do("commit", "--quiet", "--amend", "--message", "rewritten")
    put(world.place("a"), {"three": "3"})


PARTS = ("group/a", "group/b", "group/c")


def three_slices(world: World) -> None:
    """Side by side in a group, and something else beside that."""
    for path in PARTS:
        world.do(path, {path[-1]: path})
    for path in PARTS:
        world.merge(path)
    world.done("other/x", {"x": "x"})
    world.merge("other")


def landed(world: World) -> None:
    world.done("group/a", {"one": "1"})
    world.merge("group")
    world.land("group")
    world.git.do("update-ref", "refs/weft-test/base", "main")


def to_begin_anew(world: World) -> None:
    a_conflict(world)
    with pytest.raises(HeldError):
        world.merge("group")
    put(world.place("group"), {"half": "done"})


CASES: dict[str, tuple[Callable[[World], None], Wish]] = {
    name: (before, Wish(top="", what=what, arguments=arguments, options=options))
    for name, before, what, arguments, options in (
        ("prepare", nothing, "prepare", ("group/deep/a",), {}),
        ("prepare with dependencies", far_work, "prepare", ("other/c", "group/a", "b"), {}),
        ("prepare anew", old_work, "prepare", ("group/a",), {}),
        ("record", a_step, "record", ("group/a",), {}),
        ("take commits", committed_early, "take_commits", ("a",), {}),
        ("record after commits were taken", committed_early, "record", ("a",), {}),
        ("gather", two_slices, "gather", ("group",), {}),
        ("merge", two_slices, "merge", ("group/a",), {}),
        ("merge to be verified", two_slices, "merge", ("group/a",), {"verifies": True}),
        ("merge in conflict", a_conflict, "merge", ("group",), {}),
        ("merge into a checkout", a_settled_conflict, "merge", ("group/c",), {}),
        ("gather without some", three_slices, "gather_without", ("group", PARTS, "group/a"), {}),
        ("merge without some", three_slices, "merge_without", ("group", PARTS, "group/c"), {}),
        ("publish", to_be_verified, "publish", ("group/a",), {}),
        ("discard", to_be_verified, "discard", ("group/a",), {}),
        ("land", to_land, "land", ("group",), {}),
        ("land elsewhere", to_land_elsewhere, "land", ("group",), {}),
        ("land together", to_land_together, "land", ("group", "other", "b"), {}),
        ("open a conflict", to_resolve, "open_conflict", ("a",), {}),
        ("open a conflict anew", badly_resolved, "open_conflict", ("a",), {}),
        ("close a conflict", resolved, "close_conflict", ("a",), {}),
        ("close a conflict that is not resolved", badly_resolved, "close_conflict", ("a",), {}),
        ("merge where a conflict was left", badly_resolved, "merge", ("a",), {"resolved": True}),
        ("watch a reader", to_be_watched, "watch", ("group/a", "job"), {}),
        ("undo what a reader did", read_badly, "restore", ("a", "job"), {}),
        ("see that nothing was changed", idle, "has_changed", ("a", "job"), {}),
        ("rebuild a slice", started_on_another, "rebuild", ("b", "a"), {}),
        ("follow the base", landed, "follow_base", (), {}),
        ("start anew", to_begin_anew, "discard_groups", (), {}),
    )
}


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as made:
        yield made


@pytest.fixture
def kills(folder: Path) -> Iterator[Killer]:
    with killer(folder / "bin") as made:
        yield made


WITH_CLONES = (
    "prepare anew",
    "record",
    "take commits",
    "record after commits were taken",
    "merge",
    "close a conflict",
    "close a conflict that is not resolved",
    "undo what a reader did",
)
"""What has to do with clones; `make soak` tries the others with clones, too."""
KINDS = [
    *(pytest.param(name, False, "between commands", id=name) for name in CASES),
    *(
        pytest.param(name, True, "between commands", id=f"{name}, in a clone")
        for name in (CASES if os.environ.get("WEFT_CLONES") == "all" else WITH_CLONES)
    ),
    *(
        pytest.param(name, False, "within a command", id=f"{name}, within", marks=pytest.mark.thorough)
        for name in CASES
    ),
]


@pytest.mark.timeout(400)  # git waits a second for each lock that it meets
@pytest.mark.parametrize(("name", "clones", "when"), KINDS)
def test_killed_anywhere_and_done_again_all_is_as_if_nothing_had_happened(
    *, name: str, clones: bool, when: str, folder: Path, kills: Killer
) -> None:
    before, wish = CASES[name]
    top, template = folder / "home" / "repository", folder / "template"
    repository_in(top, {"README": "hello\n", "lines": "1\n2\n3\n"})
    world = (ClonedWorld if clones else World)(top, environ=ALWAYS)
    before(world)
    top.parent.rename(template)

    wish = structs.replace(wish, top=str(top), clones=clones)

    def restore() -> None:
        shutil.rmtree(top.parent, ignore_errors=True)
        shutil.copytree(template, top.parent, symlinks=True)

    def state(outcome: Outcome) -> dict[str, object]:
        return {"answer": outcome.answer, **world.everything()}

    restore()
    undisturbed = kills.do(wish)
    expected = state(undisturbed)
    assert not undisturbed.killed
    is_within = when == "within a command"
    restore()
    ways = kills_within(undisturbed) if is_within else list(kills.kills_between_commands(wish))
    seen: set[bytes] = set()
    for kill in ways:
        restore()
        assert kills.do(wish, kill).killed
        if (left := digest(top.parent)) in seen:
            continue
        seen.add(left)
        again = kills.do(wish)
        where = str(kill)
        assert locks_in(top) == [], where
        unexpected = differences(state(again), expected)
        if is_within:  # files that git had written by halves may be kept, as if they were work
            unexpected = {name: both for name, both in unexpected.items() if not is_kept(name, both)}
        assert unexpected == {}, where
        moves, expected_moves = (moves_of(each, is_within=is_within) for each in (again, undisturbed))
        assert set(moves) >= set(expected_moves), where
        assert moves[-1:] == expected_moves[-1:], where


def kills_within(outcome: Outcome) -> list[Kill]:
    """Returns a kill within each command that can take a lock, for each size that it may write."""
    return [Kill(number=number, blocks=blocks) for number, blocks in product(outcome.locking, WITHIN)]


def moves_of(outcome: Outcome, *, is_within: bool) -> list[RefMove]:
    """Returns the reported moves, without kept work if that may differ."""
    return [move for move in outcome.moves if not (is_within and move.ref.startswith("refs/weft/kept/"))]


def is_kept(name: str, both: tuple[object, object]) -> bool:
    """Returns whether the only difference is additional kept work and its report."""
    if name == "answer":
        return all("is kept as" in str(answer) for answer in both)
    return name.startswith("refs/weft/kept/") and both[1] is None


def locks_in(top: Path) -> list[str]:
    """Returns stale lock files that Weft does not know to be its own."""
    git_dir = top / ".git"
    LeftoverLocks(git_dir).remove()
    own = ("weft-worktrees.lock", "weft-forward.lock")
    return [str(lock) for lock in git_dir.rglob("*.lock") if lock.name not in own]


def differences(found: dict[str, object], expected: dict[str, object]) -> dict[str, tuple[object, object]]:
    return {
        name: (found.get(name), expected.get(name))
        for name in {*found, *expected}
        if found.get(name) != expected.get(name)
    }
