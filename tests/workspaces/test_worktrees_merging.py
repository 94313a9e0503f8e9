"""`isolation: worktree`: how what slices and groups did comes together and is verified."""

import shutil
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from weft.engine.messages.facts import RefMove
from weft.ports.workspaces import HeldError, MergeRequest, MergeResult
from weft.workspaces.errors import WorkspaceError
from workspaces.git.repositories import contents
from workspaces.trees import put
from workspaces.worlds import NAMES, World, heads

LINES = "".join(f"{number}\n" for number in range(20))


def with_line(number: int, text: str) -> str:
    lines = LINES.splitlines()
    return "\n".join((*lines[:number], text, *lines[number + 1 :], ""))


# Merging


def test_a_slice_that_is_merged_alone_needs_no_verify(world: World) -> None:
    made = world.do("group/a", {"one": "1"})
    merged = world.merge("group/a", verifies=True)
    assert merged == MergeResult(
        moves=(RefMove(ref=NAMES.head("group"), before=world.base, after=world.tip("group")),)
    )
    parents = world.git.line("show", "--no-patch", "--format=%P", "weft/notes/group")
    assert parents == f"{world.base} {made}"
    message = world.git.line("show", "--no-patch", "--format=%B", "weft/notes/group").splitlines()
    assert message == ["Merge group/a", "", "Weft-Plan: notes", "Weft-Subplan: group/a"]


def test_a_slice_whose_branch_has_moved_is_verified_first(world: World) -> None:
    world.do("a", {"one": "1"})
    world.done("b", {"two": "2"})
    before = world.tip("")
    merged = world.merge("a", verifies=True)
    assert merged == MergeResult(verify_in=world.place("_check.a"))
    assert contents(world.place("_check.a")).keys() == {"README", "lines", "one", "two"}
    assert world.tip("") == before


def test_a_slice_that_a_person_changed_since_its_last_step_is_verified_first(world: World) -> None:
    world.do("a", {"one": "1"})
    put(world.place("a"), {"one": "changed"})
    world.at("a").do("commit", "--quiet", "--all", "--message", "a person")
    assert world.merge("a", verifies=True).verify_in == world.place("_check.a")


def test_what_passed_is_published_and_the_scratch_worktree_goes(world: World) -> None:
    world.do("a", {"one": "1"})
    world.done("b", {"two": "2"})
    before = world.tip("")
    world.merge("a", verifies=True)
    published = world.workspaces.publish("a")
    assert published == MergeResult(moves=(RefMove(ref=NAMES.head(""), before=before, after=world.tip("")),))
    assert world.files("weft/notes/_plan").keys() == {"README", "lines", "one", "two"}
    assert not world.place("_check.a").exists()
    assert world.refs("refs/weft/merging") == {}


def test_what_was_merged_with_something_older_is_not_published_but_merged_again(world: World) -> None:
    world.do("a", {"one": "1"})
    world.done("b", {"two": "2"})
    world.merge("a", verifies=True)
    world.done("c", {"three": "3"})
    before = world.tip("")
    assert world.workspaces.publish("a") is None
    assert world.tip("") == before
    world.merge("a", verifies=True)
    assert contents(world.place("_check.a")).keys() == {"README", "lines", "one", "two", "three"}
    assert heads(world.publish("a").moves) == ["weft/notes/_plan"]


def test_what_was_changed_while_it_was_verified_is_not_published(world: World) -> None:
    world.do("a", {"one": "1"})
    world.done("b", {"two": "2"})
    world.merge("a", verifies=True)
    world.step("a", {"one": "changed"})
    assert world.workspaces.publish("a") is None


def test_what_failed_is_discarded_and_nothing_has_moved(world: World) -> None:
    world.do("a", {"one": "1"})
    world.done("b", {"two": "2"})
    before = world.refs("refs/heads")
    world.merge("a", verifies=True)
    world.workspaces.discard("a")
    world.workspaces.discard("a")
    assert world.refs("refs/heads") == before
    assert not world.place("_check.a").exists()
    assert world.refs("refs/weft/merging") == {}
    assert world.workspaces.publish("a") is None


