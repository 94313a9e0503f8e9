"""Copies of worktrees on other machines: a step that works in the copy leaves the same as one that works here."""

import subprocess
from pathlib import Path

import pytest

from weft.ports.machines import FarError, StaleTokenError, UnreachableError
from weft.ports.workspaces import WorkspaceRequest
from weft.workspaces.errors import WorkspaceError
from workspaces.copied_world import CopiedWorld
from workspaces.trees import put, tree
from workspaces.worlds import NAMES


@pytest.fixture
def world(new_repository: Path, tmp_path: Path) -> CopiedWorld:
    subprocess.run(("cp", "-a", new_repository, tmp_path / "repository"), check=True)
    return CopiedWorld(tmp_path / "repository")


def files(place: Path) -> dict[str, object]:
    return {name: made for name, made in tree(place).items() if name != ".git"}


# What a step finds


def test_a_copy_has_the_files_of_the_worktree_and_nothing_to_commit(world: CopiedWorld) -> None:
    world.begin("a")
    assert files(world.copy("a")) == files(world.place("a"))
    assert world.far_git("a", "status", "--porcelain", "--branch") == "## weft/notes/a"
    assert world.far_git("a", "config", "user.name") == "Ada"


def test_a_copy_has_what_is_not_committed_here_as_uncommitted(world: CopiedWorld) -> None:
    world.prepare("a")
    put(world.place("a"), {"new": "1", "README": "changed\n", "lines": None})
    world.send("a")
    status = world.far_git("a", "status", "--porcelain").splitlines()
    assert sorted(line.split() for line in status) == [["??", "new"], ["D", "lines"], ["M", "README"]]
    assert files(world.copy("a")) == files(world.place("a"))


def test_ignored_files_stay_in_the_copy_and_do_not_come_back(world: CopiedWorld) -> None:
    world.begin("a")
    world.far_step("a", {"x.ignored": "1", "seen": "2"})
    assert "x.ignored" not in files(world.place("a"))
    world.far_step("a", {"seen": "3"})
    assert files(world.copy("a"))["x.ignored"] == "1"


# What it leaves


def test_what_a_step_leaves_is_recorded_as_if_it_had_worked_here(world: CopiedWorld) -> None:
    world.begin("a")
    world.far_step("a", {"new": "1", "run": ["#!/bin/sh\n"], "link": ("new",), "README": None})
    assert world.files(world.tip("a")).keys() == {"new", "run", "link", "lines"}
    assert world.entries(world.tip("a"))["run"] == "100755"
    assert world.entries(world.tip("a"))["link"] == "120000"
    assert files(world.place("a")) == files(world.copy("a"))
    assert world.at("a").line("status", "--porcelain") == ""


def test_commits_of_a_step_are_on_the_branch_here(world: CopiedWorld) -> None:
    world.begin("a")
    commit = world.far_commit("a", {"new": "1"})
    put(world.copy("a"), {"more": "2"})
    world.fetch("a")
    assert world.tip("a") == commit
    world.record("a")
    assert world.subjects(f"{world.base}..{world.tip('a')}") == ["by the agent", "a: code"]
    world.far_step("a", {"third": "3"})
    assert world.far_git("a", "log", "--format=%s", f"{world.base}..").splitlines()[-1] == "by the agent"


def test_a_step_that_changes_nothing_moves_nothing(world: CopiedWorld) -> None:
    world.begin("a")
    before = world.everything()
    world.fetch("a")
    assert world.everything() == before


def test_commits_that_a_step_takes_back_are_kept(world: CopiedWorld) -> None:
    world.begin("a")
    first = world.far_commit("a", {"new": "1"})
    world.far_git("a", "commit", "--quiet", "--amend", "--message", "better")
    world.fetch("a")
    assert world.kept("a") == {first}
    assert world.subjects(f"{world.base}..{world.tip('a')}") == ["better"]


def test_a_change_of_a_reader_is_undone_here_and_there(world: CopiedWorld) -> None:
    world.begin("a")
    world.watch("a", "job")
    world.send("a")
    put(world.copy("a"), {"new": "1", "README": None})
    world.fetch("a")
    breach = world.restore("a", "job")
    assert breach is not None
    assert breach.files == ("README", "new")
    world.send("a")
    assert files(world.copy("a")) == files(world.place("a"))
    assert "README" in files(world.copy("a"))


def test_an_unfinished_merge_is_an_error_and_its_files_come_here(world: CopiedWorld) -> None:
    world.begin("a")
    world.far_commit("a", {"new": "1"})
    world.far_git("a", "branch", "side", world.base)
    world.far_git("a", "merge", "--quiet", "--no-commit", "--no-ff", "-s", "ours", "side")
    put(world.copy("a"), {"half": "1"})
    world.far_git("a", "update-ref", "MERGE_HEAD", world.base)
    with pytest.raises(WorkspaceError, match="a `git merge` is unfinished"):
        world.fetch("a")
    assert files(world.place("a"))["half"] == "1"


def test_a_nested_repository_is_an_error_and_nothing_moves(world: CopiedWorld) -> None:
    world.begin("a")
    before = world.everything()
    inner = world.copy("a") / "inner"
    inner.mkdir()
    world.far_git("a", "init", "--quiet", str(inner))
    put(inner, {"file": "1"})
    world.far_git("a", "-C", "inner", "add", "file")
    author = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    world.far_git("a", "-C", "inner", *author, "commit", "--quiet", "--message", "inner")
    with pytest.raises(FarError, match="contains other repositories"):
        world.fetch("a")
    assert world.everything() == before


