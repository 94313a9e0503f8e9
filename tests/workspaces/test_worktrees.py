"""`isolation: worktree`: what slices start with, how they are proven, and how what they do is kept."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from contracts.workspaces_contract import OwnWorkspacesContract
from weft.engine.messages.facts import RefMove
from weft.ports.target import ScratchFiles
from weft.ports.workspaces import HeldError, WorkspaceRequest, Workspaces
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.base.program import Git
from workspaces.git.repositories import commit, contents, empty_repository
from workspaces.trees import put
from workspaces.worlds import NAMES, World, heads

LINES = "".join(f"{number}\n" for number in range(20))


class TestWorktreeWorkspaces(OwnWorkspacesContract):
    @pytest.fixture
    def workspaces(self, world: World) -> Workspaces:
        return world.workspaces


# What a slice starts with


def test_the_first_slice_starts_with_the_base(world: World) -> None:
    world.prepare("a")
    assert contents(world.place("a")) == {"README": b"hello\n", "lines": LINES.encode()}
    assert world.tip("a") == world.base


def test_branches_of_groups_are_made_on_demand_and_the_moves_are_reported(world: World) -> None:
    moves = world.prepare("group/deep/a")
    assert moves == [
        RefMove(ref=NAMES.head(path), before="", after=world.base)
        for path in ("", "group", "group/deep", "group/deep/a")
    ]
    assert NAMES.head("other") not in world.refs("refs/heads")


def test_a_slice_starts_with_the_newest_state_of_the_group_around_it(world: World) -> None:
    world.prepare("group/c")
    world.done("group/a", {"one": "1"})
    world.prepare("group/b")
    assert (world.place("group/b") / "one").read_text() == "1"
    assert not (world.place("group/c") / "one").exists()


def test_a_group_with_nothing_of_its_own_follows_the_one_around_it(world: World) -> None:
    world.prepare("group/a")
    world.done("b", {"two": "2"})
    assert heads(world.prepare("group/c")) == ["weft/notes/group", "weft/notes/group.c"]
    assert world.tip("group") == world.tip("")
    assert (world.place("group/c") / "two").read_text() == "2"


def test_a_group_with_something_of_its_own_stays(world: World) -> None:
    world.done("group/a", {"one": "1"})
    world.done("b", {"two": "2"})
    assert heads(world.prepare("group/c")) == ["weft/notes/group.c"]
    assert not (world.place("group/c") / "two").exists()


def test_the_branch_of_a_group_that_a_person_has_checked_out_is_not_moved(world: World) -> None:
    world.prepare("group/a")
    world.git.do("switch", "--quiet", "weft/notes/group")
    world.done("b", {"two": "2"})
    before = world.tip("group")
    assert heads(world.prepare("group/c")) == ["weft/notes/group.c"]
    assert (world.place("group/c") / "two").read_text() == "2"
    assert world.tip("group") == before
    assert world.git.line("status", "--porcelain") == ""


def test_a_dependency_in_another_group_is_merged_in_from_that_group(world: World) -> None:
    world.done("group/a", {"one": "1"})
    world.done("group/b", {"two": "2"})
    world.prepare("other/c", "group/a")
    assert world.files("weft/notes/other.c").keys() == {"README", "lines", "one", "two"}
    assert world.tip("") == world.base
    parents = world.git.line("show", "--no-patch", "--format=%P", "weft/notes/other.c").split()
    assert parents == [world.base, world.tip("group")]


def test_a_dependency_that_has_reached_the_common_branch_comes_from_there(world: World) -> None:
    world.done("other/x", {"three": "3"})
    world.done("group/a", {"one": "1"})
    world.merge("group")
    world.done("b", {"two": "2"})
    world.prepare("other/c", "group/a")
    parents = world.git.line("show", "--no-patch", "--format=%P", "weft/notes/other.c").split()
    assert parents == [world.tip("other"), world.tip("")]


def test_a_dependency_that_is_on_the_branch_already_needs_no_merge(world: World) -> None:
    world.done("group/a", {"one": "1"})
    world.prepare("group/b", "group/a")
    assert world.tip("group/b") == world.tip("group")


def test_dependencies_deep_in_other_groups_come_together(world: World) -> None:
    world.done("group/deep/a", {"one": "1"})
    world.merge("group/deep")
    world.done("group/b", {"two": "2"}, "group/deep/a")
    world.done("c", {"three": "3"})
    world.prepare("other/d", "group/deep/a", "group/b", "c")
    assert world.files("weft/notes/other.d").keys() == {"README", "lines", "one", "two", "three"}


def test_a_dependency_whose_merge_is_still_to_come_is_taken_as_it_is(world: World) -> None:
    world.do("group/a", {"one": "1"})
    world.prepare("other/b", "group/a")
    assert world.files("weft/notes/other.b")["one"] == "1"


def test_a_dependency_that_changed_nothing_brings_nothing(world: World) -> None:
    world.done("group/a", {})
    world.prepare("other/b", "group/a")
    assert world.tip("other/b") == world.base


def test_dependencies_in_conflict_hold_the_start_and_nothing_moves(world: World) -> None:
    world.done("group/a", {"new": "one"})
    world.done("other/b", {"new": "two"})
    before = world.refs()
    with pytest.raises(HeldError, match="c cannot start, because the results it depends on conflict") as held:
        world.prepare("c", "group/a", "other/b")
    assert (held.value.conflict, held.value.files) == (True, ("new",))
    assert world.refs() == before


def test_a_held_start_is_settled_as_the_message_says(world: World) -> None:
    world.done("group/a", {"new": "one"})
    world.done("other/b", {"new": "two"})
    with pytest.raises(HeldError) as held:
        world.prepare("c", "group/a", "other/b")
    words = str(held.value).replace(",", "").split()
    switch, merge = words.index("switch"), words.index("merge")
    world.git.do("switch", "--quiet", words[switch + 1])
    assert world.git.ask("merge", "--quiet", words[merge + 1]).exit_code == 1
    world.commit({"new": "one and two"})
    world.prepare("c", "group/a", "other/b")
    assert world.files("weft/notes/c")["new"] == "one and two"


def test_a_dependency_without_its_branch_is_reported_with_the_command_that_restores_it(world: World) -> None:
    last = world.do("group/a", {"one": "1"})
    world.git.do("update-ref", "-d", NAMES.head("group/a"))
    with pytest.raises(HeldError, match=f"type: git branch weft/notes/group.a {last[:12]}"):
        world.prepare("other/b", "group/a")


def test_a_dependency_that_never_started_is_an_error(world: World) -> None:
    with pytest.raises(HeldError, match=r"there is no branch weft/notes/a, .* run the plan with --fresh"):
        world.prepare("b", "a")


def test_a_start_that_is_computed_again_is_the_same_commit(world: World) -> None:
    world.done("group/a", {"one": "1"})
    world.prepare("other/b", "group/a")
    before = world.tip("other/b")
    later = World(world.top, environ={"GIT_COMMITTER_DATE": "2000000000 +0000"})
    later.prepare("other/b", "group/a")
    assert world.tip("other/b") == before
    assert world.kept("other/b") == set()


def test_fifteen_slices_are_prepared_at_once(world: World) -> None:
    barrier = Barrier(15)
    paths = [f"{group}s{number}" for group in ("", "group/", "group/deep/") for number in range(5)]

    def prepare(path: str) -> None:
        barrier.wait()
        world.prepare(path)
        world.workspaces.prove(path)

    with ThreadPoolExecutor(15) as pool:
        list(pool.map(prepare, paths))
    assert {world.tip(path) for path in paths} == {world.base}
    assert all(contents(world.place(path)) == contents(world.place("s0")) for path in paths)


def test_a_branch_of_a_group_is_moved_by_one_of_the_slices_that_start_at_once(world: World) -> None:
    barrier = Barrier(8)

    def prepare(path: str) -> list[str]:
        barrier.wait()
        return [move.ref for move in world.prepare(path)]

    paths = [f"{group}s{number}" for group in ("", "group/") for number in range(4)]
    with ThreadPoolExecutor(8) as pool:
        moved = sorted(ref for refs in pool.map(prepare, paths) for ref in refs)
    assert moved == sorted(map(NAMES.head, ("", "group", *paths)))


def test_slices_start_and_merge_in_one_group_at_once(world: World) -> None:
    barrier = Barrier(8)

    def work(number: int) -> None:
        barrier.wait()
        world.done(f"group/s{number}", {f"file{number}": str(number)})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert world.files("weft/notes/group").keys() == {"README", "lines", *(f"file{n}" for n in range(8))}


# A slice that is done anew


def test_a_slice_that_is_done_again_has_a_new_branch_and_the_old_commits_are_kept(world: World) -> None:
    old = world.do("a", {"one": "1"})
    assert world.prepare("a") == [RefMove(ref=NAMES.head("a"), before=old, after=world.base)]
    assert world.kept("a") == {old}
    assert contents(world.place("a")).keys() == {"README", "lines"}


def test_what_was_not_committed_is_kept_too(world: World) -> None:
    world.prepare("a")
    put(world.place("a"), {"one": "1", "README": None, "x.ignored": "left"})
    world.prepare("a")
    assert contents(world.place("a")).keys() == {"README", "lines"}
    (kept,) = world.kept("a")
    assert world.files(kept) == {"one": "1", "lines": LINES}


def test_what_an_agent_left_on_no_branch_is_kept(world: World) -> None:
    recorded = world.do("a", {"one": "1"})
    world.at("a").do("switch", "--quiet", "--detach")
    put(world.place("a"), {"two": "2"})
    world.at("a").do("add", "two")
    world.at("a").do("commit", "--quiet", "--message", "on no branch")
    detached = world.at("a").line("rev-parse", "HEAD")
    world.prepare("a")
    assert world.kept("a") == {recorded, detached}


def test_an_agent_s_commits_are_kept_though_worktree_and_branch_are_gone(world: World) -> None:
    world.prepare("a")
    world.workspaces.prove("a")
    made: list[str] = []
    for text in ("one", "two"):
        put(world.place("a"), {"file": text})
        world.at("a").do("add", "file")
        world.at("a").do("commit", "--quiet", "--amend", "--message", text)
        made.append(world.at("a").line("rev-parse", "HEAD"))
    shutil.rmtree(world.place("a"))
    world.git.do("update-ref", "-d", NAMES.head("a"))
    world.prepare("a")
    assert world.kept("a") == set(made)


def test_work_whose_branch_is_gone_is_kept(world: World) -> None:
    recorded = world.do("a", {"one": "1"})
    shutil.rmtree(world.place("a"))
    world.git.do("worktree", "prune")
    world.git.do("update-ref", "-d", NAMES.head("a"))
    world.prepare("a")
    assert world.kept("a") == {recorded}


def test_what_was_recorded_of_an_earlier_try_is_not_taken_for_that_of_the_new_one(world: World) -> None:
    world.do("a", {"one": "1"})
    world.prepare("a")
    shutil.rmtree(world.place("a"))
    world.git.do("update-ref", "-d", NAMES.head("a"))
    with pytest.raises(HeldError, match=f"type: git branch weft/notes/a {world.base[:12]}"):
        world.merge("a")


def test_what_has_been_merged_needs_no_other_name(world: World) -> None:
    world.done("a", {"one": "1"})
    world.prepare("a")
    assert world.kept("a") == set()
    assert (world.place("a") / "one").exists()


def test_a_branch_that_is_checked_out_elsewhere_is_not_made_again(world: World) -> None:
    world.do("a", {"one": "1"})
    world.git.do("worktree", "remove", str(world.place("a")))
    world.git.do("switch", "--quiet", "weft/notes/a")
    before = world.refs()
    with pytest.raises(WorkspaceError, match=r"weft/notes/a is checked out in .*/repository, and cannot"):
        world.prepare("a")
    assert world.refs() == before


def test_a_directory_of_another_program_in_its_place_is_not_touched(world: World) -> None:
    put(world.place("a"), {"mine": "1"})
    with pytest.raises(
        WorkspaceError, match="is not a worktree of this repository, so Weft does not touch it"
    ):
        world.prepare("a")
    assert contents(world.place("a")) == {"mine": b"1"}


def test_a_worktree_of_another_repository_in_its_place_is_not_touched(world: World, tmp_path: Path) -> None:
    world.prepare("a")
    shutil.rmtree(world.place("a"))
    other = empty_repository(tmp_path / "other")
    other.do("commit", "--allow-empty", "--quiet", "--message", "other")
    other.do("worktree", "add", "--quiet", str(world.place("a")))
    with pytest.raises(WorkspaceError, match="is a worktree of another repository"):
        world.prepare("a")


def test_repositories_that_an_agent_made_are_not_thrown_away(world: World) -> None:
    world.prepare("a")
    inner = empty_repository(world.place("a") / "inner")
    put(inner.directory, {"file": "1"})
    with pytest.raises(WorkspaceError, match=r"contains other repositories, .* committed: inner"):
        world.prepare("a")
    assert (inner.directory / "file").read_text() == "1"


# Places


def test_a_plan_in_a_subdirectory_has_its_places_there(world: World) -> None:
    world.commit({"sub/dir/plan": "here"})
    world.git.do("update-ref", "refs/weft-test/base", "main")
    below = World(world.top, inside="sub/dir")
    put(world.top / "sub/dir", {"env.ignored": "secret"})
    below.workspaces.prepare(WorkspaceRequest(path="a", copy=("*.ignored",)))
    assert below.workspaces.place("a") == below.place("a") / "sub/dir"
    assert contents(below.workspaces.place("a")) == {"plan": b"here", "env.ignored": b"secret"}
    below.step("a", {"sub/dir/new": "1"})
    assert below.files("weft/notes/a").keys() == {"README", "lines", "sub/dir/plan", "sub/dir/new"}
    below.commit({"other": ""})
    target = below.workspaces.target
    target.check_out(below.build("a").commit, ScratchFiles(copy=("*.ignored",)))
    assert target.scratch == below.place("_land") / "sub/dir"
    assert contents(target.scratch) == {"plan": b"here", "new": b"1", "env.ignored": b"secret"}


def test_what_was_brought_is_not_committed(world: World) -> None:
    put(world.top, {"env": "secret", "big": "large"})
    world.workspaces.prepare(WorkspaceRequest(path="a", copy=("env",), link=("big",)))
    world.step("a", {"one": "1"})
    assert world.files("weft/notes/a").keys() == {"README", "lines", "one"}
    assert (world.place("a") / "big").is_symlink()


def test_a_slice_may_have_a_part_of_the_files(world: World) -> None:
    world.commit({"in/file": "", "out/file": ""})
    world.git.do("update-ref", "refs/weft-test/base", "main")
    below = World(world.top)
    below.workspaces.prepare(WorkspaceRequest(path="a", sparse=("in",)))
    assert contents(below.place("a")).keys() == {"README", "lines", "in/file"}
    below.step("a", {"in/new": "1"})
    assert "out/file" in below.files("weft/notes/a")


# Steps


def test_a_prepared_worktree_is_proven_and_all_have_a_history(world: World) -> None:
    world.prepare("a")
    world.workspaces.accept("a")
    world.workspaces.prove("a")
    assert world.workspaces.has_history("a")


def test_what_the_set_up_has_made_is_no_work_of_the_slice(world: World) -> None:
    world.prepare("a")
    made = world.place("a") / "made" / "file"
    made.parent.mkdir()
    made.write_text("by the set-up")
    world.workspaces.accept("a")
    world.step("a", {"own": "1"})
    assert {"own", "made/file"}.intersection(world.files("weft/notes/a")) == {"own"}
    assert made.exists()


def test_a_worktree_that_was_removed_is_not_proven(world: World) -> None:
    world.prepare("a")
    shutil.rmtree(world.place("a"))
    with pytest.raises(WorkspaceError, match=r"the worktree .* does not exist; put it back"):
        world.workspaces.prove("a")


def test_a_worktree_with_another_branch_is_not_proven(world: World) -> None:
    world.prepare("a")
    world.at("a").do("switch", "--quiet", "--create", "mine")
    with pytest.raises(WorkspaceError, match="has the branch mine checked out; it must have weft/notes/a"):
        world.workspaces.prove("a")


def test_what_a_step_changed_is_a_commit_with_trailers_and_the_move_is_reported(world: World) -> None:
    world.prepare("a")
    (messages,) = world.step("a", {"one": "1"}, step="write", attempt=2)
    assert messages == RefMove(ref=NAMES.head("a"), before=world.base, after=world.tip("a"))
    message = world.git.line("show", "--no-patch", "--format=%B", world.tip("a")).splitlines()
    trailers = ["Weft-Plan: notes", "Weft-Subplan: a", "Weft-Step: write", "Weft-Attempt: 2"]
    assert message == ["a: write", "", *trailers]


def test_a_step_that_changed_nothing_moves_nothing(world: World) -> None:
    world.prepare("a")
    assert world.step("a", {}) == []


def test_a_record_that_is_asked_for_again_reports_the_same(world: World) -> None:
    world.prepare("a")
    first = world.step("a", {"one": "1"})
    assert world.record("a") == first
    assert world.step("a", {"one": "2"}) == [
        RefMove(ref=NAMES.head("a"), before=first[0].after, after=world.tip("a"))
    ]


def test_an_agent_s_own_commits_are_reported_and_what_it_undid_is_kept(world: World) -> None:
    first = world.do("a", {"one": "1"})
    world.workspaces.prove("a")
    put(world.place("a"), {"two": "2"})
    world.at("a").do("add", "--all")
    world.at("a").do("commit", "--quiet", "--amend", "--message", "rewritten")
    assert world.record("a") == [RefMove(ref=NAMES.head("a"), before=first, after=world.tip("a"))]
    assert world.kept("a") == {first}


def test_what_a_person_did_between_steps_is_not_reported_as_ours(world: World) -> None:
    world.do("a", {"one": "1"})
    person = person_commits(world.at("a"), world.place("a"))
    assert world.step("a", {"three": "3"}) == [
        RefMove(ref=NAMES.head("a"), before=person, after=world.tip("a"))
    ]


def person_commits(git: Git, place: Path) -> str:
    put(place, {"two": "2"})
    git.do("add", "--all")
    git.do("commit", "--quiet", "--message", "a person")
    return git.line("rev-parse", "HEAD")


def test_a_step_that_left_its_branch_is_reported_and_all_is_kept(world: World) -> None:
    world.prepare("a")
    world.workspaces.prove("a")
    world.at("a").do("switch", "--quiet", "--detach")
    put(world.place("a"), {"one": "1"})
    with pytest.raises(
        WorkspaceError, match=r"has no branch checked out; .* is kept as refs/weft/kept/notes/a/"
    ):
        world.record("a")
    (kept,) = world.kept("a")
    assert world.files(kept)["one"] == "1"


def test_conflicts_that_are_coming_are_foreseen_until_one_is_merged(world: World) -> None:
    world.do("a", {"new": "one"})
    world.do("b", {"new": "two"})
    world.do("c", {"three": "3"})
    assert world.workspaces.forecast("a") == {"b": ("new",)}
    world.merge("b")
    assert world.workspaces.forecast("a") == {}


# All anew


def test_branches_of_groups_are_put_aside_when_all_is_done_again(world: World) -> None:
    world.done("group/a", {"one": "1"})
    world.merge("group")
    group, whole = world.tip("group"), world.tip("")
    assert world.workspaces.discard_groups() == [
        RefMove(ref=NAMES.head(""), before=whole, after=""),
        RefMove(ref=NAMES.head("group"), before=group, after=""),
    ]
    assert (world.kept("group"), world.kept("")) == ({group}, {whole})
    world.prepare("group/a")
    assert world.tip("group/a") == world.base


def test_discarding_groups_without_branches_moves_nothing(world: World) -> None:
    assert world.workspaces.discard_groups() == []
    assert world.refs("refs/weft", "refs/heads/weft") == {}


def test_a_group_whose_conflict_a_person_is_settling_is_kept_as_it_is_there(world: World) -> None:
    world.done("group/a", {"new": "one"})
    world.done("b", {"new": "two"})
    with pytest.raises(HeldError):
        world.merge("group")
    put(world.place("group"), {"new": "half"})
    group = world.tip("group")
    world.workspaces.discard_groups()
    assert not world.place("group").exists()
    assert {world.files(kept)["new"] for kept in world.kept("group")} == {"one", "half"}
    assert group in world.kept("group")


def test_a_group_s_branch_that_a_person_has_checked_out_does_not_go(world: World) -> None:
    world.done("group/a", {"one": "1"})
    world.git.do("switch", "--quiet", "weft/notes/group")
    before = world.refs()
    with pytest.raises(WorkspaceError, match="weft/notes/group is checked out in"):
        world.workspaces.discard_groups()
    assert world.refs() == before


# On from what has landed


def test_where_all_has_landed_what_is_new_starts_from_the_target_as_it_is(world: World) -> None:
    world.done("group/a", {"one": "1"})
    world.merge("group")
    world.land("group")
    commit(world.git, {"by": "a person"})
    world.git.do("update-ref", "-d", "refs/weft-test/base")
    later = World(world.top)
    assert [item.ref for item in later.workspaces.follow_base()] == [NAMES.head(""), NAMES.head("group")]
    later.prepare("group/b")
    assert later.tip("group/b") == later.target


def test_where_something_has_not_landed_nothing_is_put_aside(world: World) -> None:
    world.done("group/a", {"one": "1"})
    before = world.refs()
    assert world.workspaces.follow_base() == []
    assert world.refs() == before


def test_a_worktree_that_a_person_has_locked_is_not_made_again(world: World) -> None:
    world.do("a", {"one": "1"})
    world.git.do("worktree", "lock", "--reason", "I look at it", str(world.place("a")))
    with pytest.raises(
        WorkspaceError, match=r"a is locked \(I look at it\), so it is not created again; .* unlock"
    ):
        world.prepare("a")
    assert (world.place("a") / "one").exists()


def test_what_a_step_adds_to_a_directory_of_the_set_up_is_its_work(world: World) -> None:
    world.prepare("a")
    put(world.place("a"), {"made/by-setup": "1"})
    world.workspaces.accept("a")
    world.step("a", {"made/by-step": "2"})
    assert world.files("weft/notes/a").keys() == {"README", "lines", "made/by-step"}


def test_a_start_that_was_not_reported_is_reported_before_the_next_moves(world: World) -> None:
    world.prepare("group/a")
    world.done("group/b", {"two": "2"})
    assert world.prepare("group/a") == [
        RefMove(ref=NAMES.head(path), before=before, after=after)
        for path, before, after in (
            ("", "", world.base),
            ("group", "", world.base),
            ("group/a", "", world.base),
            ("group/a", world.base, world.tip("group")),
        )
    ]
    world.workspaces.prove("group/a")
    assert world.prepare("group/a") == []