def test_a_group_is_verified_as_a_whole_unless_that_was_done_where_it_is_gathered(world: World) -> None:
    world.done("group/a", {"one": "1"})
    world.done("group/b", {"two": "2"})
    assert world.merge("group", verifies=True).verify_in == world.place("_check.group")
    world.workspaces.discard("group")
    assert contents(world.gather("group")).keys() == {"README", "lines", "one", "two"}
    assert heads(world.merge("group", verifies=True).moves) == ["weft/notes/_plan"]
    assert not world.place("_check.group").exists()


def test_a_slice_that_changed_nothing_is_merged_without_a_move(world: World) -> None:
    world.prepare("a")
    world.step("a", {})
    world.done("b", {"two": "2"})
    assert world.merge("a") == MergeResult()
    assert world.land("a") == MergeResult()


def test_a_slice_that_changed_nothing_though_it_started_with_others_does_not_bring_them(world: World) -> None:
    world.done("group/a", {"one": "1"})
    world.prepare("other/b", "group/a")
    assert world.merge("other/b") == MergeResult()
    assert world.tip("other") == world.base


def test_a_group_of_which_nothing_has_a_branch_is_merged_and_lands_without_a_move(world: World) -> None:
    assert world.merge("group") == MergeResult()
    assert world.land("group", not_landed=("other",)) == MergeResult()


def test_a_merge_that_is_asked_for_again_is_found_done_and_reported_again(world: World) -> None:
    world.do("a", {"one": "1"})
    first = world.merge("a")
    world.done("b", {"two": "2"})
    assert world.merge("a") == first


def test_a_publication_that_is_asked_for_again_is_found_done_and_reported_again(world: World) -> None:
    world.do("a", {"one": "1"})
    world.done("b", {"two": "2"})
    world.merge("a", verifies=True)
    first = world.workspaces.publish("a")
    world.done("c", {"three": "3"})
    assert world.workspaces.publish("a") == first
    assert world.merge("a", verifies=True) == first


def test_merges_of_many_slices_at_once_all_come_together(world: World) -> None:
    paths = [f"s{number}" for number in range(6)]
    for path in paths:
        world.do(path, {path: path})
    barrier = Barrier(len(paths))

    def merge(path: str) -> None:
        barrier.wait()
        world.merge(path)

    with ThreadPoolExecutor(len(paths)) as pool:
        list(pool.map(merge, paths))
    assert world.files("weft/notes/_plan").keys() == {"README", "lines", *paths}