def test_what_a_person_changes_here_meanwhile_is_kept(world: CopiedWorld) -> None:
    world.begin("a")
    put(world.place("a"), {"mine": "by hand"})
    put(world.copy("a"), {"theirs": "by the step"})
    world.fetch("a")
    world.record("a")
    assert world.files(world.tip("a")).keys() == {"README", "lines", "theirs"}
    assert [world.files(commit)["mine"] for commit in world.kept("a")] == ["by hand"]


def test_a_branch_that_moved_here_and_there_keeps_both(world: CopiedWorld) -> None:
    world.begin("a")
    theirs = world.far_commit("a", {"theirs": "1"})
    put(world.place("a"), {"ours": "2"})
    world.record("a", step="beside")
    ours = world.tip("a")
    world.fetch("a")
    assert theirs in world.kept("a")
    world.record("a")
    assert world.subjects(f"{ours}..{world.tip('a')}") == ["a: code"]
    assert world.files(world.tip("a"))["theirs"] == "1"


# Files that are in no commit


def test_copied_files_go_there_and_are_no_work(world: CopiedWorld) -> None:
    put(world.top, {".env": "secret"})
    world.workspaces.prepare(WorkspaceRequest(path="a", copy=(".env",)))
    world.workspaces.prove("a")
    world.send("a")
    assert files(world.copy("a"))[".env"] == "secret"
    world.far_step("a", {"new": "1"})
    assert world.files(world.tip("a")).keys() == {"README", "lines", "new"}
    assert (world.place("a") / ".env").read_text() == "secret"


def test_files_of_the_set_up_there_are_no_work(world: CopiedWorld) -> None:
    world.prepare("a")
    assert not world.send("a"), "its set-up is not complete"
    put(world.copy("a"), {"made by set-up #1": "1"})
    world.copies.accept(world.placed("a"))
    assert world.send("a")
    world.far_step("a", {"new": "1"})
    assert world.files(world.tip("a")).keys() == {"README", "lines", "new"}


# Placements


def test_the_work_of_an_earlier_placement_is_kept_and_not_used(world: CopiedWorld) -> None:
    world.begin("a")
    put(world.copy("a"), {"stale": "1"})
    world.token = "r.1.2"
    world.send("a")
    assert files(world.copy("a")) == files(world.place("a"))
    assert [world.files(commit)["stale"] for commit in world.kept("a")] == ["1"]
    assert sorted(place.name for place in (world.calls.directory / "runs/r/files").iterdir()) == ["a"]


def test_a_result_with_a_stale_token_is_refused(world: CopiedWorld) -> None:
    world.begin("a")
    stale = world.placed("a")
    world.token = "r.1.2"
    world.send("a")
    with pytest.raises(WorkspaceError, match="has never been sent"):
        world.copies.fetch(stale)
    world.token = "r.1.1"
    with pytest.raises(StaleTokenError, match=r"belongs to r\.1\.2"):
        world.copies.remove(world.placed("a"))


def test_a_machine_that_returns_after_its_slice_was_placed_elsewhere_loses_nothing(
    world: CopiedWorld,
) -> None:
    world.begin("a")
    put(world.copy("a"), {"late": "1"})
    world.copies.keep_stale_work("near", "near", {"a": "r.1.2"})
    assert [world.files(commit)["late"] for commit in world.kept("a")] == ["1"]
    assert not world.copy("a").exists()


def test_a_machine_that_has_lost_the_workspace_gets_another_one(world: CopiedWorld) -> None:
    world.begin("a")
    world.far_step("a", {"new": "1"})
    subprocess.run(("rm", "-rf", world.calls.directory), check=True)
    world.workspaces.prove("a")
    assert not world.send("a")
    assert files(world.copy("a")) == files(world.place("a"))


# What travels


def test_a_second_exchange_sends_only_what_is_new(world: CopiedWorld) -> None:
    world.begin("a")
    world.calls.made.clear()
    world.far_step("a", {"new": "1"})
    world.far_step("a", {"new": "2"})
    assert world.calls.made == ["work.put", "work.take", "work.put", "work.take"]


def test_another_slice_needs_no_commits_that_are_there(world: CopiedWorld) -> None:
    world.begin("a")
    repository = world.calls.directory / "repositories" / "p.git"
    before = sorted(repository.rglob("objects/??/*"))
    world.begin("b")
    assert sorted(repository.rglob("objects/??/*")) == before


# Crashes of the carrier at each call


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("number", range(1, 8))
def test_an_exchange_that_is_cut_off_can_be_repeated(world: CopiedWorld, number: int, *, after: bool) -> None:
    put(world.top, {".env": "secret"})
    world.prepare("a")
    world.workspaces.prove("a")
    world.calls.cut(number, after=after)

    def repeated(operation: str) -> None:
        try:
            getattr(world, operation)("a")
        except UnreachableError:
            getattr(world, operation)("a")

    repeated("send")
    commit = world.far_commit("a", {"committed": "1"})
    put(world.copy("a"), {"new": "2", "README": None})
    repeated("fetch")
    assert world.tip("a") == commit
    world.record("a")
    repeated("send")
    put(world.copy("a"), {"again": "3"})
    repeated("fetch")
    world.record("a", step="test")
    expected = {"lines", "committed", "new", "again"}
    assert world.files(world.tip("a")).keys() == expected
    assert world.refs(NAMES.kept("a", "").rstrip("/")) == {}
