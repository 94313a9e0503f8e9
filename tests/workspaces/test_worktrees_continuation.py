"""A slice continues in the worktree that an earlier run left, if that still holds what the run did."""

import shutil

import pytest

from weft.engine.messages.facts import EarlierSlice, RefMove
from weft.ports.workspaces import ContinuationResult, HeldError, WorkspaceRequest
from workspaces.git.repositories import commit, contents
from workspaces.trees import put
from workspaces.worlds import NAMES, World

NOT_KEPT = ContinuationResult(is_kept=False)


def continued(world: World, path: str, at: str, *after: str, merging: bool = False) -> ContinuationResult:
    earlier = EarlierSlice(subplan=path, run="r1", commit=at, merging=merging)
    return world.workspaces.continue_after(WorkspaceRequest(path=path, after=after), earlier)


def test_a_worktree_as_the_last_step_left_it_is_kept(world: World) -> None:
    code = world.do("a", {"one": "1"})
    put(world.place("a"), {"built.ignored": "by a step"})
    assert continued(world, "a", code) == ContinuationResult(is_kept=True)
    assert world.tip("a") == code
    assert {"one", "built.ignored"} <= contents(world.place("a")).keys()
    world.workspaces.prove("a")


def test_what_a_step_left_that_was_cut_off_goes_and_is_not_lost(world: World) -> None:
    code = world.do("a", {"one": "1"})
    world.step("a", {"two": "half"}, step="more")
    half = world.tip("a")
    put(world.place("a"), {"three": "not committed", "one": "changed"})
    assert continued(world, "a", code) == ContinuationResult(
        is_kept=True, moves=(RefMove(ref=NAMES.head("a"), before=half, after=code),)
    )
    assert world.tip("a") == code
    assert (world.place("a") / "one").read_text() == "1"
    assert not (world.place("a") / "two").exists()
    assert not (world.place("a") / "three").exists()
    kept = world.refs("refs/weft/kept").values()
    assert half in kept
    assert any("three" in world.git.line("ls-tree", "--name-only", item).split() for item in kept)
    world.step("a", {"two": "whole"}, step="more")
    assert (world.place("a") / "two").read_text() == "whole"


def test_asked_twice_it_is_kept_twice(world: World) -> None:
    code = world.do("a", {"one": "1"})
    world.step("a", {"two": "half"}, step="more")
    assert continued(world, "a", code).is_kept
    assert continued(world, "a", code) == ContinuationResult(is_kept=True)


def test_without_a_commit_of_its_own_it_continues_at_its_start(world: World) -> None:
    world.prepare("a")
    world.step("a", {"two": "half"})
    assert continued(world, "a", "").is_kept
    assert world.tip("a") == world.base


def test_a_branch_around_that_has_moved_on_does_not_matter(world: World) -> None:
    code = world.do("group/a", {"one": "1"})
    world.done("group/b", {"two": "2"})
    assert continued(world, "group/a", code) == ContinuationResult(is_kept=True)


def test_a_slice_that_is_only_to_be_merged_is_not_touched(world: World) -> None:
    code = world.do("a", {"one": "1"})
    put(world.place("a"), {"one": "a person resolves it here"})
    resolved = commit(world.at("a"), {"two": "2"})
    put(world.place("a"), {"three": "in between"})
    assert continued(world, "a", code, merging=True) == ContinuationResult(is_kept=True)
    assert world.tip("a") == resolved
    assert (world.place("a") / "three").read_text() == "in between"


def test_branches_around_that_have_gone_are_there_again(world: World) -> None:
    code = world.do("group/a", {"one": "1"})
    for group in ("group", ""):
        world.git.do("update-ref", "-d", NAMES.head(group))
    kept = continued(world, "group/a", code)
    assert [move.ref for move in kept.moves] == [NAMES.head(""), NAMES.head("group")]
    world.merge("group/a")
    assert "one" in world.git.line("ls-tree", "--name-only", world.tip("group")).split()


# When it is not kept


def test_nothing_is_kept_of_a_branch_that_has_lost_the_commit(world: World) -> None:
    code = world.do("a", {"one": "1"})
    world.at("a").do("reset", "--hard", "--quiet", world.base)
    assert continued(world, "a", code) == NOT_KEPT


def test_nothing_is_kept_of_a_commit_that_is_gone(world: World) -> None:
    world.do("a", {"one": "1"})
    assert continued(world, "a", "1" * 40) == NOT_KEPT


def test_nothing_is_kept_of_a_slice_that_was_never_started(world: World) -> None:
    assert continued(world, "a", world.base) == NOT_KEPT


@pytest.mark.parametrize("merging", [False, True])
def test_nothing_is_kept_where_the_worktree_is_gone(world: World, merging: bool) -> None:
    code = world.do("a", {"one": "1"})
    shutil.rmtree(world.place("a"))
    assert continued(world, "a", code, merging=merging) == NOT_KEPT


def test_nothing_is_kept_that_was_built_on_other_work_of_a_dependency(world: World) -> None:
    world.done("group/a", {"one": "1"})
    code = world.do("group/b", {"two": "2"}, "group/a")
    assert continued(world, "group/b", code, "group/a").is_kept
    world.prepare("group/a")
    world.step("group/a", {"one": "other"})
    assert continued(world, "group/b", code, "group/a") == NOT_KEPT


def test_a_dependency_without_a_branch_is_held_for_a_person(world: World) -> None:
    world.done("group/a", {"one": "1"})
    code = world.do("group/b", {"two": "2"}, "group/a")
    world.git.do("worktree", "remove", "--force", str(world.place("group/a")))
    world.git.do("update-ref", "-d", NAMES.head("group/a"))
    with pytest.raises(HeldError, match="is gone"):
        continued(world, "group/b", code, "group/a")


def test_nothing_is_kept_that_starts_from_commits_that_were_taken_back(world: World) -> None:
    world.done("group/a", {"one": "1"})
    code = world.do("group/b", {"two": "2"})
    for group in ("group", ""):
        world.git.do("update-ref", NAMES.head(group), world.base)
    assert continued(world, "group/b", code) == NOT_KEPT