def test_a_branch_that_another_program_moves_all_the_time_is_reported(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.do("a", {"one": "1"})
    monkeypatch.setattr("weft.workspaces.git.merges.integrate.move", lambda *_, **__: False)
    with pytest.raises(WorkspaceError, match="weft/notes/_plan keeps moving; find the other program"):
        world.merge("a")


def test_branches_around_that_another_program_moves_all_the_time_are_reported(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.workspaces.worktrees.move", lambda *_, **__: False)
    with pytest.raises(WorkspaceError, match="the branches around a keep moving"):
        world.prepare("a")
    with pytest.raises(WorkspaceError, match="the branches around the plan keep moving"):
        world.gather("")


def test_a_note_that_another_program_moves_is_reported(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.prepare("a")
    world.done("b", {})
    monkeypatch.setattr("weft.workspaces.git.plan_repository.move", lambda *_, **__: False)
    with pytest.raises(
        WorkspaceError, match=r"refs/weft/passed/notes/_plan: moved by another process at this moment"
    ):
        world.gather("")


def test_everything_that_git_can_hold_comes_through(world: World) -> None:
    world.do(
        "a",
        {
            "README": None,
            "moved/lines": LINES,
            "lines": None,
            "program": ["#!/bin/sh\n"],
            "link": ("moved/lines",),
            "ünï cödé\n": "strange\n",
        },
    )
    (world.place("a") / "binary").write_bytes(bytes(range(256)))
    world.record("a")
    world.done("b", {"lines": with_line(3, "three")})
    world.merge("a")
    world.land("a")
    world.land("b")
    assert world.entries("main") == {
        "moved/lines": "100644",
        "program": "100755",
        "link": "120000",
        "ünï cödé\n": "100644",
        "binary": "100644",
    }
    assert (world.top / "binary").read_bytes() == bytes(range(256))
    assert (world.top / "moved/lines").read_text() == with_line(3, "three")
    assert (world.top / "program").stat().st_mode & stat.S_IXUSR
    assert not (world.top / "README").exists()
    assert world.git.line("status", "--porcelain") == ""


def test_a_hundred_branches_come_together(world: World) -> None:
    made = []
    for number in range(100):
        path = f"group/s{number}"
        world.git.do("update-ref", NAMES.start(path), world.base)
        made.append(
            f"commit {NAMES.head(path)}\ncommitter A <a@b> 1700000000 +0000\ndata 0\nfrom {world.base}\n"
        )
        made.append(f"M 644 inline f{number}\ndata 2\n{number:02}\n")
    world.git.do("fast-import", "--quiet", stdin="".join(made).encode())
    world.prepare("group/other")
    for number in range(100):
        world.merge(f"group/s{number}")
    assert len(world.files("weft/notes/group")) == 102


# Conflicts


def test_a_conflict_is_held_with_its_files_and_nothing_has_moved(world: World) -> None:
    world.do("a", {"lines": with_line(3, "mine")})
    world.done("b", {"lines": with_line(3, "other")})
    before = world.refs()
    with pytest.raises(
        HeldError, match="a cannot be merged into weft/notes/_plan: 1 file in conflict"
    ) as held:
        world.merge("a")
    assert (held.value.conflict, held.value.files) == (True, ("lines",))
    assert world.refs() == before


def test_a_conflict_that_a_person_settled_is_merged_after_a_verify(world: World) -> None:
    world.do("a", {"lines": with_line(3, "mine")})
    world.done("b", {"lines": with_line(3, "other")})
    with pytest.raises(HeldError):
        world.merge("a")
    settle(world, "a", "weft/notes/_plan", "both")
    assert world.merge("a", verifies=True).verify_in == world.place("_check.a")
    world.workspaces.publish("a")
    assert world.files("weft/notes/_plan")["lines"] == with_line(3, "both")


def settle(world: World, path: str, other: str, text: str) -> None:
    git = world.at(path)
    assert git.ask("merge", "--quiet", other).exit_code == 1
    put(world.place(path), {"lines": with_line(3, text)})
    git.do("commit", "--quiet", "--all", "--message", "settled")


def test_a_merge_that_a_person_has_not_finished_is_held(world: World) -> None:
    world.do("a", {"lines": with_line(3, "mine")})
    world.done("b", {"lines": with_line(3, "other")})
    world.at("a").ask("merge", "--quiet", "weft/notes/_plan")
    with pytest.raises(HeldError, match=r"a `git merge` is unfinished in .*; then type: weft merge a"):
        world.merge("a")


def test_a_group_in_conflict_gets_a_worktree_to_settle_it_in(world: World) -> None:
    world.done("group/a", {"lines": with_line(3, "mine")})
    world.done("b", {"lines": with_line(3, "other")})
    with pytest.raises(HeldError, match=f"git -C {world.place('group')} merge weft/notes/_plan"):
        world.merge("group")
    settle(world, "group", "weft/notes/_plan", "both")
    assert heads(world.merge("group").moves) == ["weft/notes/_plan"]


def test_what_comes_to_a_group_while_it_has_a_worktree_comes_to_that_too(world: World) -> None:
    world.done("group/a", {"lines": with_line(3, "mine")})
    world.do("group/c", {"three": "3"})
    world.done("b", {"lines": with_line(3, "other")})
    with pytest.raises(HeldError):
        world.merge("group")
    world.merge("group/c")
    assert (world.place("group") / "three").read_text() == "3"
    assert world.at("group").line("status", "--porcelain") == ""


def test_a_conflict_is_settled_where_a_person_has_the_branch_checked_out(world: World) -> None:
    world.do("a", {"lines": with_line(3, "mine")})
    world.done("b", {"lines": with_line(3, "other")})
    world.git.do("worktree", "remove", str(world.place("a")))
    world.git.do("switch", "--quiet", "weft/notes/a")
    with pytest.raises(HeldError, match=rf"git -C {world.top} merge weft/notes/_plan"):
        world.merge("a")


def test_files_that_are_taken_from_the_branch_are_taken_only_where_they_are_in_conflict(world: World) -> None:
    world.do("a", {"lines": with_line(3, "mine"), "README": "mine\n"})
    world.done("b", {"lines": with_line(15, "fifteen"), "README": "other\n"})
    with pytest.raises(HeldError, match="README"):
        world.merge("a", take=("li*",))
    world.merge("a", take=("README", "lines"))
    assert world.files("weft/notes/_plan") == {
        "README": "mine\n",
        "lines": with_line(3, "mine").replace("\n15\n", "\nfifteen\n"),
    }


# Files that a slice may change


def test_files_outside_of_those_that_are_allowed_are_an_error(world: World) -> None:
    world.do("a", {"src/one": "1", "lines": "", "README": ""})
    with pytest.raises(WorkspaceError, match=r"outside of its `files`, .* forbids that: README, lines"):
        world.merge("a", files=("src/**",))
    assert heads(world.merge("a", files=("src/**", "lines", "READ*")).moves) == ["weft/notes/_plan"]


def test_what_others_did_does_not_count_as_changed_by_a_slice(world: World) -> None:
    world.done("group/x", {"far": "1"})
    world.do("other/a", {"src/one": "1"}, "group/x")
    world.done("other/b", {"near": "2"})
    world.at("other/a").do("merge", "--quiet", "weft/notes/other")
    assert heads(world.merge("other/a", files=("src/**",)).moves) == ["weft/notes/other"]


# What a person has done to it


def test_a_slice_without_its_branch_is_held_with_the_command_that_restores_it(world: World) -> None:
    last = world.do("a", {"one": "1"})
    world.git.do("update-ref", "-d", NAMES.head("a"))
    with pytest.raises(
        HeldError, match=f"weft/notes/a .* is gone; .* git branch weft/notes/a {last[:12]}; .* weft merge a"
    ):
        world.merge("a")
    world.git.do("branch", "weft/notes/a", last[:12])
    assert heads(world.merge("a").moves) == ["weft/notes/_plan"]


def test_a_group_without_its_branch_can_be_restored(world: World) -> None:
    world.done("group/a", {"one": "1"})
    world.done("group/b", {"two": "2"})
    world.do("group/c", {"three": "3"})
    last = world.tip("group")
    world.git.do("update-ref", "-d", NAMES.head("group"))
    with pytest.raises(HeldError, match=f"git branch weft/notes/group {last[:12]}, then run the plan again"):
        world.merge("group/c")


def test_a_worktree_that_was_removed_by_hand_does_not_hinder_a_merge(world: World) -> None:
    world.do("a", {"one": "1"})
    shutil.rmtree(world.place("a"))
    assert heads(world.merge("a").moves) == ["weft/notes/_plan"]


def test_a_worktree_without_its_branch_is_held(world: World) -> None:
    world.do("a", {"one": "1"})
    world.at("a").do("switch", "--quiet", "--detach")
    with pytest.raises(HeldError, match=r"a cannot be merged: .* has no branch checked out; .* weft merge a"):
        world.merge("a")


def test_a_worktree_with_changes_that_are_not_committed_is_held(world: World) -> None:
    world.do("a", {"one": "1"})
    put(world.place("a"), {"one": "changed", "new": ""})
    with pytest.raises(HeldError, match="has changes that are not committed: one, new; commit them") as held:
        world.merge("a")
    assert held.value.files == ("one", "new")


def test_a_worktree_that_was_never_made_to_its_end_does_not_hinder_a_merge(world: World) -> None:
    world.do("a", {"one": "1"})
    world.git.do("worktree", "lock", "--reason", "Weft is making it", str(world.place("a")))
    shutil.rmtree(world.place("a"))
    world.place("a").mkdir()
    entry = world.top / ".git" / "worktrees" / "a"
    (world.place("a") / ".git").write_text(f"gitdir: {entry}\n")
    assert heads(world.merge("a").moves) == ["weft/notes/_plan"]


def test_a_request_brings_files_to_where_it_is_verified(world: World) -> None:
    put(world.top, {"env.ignored": "secret"})
    world.do("a", {"one": "1"})
    world.done("b", {"two": "2"})
    request = MergeRequest(path="a", subject="Merge a", verifies=True, copy=("*.ignored",))
    place = world.workspaces.merge(request).verify_in
    assert place is not None
    assert contents(Path(place))["env.ignored"] == b"secret"
