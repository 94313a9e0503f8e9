"""`isolation: clone`: a git directory for the steps alone, and what they commit there enters the repository."""

import os
import shutil
from pathlib import Path

import pytest

from contracts.workspaces_contract import OwnWorkspacesContract
from weft.engine.messages.facts import EarlierSlice
from weft.ports.workspaces import HeldError, WorkspaceRequest, Workspaces
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.checkouts.registrations import ListedWorktree, read_listed
from weft.workspaces.git.leftovers import LeftoverJudge, SubplanLeftovers
from workspaces.clone_steps import begun, clone, cloned_world, committed, enter, step_git
from workspaces.trees import put
from workspaces.worlds import NAMES, World


@pytest.fixture
def world(new_repository: Path, tmp_path: Path) -> World:
    return cloned_world(new_repository, tmp_path)


class TestClones(OwnWorkspacesContract):
    @pytest.fixture
    def workspaces(self, world: World) -> Workspaces:
        return world.workspaces


class TestClonesForSandboxes(OwnWorkspacesContract):
    @pytest.fixture
    def workspaces(self, new_repository: Path, tmp_path: Path) -> Workspaces:
        return cloned_world(new_repository, tmp_path, opened=False).workspaces


# What a step finds


def test_a_step_has_its_own_git_directory_with_the_branch_and_nothing_to_commit(world: World) -> None:
    begun(world)
    assert step_git(world, "a", "rev-parse", "--git-dir") == str(clone(world, "a"))
    assert step_git(world, "a", "status", "--porcelain", "--branch") == "## weft/notes/a"
    assert step_git(world, "a", "rev-parse", "HEAD", "main") == f"{world.base}\n{world.base}"
    assert step_git(world, "a", "config", "user.name") == "Ada"


def test_what_is_ignored_in_the_repository_is_ignored_in_the_clone(world: World) -> None:
    begun(world)
    put(world.place("a"), {"x.ignored": "1"})
    assert step_git(world, "a", "status", "--porcelain") == ""


def test_tags_are_known_and_refs_of_other_slices_are_not(world: World) -> None:
    world.git.do("tag", "v1")
    world.done("b", {"b": "1"})
    begun(world)
    assert step_git(world, "a", "describe", "--tags", "main") == "v1"
    refs = step_git(world, "a", "for-each-ref", "--format=%(refname)").splitlines()
    assert refs == ["refs/heads/main", "refs/heads/weft/notes/a", "refs/tags/v1"]


def test_what_git_keeps_for_a_step_is_not_the_repository_s(world: World) -> None:
    begun(world)
    put(world.place("a"), {"README": "changed\n"})
    before = world.refs()
    step_git(world, "a", "stash")
    step_git(world, "a", "branch", "other")
    step_git(world, "a", "config", "core.hooksPath", "nowhere")
    assert world.refs() == before
    assert world.git.ask("config", "core.hooksPath").text == os.devnull


def test_a_sparse_clone_has_only_some_directories(world: World) -> None:
    world.commit({"src/x": "1", "docs/y": "2"})
    world.git.do("update-ref", "refs/weft-test/base", "HEAD")
    world = enter(world.top)
    world.workspaces.prepare(WorkspaceRequest(path="a", sparse=("src",)))
    world.workspaces.prove("a")
    assert not (world.place("a") / "docs").exists()
    assert step_git(world, "a", "status", "--porcelain") == ""
    made = committed(world, "a", {"src/z": "3"})
    world.record("a")
    assert set(world.files(made)) == {"README", "lines", "src/x", "src/z", "docs/y"}


# What it commits


def test_what_a_step_commits_is_on_the_branch_in_the_repository_after_it(world: World) -> None:
    begun(world)
    made = committed(world, "a", {"one": "1"})
    assert world.tip("a") == world.base
    moves = world.record("a")
    assert world.tip("a") == made
    assert [(move.before, move.after) for move in moves] == [(world.base, made)]


def test_what_a_step_leaves_is_committed_upon_its_commits_and_the_clone_has_that_then(world: World) -> None:
    begun(world)
    made = committed(world, "a", {"one": "1"})
    put(world.place("a"), {"two": "2"})
    world.record("a")
    assert world.git.line("rev-parse", f"{world.tip('a')}^") == made
    assert step_git(world, "a", "rev-parse", "HEAD") == world.tip("a")
    assert step_git(world, "a", "status", "--porcelain") == ""


def test_steps_continue_with_what_those_before_them_committed(world: World) -> None:
    begun(world)
    for number in range(3):
        world.workspaces.prove("a")
        committed(world, "a", {f"file{number}": "x"})
        put(world.place("a"), {f"left{number}": "x"})
        world.record("a", step=f"step{number}")
    assert len(world.subjects(f"{world.base}..{world.tip('a')}")) == 6
    world.merge("a")
    assert {"file2", "left2"} <= set(world.files(world.tip("")))


