"""What a step commits in its clone appears in the repository while the step still runs."""

import os
from pathlib import Path

import pytest

from weft.workspaces.errors import WorkspaceError
from workspaces.clone_steps import begun, clone, cloned_world, committed, enter, step_git
from workspaces.trees import put
from workspaces.worlds import NAMES, World


@pytest.fixture
def world(new_repository: Path, tmp_path: Path) -> World:
    world = cloned_world(new_repository, tmp_path)
    begun(world)
    return world


def take(world: World) -> str:
    """A look while the step runs; where the branch is in the repository then."""
    world.workspaces.take_commits("a")
    return world.tip("a")


def test_each_commit_appears_and_all_are_reported_at_the_end_of_the_step(world: World) -> None:
    first = committed(world, "a", {"one": "1"})
    assert take(world) == first
    second = committed(world, "a", {"two": "2"})
    assert take(world) == second
    put(world.place("a"), {"three": "3"})
    (move,) = world.record("a")
    assert (move.before, move.after) == (world.base, world.tip("a"))
    assert world.git.line("rev-parse", f"{move.after}^") == second
    assert world.kept("a") == set()


def test_outside_the_files_of_the_workspace_are_as_its_branch_has_them(
    new_repository: Path, tmp_path: Path
) -> None:
    world = cloned_world(new_repository, tmp_path / "boxed", opened=False)
    begun(world)
    git = world.at("a")
    oid = git.line("hash-object", "-w", str(world.place("a") / "README"))
    environ = {"GIT_DIR": str(clone(world, "a")), "GIT_WORK_TREE": str(world.place("a"))}
    put(world.place("a"), {"new": "hello\n"})
    for command in (("add", "new"), ("commit", "--quiet", "--message", "new")):
        git.do(*command, env=environ)
    take(world)
    assert git.line("ls-tree", "--format=%(objectname)", world.tip("a"), "new") == oid
    assert step_git(world, "a", "status", "--porcelain", "--branch") == "## weft/notes/a"


def test_what_the_step_has_staged_stays_staged(world: World) -> None:
    committed(world, "a", {"one": "1"})
    put(world.place("a"), {"two": "2"})
    step_git(world, "a", "add", "two")
    take(world)
    assert step_git(world, "a", "status", "--porcelain") == "A  two"


def test_a_commit_that_is_amended_is_replaced_and_kept(world: World) -> None:
    first = committed(world, "a", {"one": "1"})
    take(world)
    step_git(world, "a", "commit", "--amend", "--quiet", "--message", "better")
    better = step_git(world, "a", "rev-parse", "HEAD")
    assert take(world) == better
    world.record("a")
    assert (world.tip("a"), world.kept("a")) == (better, {first})


@pytest.mark.parametrize("is_logged", [True, False])
@pytest.mark.parametrize("is_seen", [True, False])
def test_a_commit_that_the_step_took_back_is_kept_and_the_branch_is_where_the_step_is(
    world: World, is_logged: bool, is_seen: bool
) -> None:
    step_git(world, "a", "config", "core.logAllRefUpdates", str(is_logged).lower())
    made = committed(world, "a", {"one": "1"})
    take(world)
    step_git(world, "a", "reset", "--quiet", "--hard", "HEAD~1")
    if is_seen:
        assert take(world) == world.base
    world.record("a")
    assert (world.tip("a"), world.kept("a")) == (world.base, {made})
    assert step_git(world, "a", "status", "--porcelain") == ""
    assert world.record("a") == []


def test_a_branch_that_a_person_has_moved_is_left_to_the_end_of_the_step(world: World) -> None:
    made = committed(world, "a", {"one": "1"})
    other = world.git.line("commit-tree", "-p", world.base, "-m", "a person", f"{world.base}^{{tree}}")
    world.git.do("update-ref", NAMES.head("a"), other)
    assert take(world) == other
    with pytest.raises(WorkspaceError, match="moved both in the repository and in the clone"):
        world.record("a")
    assert (world.tip("a"), world.kept("a")) == (other, {made})


def test_what_cannot_enter_is_an_error_only_when_the_step_ends(world: World) -> None:
    made = committed(world, "a", {"one": "1"})
    oid = step_git(world, "a", "rev-parse", f"{made}:one")
    (clone(world, "a") / "objects" / oid[:2] / oid[2:]).unlink()
    assert take(world) == world.base
    with pytest.raises(WorkspaceError, match="cannot be fetched into the repository"):
        world.record("a")


def test_a_step_whose_commits_fail_is_left_alone_until_the_next_step(world: World) -> None:
    file = clone(world, "a") / "refs" / "heads" / "weft" / "notes" / "a"
    made = committed(world, "a", {"one": "1"})
    for number in range(3):
        file.write_text("ref: refs/heads/main\n" + "#" * number)
        take(world)
    file.write_text(f"{made}\n")
    assert take(world) == world.base
    world.record("a")
    world.workspaces.prove("a")
    later = committed(world, "a", {"two": "2"})
    assert take(world) == later


def test_no_git_runs_while_no_branch_moves(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed(world, "a", {"one": "1"})
    take(world)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text(f"#!/bin/sh\necho x >> {tmp_path}/ran\nexit 1\n")
    (tmp_path / "bin" / "git").chmod(0o755)
    search = f"{tmp_path}/bin:{os.environ['PATH']}"
    monkeypatch.setenv("PATH", search)
    monkeypatch.setitem(world.git._environ, "PATH", search)
    world.workspaces.take_commits("a")
    put(world.place("a"), {"two": "2"})
    world.workspaces.take_commits("a")
    assert not (tmp_path / "ran").exists()


def test_a_coordinator_that_takes_over_continues_with_what_has_entered(world: World) -> None:
    first = committed(world, "a", {"one": "1"})
    take(world)
    again = enter(world.top)
    assert take(again) == first
    step_git(again, "a", "commit", "--amend", "--quiet", "--message", "better")
    assert take(again) == step_git(again, "a", "rev-parse", "HEAD")
    again.record("a")
    assert again.kept("a") == {first}


def test_a_slice_that_has_no_clone_has_nothing_to_take(new_repository: Path, tmp_path: Path) -> None:
    world = cloned_world(new_repository, tmp_path / "plain")
    plain = World(world.top)
    plain.prepare("b")
    plain.workspaces.take_commits("b")
    assert plain.tip("b") == plain.base