def test_a_file_that_is_ignored_and_was_committed_stays_committed(world: World) -> None:
    begun(world)
    put(world.place("a"), {"x.ignored": "1"})
    step_git(world, "a", "add", "--force", "x.ignored")
    step_git(world, "a", "commit", "--quiet", "--message", "on purpose")
    world.record("a")
    assert "x.ignored" in world.files(world.tip("a"))


def test_objects_that_a_step_has_packed_enter_too(world: World) -> None:
    begun(world)
    committed(world, "a", {"one": "1"})
    step_git(world, "a", "repack", "-adlq")
    step_git(world, "a", "pack-refs", "--all")
    made = committed(world, "a", {"two": "2"})
    world.record("a")
    assert world.tip("a") == made
    assert world.git.ask("fsck", "--connectivity-only").exit_code == 0
    assert step_git(world, "a", "log", "--format=%s", f"{world.base}..") == "by the agent\nby the agent"


def test_many_objects_enter_as_one_pack(world: World) -> None:
    begun(world)
    made = committed(world, "a", {f"many/{number}": str(number) for number in range(150)})
    packs = world.top / ".git" / "objects" / "pack"
    before = {pack.name for pack in packs.glob("*.pack")}
    world.record("a")
    assert world.tip("a") == made
    assert len({pack.name for pack in packs.glob("*.pack")} - before) == 1


def test_a_large_file_and_an_empty_one_enter_byte_for_byte(world: World) -> None:
    begun(world)
    big = "".join(f"{number}\n" for number in range(200_000))
    made = committed(world, "a", {"big": big, "empty": ""})
    world.record("a")
    assert world.files(made)["big"] == big
    assert world.files(made)["empty"] == ""


def test_what_an_agent_has_undone_is_kept(world: World) -> None:
    begun(world)
    first = committed(world, "a", {"one": "1"})
    step_git(world, "a", "commit", "--amend", "--quiet", "--message", "better")
    better = step_git(world, "a", "rev-parse", "HEAD")
    world.record("a")
    assert world.tip("a") == better
    assert world.kept("a") == {first}


def test_commits_that_were_reset_away_are_kept_though_the_branch_is_where_it_was(world: World) -> None:
    begun(world)
    made = committed(world, "a", {"one": "1"})
    step_git(world, "a", "reset", "--quiet", "--hard", "HEAD~1")
    assert world.record("a") == []
    assert (world.tip("a"), world.kept("a")) == (world.base, {made})


def test_the_user_s_filters_are_not_run_on_what_a_step_left(world: World, tmp_path: Path) -> None:
    world.git.do("config", "filter.evil.clean", f"touch {tmp_path}/ran; cat")
    world.git.do("config", "filter.evil.required", "true")
    begun(world)
    put(world.place("a"), {".gitattributes": "* filter=evil\n", "one": "1"})
    world.record("a")
    assert world.files(world.tip("a"))["one"] == "1"
    assert not (tmp_path / "ran").exists()


# What is not as it should be


def test_another_branch_in_the_clone_is_reported_and_what_is_there_is_kept(world: World) -> None:
    begun(world)
    step_git(world, "a", "switch", "--quiet", "--create", "mine")
    made = committed(world, "a", {"one": "1"})
    with pytest.raises(WorkspaceError, match=r"has no branch checked out; it must have weft/notes/a"):
        world.record("a")
    assert "refs/heads/mine" not in world.refs()
    assert world.kept("a") == {made}
    with pytest.raises(WorkspaceError, match="no branch checked out"):
        world.record("a")


def test_an_unfinished_merge_in_the_clone_is_reported(world: World) -> None:
    begun(world)
    step_git(world, "a", "switch", "--quiet", "--create", "side")
    committed(world, "a", {"README": "side\n"})
    step_git(world, "a", "switch", "--quiet", "weft/notes/a")
    committed(world, "a", {"README": "main\n"})
    step_git(world, "a", "merge", "side", check=False)
    with pytest.raises(WorkspaceError, match=r"a `git merge` is unfinished .*type: weft retry a$"):
        world.record("a")
    world.prepare("a")
    world.workspaces.prove("a")
    assert step_git(world, "a", "status", "--porcelain") == ""


def test_a_branch_that_both_moved_is_reported_and_nothing_is_lost(world: World) -> None:
    begun(world)
    made = committed(world, "a", {"one": "1"})
    other = world.git.line("commit-tree", "-p", world.base, "-m", "a person", f"{world.base}^{{tree}}")
    world.git.do("update-ref", NAMES.head("a"), other)
    with pytest.raises(WorkspaceError, match=r"moved both in the repository and in the clone.*weft retry a"):
        world.record("a")
    assert (world.tip("a"), world.kept("a")) == (other, {made})


def test_a_lock_that_a_dead_git_left_in_the_clone_goes(world: World) -> None:
    begun(world)
    for name in ("index.lock", "HEAD.lock", "refs/heads/weft/notes/a.lock"):
        (clone(world, "a") / name).touch()
    world.workspaces.prove("a")
    assert committed(world, "a", {"one": "1"})


def test_commits_that_cannot_enter_are_an_error_and_the_slice_can_be_done_again(world: World) -> None:
    begun(world)
    committed(world, "a", {"one": "1"})
    shutil.rmtree(clone(world, "a") / "objects")
    (clone(world, "a") / "objects").mkdir()
    with pytest.raises(WorkspaceError, match=r"cannot be fetched into the repository: .*weft retry a"):
        world.record("a")
    assert world.tip("a") == world.base
    world.prepare("a")
    world.workspaces.prove("a")
    assert step_git(world, "a", "status", "--porcelain") == ""
    (kept,) = world.kept("a")
    assert world.files(kept)["one"] == "1"


# People, and other slices


def test_a_conflict_is_settled_outside_on_the_branch_of_the_repository(world: World) -> None:
    begun(world)
    committed(world, "a", {"README": "mine\n"})
    world.record("a")
    world.done("b", {"README": "theirs\n"})
    with pytest.raises(HeldError, match=r"git -C .*/a merge weft/notes/_plan"):
        world.merge("a")
    step_git(world, "a", "merge", "weft/notes/_plan", check=False)
    put(world.place("a"), {"README": "both\n"})
    step_git(world, "a", "commit", "--all", "--quiet", "--message", "settled")
    world.merge("a")
    assert world.files(world.tip(""))["README"] == "both\n"


def test_an_agent_resolves_a_conflict_in_its_clone(world: World) -> None:
    begun(world)
    committed(world, "a", {"README": "mine\n"})
    world.record("a")
    world.done("b", {"README": "theirs\n"})
    with pytest.raises(HeldError):
        world.merge("a")
    assert world.open_conflict("a").files == ("README",)
    assert step_git(world, "a", "status", "--porcelain") == "UU README"
    put(world.place("a"), {"README": "both\n"})
    step_git(world, "a", "add", "README")
    step_git(world, "a", "commit", "--quiet", "--no-edit")
    assert world.close_conflict("a").message == ""
    world.merge("a", resolved=True)
    assert world.files(world.tip(""))["README"] == "both\n"


@pytest.mark.parametrize("version", [2, 3, 4])
def test_a_file_that_one_side_removed_is_settled_by_git_add_or_rm_in_the_clone(
    world: World, version: int
) -> None:
    begun(world)
    committed(world, "a", {"README": "mine\n"})
    world.record("a")
    world.prepare("b")
    (world.place("b") / "README").unlink()
    world.record("b")
    world.merge("b")
    with pytest.raises(HeldError):
        world.merge("a")
    world.open_conflict("a")
    assert world.close_conflict("a").message.startswith("it left the conflict in README")
    world.open_conflict("a")
    step_git(world, "a", "update-index", "--index-version", str(version))
    step_git(world, "a", "add", "README")
    assert world.close_conflict("a").message == ""


def test_a_slice_continues_with_its_last_commit_and_its_clone_is_there_too(world: World) -> None:
    begun(world)
    made = committed(world, "a", {"one": "1"})
    world.record("a")
    later = committed(world, "a", {"two": "2"})
    again = enter(world.top)
    earlier = EarlierSlice(subplan="a", run="r", commit=made)
    assert again.workspaces.continue_after(WorkspaceRequest(path="a"), earlier).is_kept
    again.workspaces.prove("a")
    assert (again.tip("a"), step_git(again, "a", "rev-parse", "HEAD")) == (made, made)
    assert later in again.kept("a")
    assert step_git(again, "a", "status", "--porcelain") == ""


def test_what_was_committed_in_a_clone_whose_directory_is_gone_is_kept(world: World) -> None:
    begun(world)
    made = committed(world, "a", {"one": "1"})
    shutil.rmtree(world.place("a"))
    world.prepare("a")
    assert made in world.kept("a")


def test_a_worktree_of_before_gets_a_clone(world: World) -> None:
    old = World(world.top)
    old.prepare("a")
    old.step("a", {"one": "1"})
    world.workspaces.prove("a")
    assert step_git(world, "a", "rev-parse", "HEAD") == world.tip("a")


def test_what_is_in_a_clone_alone_is_not_cleaned_away(world: World) -> None:
    begun(world)
    judge = LeftoverJudge(world.git, "main", world.base, ())
    left = SubplanLeftovers(name="a", head=NAMES.head("a"), worktree=of_slice(world, "a"))
    assert judge.judge([left]).stays == []
    committed(world, "a", {"one": "1"})
    message = "the clone of its steps has commits that are not in the repository"
    assert message in [stays.message for stays in judge.judge([left]).stays]
    (clone(world, "a") / "HEAD").unlink()
    (clone(world, "a") / "HEAD").symlink_to("config")
    assert message in [stays.message for stays in judge.judge([left]).stays]


def of_slice(world: World, path: str) -> ListedWorktree:
    return next(item for item in read_listed(world.git) if item.path == world.place(path))


def test_with_the_worktree_the_clone_goes(world: World) -> None:
    begun(world)
    (clone(world, "a") / "refs" / "heads").chmod(0)
    world.prepare("a")
    world.merge("a")
    world.git.do("worktree", "remove", "--force", str(world.place("a")))
    assert not clone(world, "a").exists()
